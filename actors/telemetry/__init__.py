"""Owns the event logs (JSONL) and the analytics store (DuckDB)."""
