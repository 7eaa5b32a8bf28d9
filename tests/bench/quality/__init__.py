"""What survives compression: payloads with planted facts, and how many of them reach the reader."""
