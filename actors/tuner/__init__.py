"""Owns feedback, and what follows from it: thresholds, demotion."""
