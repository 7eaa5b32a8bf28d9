"""The recall files of all replicas: their names, and reading one that belongs to somebody else.

Each file has one owner that writes. Another replica opens it for a moment, to read only, when it is asked for a key
that it does not know: the owner may be dead, restarting, or no longer part of the cluster.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from actors.compressor.entry import Entry

_NAME = re.compile(r"recall(?:-(\d+))?\.db")
_WAIT_SECONDS = 1.0
_FIND = """
    SELECT body, packed, server, tool, trace_id, chunk, ttl, expires_at
    FROM originals JOIN bodies USING (key) WHERE key=?
"""


def file_of(state: Path, number: int) -> Path:
    """The file of a replica; the first has the plain name."""
    return state / ("recall.db" if number == 1 else f"recall-{number}.db")


def files(state: Path) -> dict[int, Path]:
    """The files that are there: replica number → path."""
    found = {path: _NAME.fullmatch(path.name) for path in state.glob("recall*.db")}
    return dict(sorted((int(match[1] or 1), path) for path, match in found.items() if match))


def read(connection: sqlite3.Connection, key: str, now: float) -> Entry | None:
    """The original behind a key that has not expired.

    Raises:
        sqlite3.Error: the file cannot be read.
    """
    row = connection.execute(_FIND, (key,)).fetchone()
    if row is None or row[7] < now:
        return None
    data = zlib.decompress(row[0]) if row[1] else row[0]
    return Entry(data.decode("utf-8", "surrogatepass"), *row[2:7])


def find(own: Path, key: str, now: float) -> Entry | None:
    """The original behind a key, from the files beside `own`. One that cannot be read is its owner's to report."""
    for path in files(own.parent).values():
        if path != own:
            with contextlib.suppress(sqlite3.Error, OSError, zlib.error), contextlib.closing(_opened(path)) as database:
                entry = read(database, key, now)
                if entry is not None:
                    return entry
    return None


def sweep(state: Path, replicas: int, is_owned: Callable[[int], bool], now: float) -> list[Path]:
    """Removes the files of replicas that there are no more, once nothing in them can be asked for.

    Args:
        is_owned: whether a process has the name of that replica number.
    """
    removed = []
    for number, path in files(state).items():
        if number > replicas and not is_owned(number) and _is_spent(path, now):
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            removed.append(path)
    return removed


def _is_spent(path: Path, now: float) -> bool:
    try:
        with contextlib.closing(_opened(path)) as database:
            row = database.execute("SELECT count(*) FROM originals WHERE expires_at >= ?", (now,)).fetchone()
            return not row[0]
    except (sqlite3.Error, OSError):
        return False


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
