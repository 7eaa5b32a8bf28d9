"""Small files that only their owner may read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

MOST_OF_A_NAME = 1_000


def write_private(path: Path, data: str | bytes) -> None:
    """Replaces `path` atomically, mode 0600. Raises OSError."""
    temporary = path.with_suffix(".tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_new(path: Path, data: bytes) -> Path:
    """Writes a file that was not there, whole or not at all, also over a power cut, mode 0600.

    Returns:
        `path`, or where that is taken a name beside it: `note-2.md`, `note-3.md`, …

    Raises:
        FileExistsError: a thousand of the name are there. OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(6)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        for number in range(1, MOST_OF_A_NAME):
            free = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
            try:
                os.link(temporary, free)
            except FileExistsError:
                continue
            return free
        raise FileExistsError(f"there are {MOST_OF_A_NAME - 1} files named {path.name} in {path.parent} already")
    finally:
        temporary.unlink(missing_ok=True)
