"""Generators of payloads, by family. Each takes a seeded `random.Random` and returns a text with its facts."""
