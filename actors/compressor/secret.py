"""The installation's own secret, from which recall keys are made."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from bus.aside import move_aside
from bus.errors import StateError

LENGTH = 32


def installation_secret(path: Path) -> tuple[bytes, str]:
    """The secret, made on first use, and what was wrong with its file and has been put right (empty for nothing).

    Several replicas may ask at the same moment; all get the same one.

    Raises:
        StateError: it can be neither read nor written.
    """
    try:
        with _alone(path.parent):
            found, fault = _existing(path)
            return found or _fresh(path), fault
    except OSError as error:
        raise StateError(f"cannot use {path}: {error.strerror}; check the disk and permissions") from None


def _existing(path: Path) -> tuple[bytes, str]:
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return b"", ""
    if len(found) != LENGTH:
        aside = move_aside(path)
        return b"", f"{path} was no key and was moved to {aside.name}; a new one is used"
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        path.chmod(0o600)
        return found, f"{path} could be read by others (mode {mode:04o}) and is private again; delete it for a new one"
    return found, ""


def _fresh(path: Path) -> bytes:
    made = secrets.token_bytes(LENGTH)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(made)
    draft.replace(path)
    return made


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Nobody else looks after the key of this directory meanwhile."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
