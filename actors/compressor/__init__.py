"""Owns the shortening of responses and the originals that can be read back."""
