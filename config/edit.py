"""Locked, atomic changes of the configuration file."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from bus.errors import ConfigError
from config.place import Place, private_directory
from config.problems import printable
from config.read import parse, read_bytes, repeated_keys

LOCK_NAME = ".stm_proxy.lock"
LOCK_SECONDS = 10.0
RETRY_SECONDS = 0.05


def edit(place: Place, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> bool:
    """Changes the file under its lock: reads, changes, writes a temporary file, syncs, renames.

    The lock (also taken by memtomem-stm's command line) is held only meanwhile: ask people before, not in `change`.
    The previous content is kept as `<file>.bak`. Both get mode 0600. A linked file stays a link.

    Args:
        change: gets the document (`{}` when there is no file) and returns the new one, or `None` to leave it. What it
            raises is passed on, with nothing written.

    Returns:
        whether something was written.

    Raises:
        ConfigError: the present file is broken or says a key twice (its bytes stay), the lock is held for over 10 s,
            or writing fails.
    """
    private_directory(place.home)
    path = Path(os.path.realpath(place.config_file))
    with _locked(place.home / LOCK_NAME):
        data = read_bytes(path)
        document = {} if data is None else parse(data, path)
        if data is not None and (repeated := repeated_keys(data)):
            named = printable(", ".join(repeated))
            raise ConfigError(f"{path}: {named} stands there more than once, and writing would lose one; keep one")
        changed = change(document)
        if changed is None:
            return False
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if data is not None:
                replace_file(path.with_name(path.name + ".bak"), data)
            replace_file(path, msgspec.json.format(msgspec.json.encode(changed), indent=2) + b"\n")
        except OSError as error:
            raise ConfigError(f"cannot write {path}: {error.strerror}; the file is unchanged") from None
    return True


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ConfigError(f"cannot open the lock {path}: {error.strerror}") from None
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ConfigError(f"another command holds {path}; wait for it or end it") from None
                time.sleep(RETRY_SECONDS)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Puts `data` in the place of `path`, whole or not at all, also over a power cut."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
