"""Which files of the memories folder are notes: what one part writes, the others read."""

from __future__ import annotations

SUFFIXES = (".md", ".markdown")
LARGEST_FILE = 1_000_000
"""Bytes."""
MOST_FILES = 20_000
DEEPEST = 8
"""Folders below the memories folder."""


def is_note(name: str) -> bool:
    """Whether a file of this name is a note; hidden ones are not."""
    return name.casefold().endswith(SUFFIXES) and not name.startswith(".")
