"""Opening the analytics file, and telling what stands behind DuckDB's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from bus.errors import StateError

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "256MB",
    "threads": 2,
    "max_temp_directory_size": "1GB",
    # Nothing here needs an extension, and fetching one would be a surprise on the network.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
STORAGE_VERSION = "v1.5.0"
"""The oldest storage version this DuckDB writes that the DuckDB 1.5 command line can open."""

_HELD = re.compile(r"could not set lock|conflicting lock|being used by another process", re.I)
_HOLDER = re.compile(r"\(PID (\d+)\)")
_UNREADABLE = re.compile(
    r"^(IO Error: )?(Corrupt database file|The file .* is not a valid DuckDB database|Could not read enough bytes"
    r"|Failed to load metadata)|^Serialization Error",
    re.I,
)
_BROKEN_INSIDE = (duckdb.InternalException, duckdb.FatalException)


class StoreHeld(StateError):
    """Another process has the file open in a way that keeps us out."""

    code = "store_held"
    retryable = True


class StoreDamaged(StateError):
    """The file is not a DuckDB database, or parts of it are unreadable."""

    code = "store_damaged"


@contextmanager
def opened(path: Path, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    """The analytics file, open for the length of the block; created (0600) when missing and not `read_only`.

    A new file is not kept when the block fails: half a store (the disk is full, say) would count as a damaged one.

    Raises:
        StoreHeld: another process holds it.
        StoreDamaged: it cannot be read, found on opening or later in the block.
        StateError: it is missing (`read_only`), or DuckDB or the system refuses, on opening or later in the block.
    """
    if read_only and not path.exists():
        raise StateError(f"there are no analytics at {path} yet; they appear with the first call through the gateway")
    settings = SETTINGS if read_only else SETTINGS | {"storage_compatibility_version": STORAGE_VERSION}
    is_new = not path.exists()
    _check_magic(path)
    try:
        connection = duckdb.connect(path, read_only=read_only, config=settings)
        try:
            if not read_only and path.stat().st_mode & 0o077:
                path.chmod(0o600)
            yield connection
        finally:
            connection.close()
    except duckdb.Error as error:
        explained = _explained(error, path, read_only)
        if is_new and not isinstance(explained, StoreHeld):
            for leftover in (path, Path(f"{path}.wal")):
                leftover.unlink(missing_ok=True)
        raise explained from None


def is_damage(error: duckdb.Error, *, read_only: bool) -> bool:
    """Whether the error means that the file is unreadable, rather than that a statement is wrong."""
    # In somebody's query an internal error may be no more than a bug of DuckDB; while loading it is the file.
    if not read_only and isinstance(error, _BROKEN_INSIDE):
        return True
    unreadable = type(error) in (duckdb.Error, duckdb.IOException, duckdb.SerializationException)
    return unreadable and _UNREADABLE.search(str(error)) is not None


def first_line(error: BaseException) -> str:
    """DuckDB's own words, without the excerpt and the stack below them."""
    return str(error).strip().split("\n", 1)[0]


def _check_magic(path: Path) -> None:
    """DuckDB hands files of other programs to extensions; ours is either a DuckDB file or damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StateError(f"cannot open {path}: {error.strerror}") from None
    if head[8:] != b"DUCK":
        raise StoreDamaged(f"{path} is damaged: it is not a DuckDB file")


def _explained(error: duckdb.Error, path: Path, read_only: bool) -> StateError:
    text = str(error)
    if isinstance(error, duckdb.IOException) and _HELD.search(text):
        holder = _HOLDER.search(text)
        by = f"process {holder[1]}" if holder else "another process"
        return StoreHeld(f"{path} is in use by {by}; close it there and ask again")
    if is_damage(error, read_only=read_only):
        return StoreDamaged(f"{path} is damaged: {first_line(error)}")
    return StateError(f"{path} cannot be used: {first_line(error)}")
