"""Owns the search for memories that fit a call, and what has been shown."""
