"""Taking a folder of Markdown notes over into the memories folder: copied, never moved, never over a note."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bus.files import write_new
from config.credentials import is_credential
from config.notes import DEEPEST, LARGEST_FILE, MOST_FILES, is_note

Outcome = Literal["imported", "duplicate", "too large", "no text", "credential", "link", "unreadable"]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one file; `target` is its path below the memories folder, empty when it was not taken over."""

    source: str
    outcome: Outcome
    target: str = ""


def notes_in(folder: Path) -> Iterator[tuple[str, Path, bool]]:
    """(path below the folder, path, is it a link) of the Markdown files, hidden ones left out; at most 20,000.

    Linked folders are not entered and linked files are told as such, so that nothing outside of the folder is read.
    """
    count = 0
    pending = [(folder, "", 0)]
    while pending:
        directory, prefix, depth = pending.pop()
        with os.scandir(directory) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                name = f"{prefix}{entry.name}"
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if depth < DEEPEST:
                        pending.append((Path(entry.path), f"{name}/", depth + 1))
                elif is_note(entry.name):
                    yield name, Path(entry.path), entry.is_symlink()
                    count += 1
                    if count >= MOST_FILES:
                        return


class Import:
    """Takes over the notes of one folder.

    Args:
        memories: the folder of the notes; made when the first note is written.
        name: of the folder below it that they go into; empty = directly.
        dry: only tells what would be done.
    """

    def __init__(self, memories: Path, name: str, *, dry: bool) -> None:
        self._memories = memories
        self._name = name
        self._dry = dry
        self._known = set()
        if memories.is_dir():
            for _, path, _ in notes_in(memories):
                data = _read(path)
                if data is not None:
                    self._known.add(_digest(data))

    def take(self, source: str, path: Path, *, is_link: bool) -> Taken:
        """One file.

        Raises:
            OSError: the memories folder cannot be written.
        """
        if is_link:
            return Taken(source, "link")
        try:
            if path.stat().st_size > LARGEST_FILE:
                return Taken(source, "too large")
        except OSError:
            return Taken(source, "unreadable")
        data = _read(path)
        if data is None:
            return Taken(source, "unreadable")
        text = _text(data)
        if text is None or not text.strip():
            return Taken(source, "no text")
        if is_credential(text):
            return Taken(source, "credential")
        digest = _digest(data)
        if digest in self._known:
            return Taken(source, "duplicate")
        self._known.add(digest)
        wanted = f"{self._name}/{source}" if self._name else source
        return Taken(source, "imported", wanted if self._dry else self._write(wanted, data))

    def _write(self, wanted: str, data: bytes) -> str:
        return str(write_new(self._memories / wanted, data).relative_to(self._memories))


def _read(path: Path) -> bytes | None:
    """The bytes of a file that is a regular one and no link at this moment; at most one more than is taken."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(LARGEST_FILE + 1)


def _text(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _digest(data: bytes) -> bytes:
    """Line ends and white space around the text make no other note."""
    return hashlib.sha256(b"\n".join(line.rstrip() for line in data.strip().splitlines())).digest()
