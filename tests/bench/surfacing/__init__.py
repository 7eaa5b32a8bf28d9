"""How often surfacing shows the right note, a wrong one, or nothing: `python -m tests.bench.surfacing`."""
