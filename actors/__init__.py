"""The five actors. Each package has the same shape: `messages` is its public contract, the rest its own business."""

ACTORS = ("upstream", "compressor", "surfacer", "tuner", "telemetry")
"""In the order in which they are started: what a first `tools/list` needs comes first."""
