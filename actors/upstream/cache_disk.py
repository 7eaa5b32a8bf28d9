"""The part of the response cache that outlives the process; every method blocks on the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from bus.errors import StateError
from bus.sqlite import Database, is_corrupt

T = TypeVar("T")

_MIGRATIONS = (
    # Bodies stand apart, so that noting a use does not write a long response again.
    """
    CREATE TABLE responses (
        key BLOB PRIMARY KEY,
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        size INTEGER NOT NULL,
        stored_at REAL NOT NULL,
        expires_at REAL,
        used_at REAL NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE bodies (key BLOB PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TRIGGER body_goes_along AFTER DELETE ON responses BEGIN DELETE FROM bodies WHERE key = old.key; END;
    """,
)


class Row(NamedTuple):
    """A response without its body; times are UTC seconds, `expires_at` `None` = never."""

    key: bytes
    server: str
    tool: str
    size: int
    stored_at: float
    expires_at: float | None


@dataclass
class Changes:
    """What the file does not know yet. Deletions come first.

    Attributes:
        scopes: servers and tools (empty = all) whose responses go.
        gone: keys that go.
        added: responses and their bodies, by key.
        used: time of the last use, by key.
    """

    scopes: list[tuple[str, str]] = field(default_factory=list)
    gone: set[bytes] = field(default_factory=set)
    added: dict[bytes, tuple[Row, bytes]] = field(default_factory=dict)
    used: dict[bytes, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.scopes or self.gone or self.added)


class CacheDisk:
    """The file, used by one thread at a time.

    Raises:
        NewerState: the file was written by a newer version; it is left alone.
        StateError: it cannot be opened or created.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._database = Database(path, _MIGRATIONS)
        except (sqlite3.Error, OSError) as error:
            raise _unusable(path, error) from None

    @property
    def set_aside(self) -> str:
        """Where a corrupt file was moved; empty if there was none."""
        return self._database.set_aside

    def rows(self, now: float) -> list[Row]:
        """Everything that has not expired, least recently used first; what has expired is deleted.

        Raises:
            StateError, as every method: the file cannot be read or written.
        """

        def work(connection: sqlite3.Connection) -> list[Row]:
            connection.execute("DELETE FROM responses WHERE expires_at <= ?", (now,))
            columns = "key, server, tool, size, stored_at, expires_at"
            found = connection.execute(f"SELECT {columns} FROM responses ORDER BY used_at")  # noqa: S608
            return [Row(*row) for row in found]

        return self._guarded(work)

    def read(self, key: bytes) -> bytes | None:
        def work(connection: sqlite3.Connection) -> bytes | None:
            found = connection.execute("SELECT body FROM bodies WHERE key = ?", (key,)).fetchone()
            return found[0] if found else None

        return self._guarded(work)

    def apply(self, changes: Changes) -> None:
        """All of it or nothing."""
        self._guarded(lambda connection: _apply(connection, changes))

    def close(self) -> None:
        self._database.close()

    def _guarded(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Runs the work; a file found corrupt is set aside, and the work done on an empty one."""
        try:
            try:
                return work(self._database.connection)
            except sqlite3.DatabaseError as error:
                if not is_corrupt(error):
                    raise
                self._database.rebuild()
                return work(self._database.connection)
        except (sqlite3.Error, OSError) as error:
            raise _unusable(self._database.path, error) from None


def _unusable(path: Path, error: Exception) -> StateError:
    return StateError(f"the response cache {path} cannot be used: {error}; check the disk")


def _apply(connection: sqlite3.Connection, changes: Changes) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for server, tool in changes.scopes:
            connection.execute(
                "DELETE FROM responses WHERE (? = '' OR server = ?) AND (? = '' OR tool = ?)",
                (server, server, tool, tool),
            )
        connection.executemany("DELETE FROM responses WHERE key = ?", [(key,) for key in changes.gone])
        rows = [(*row, row.stored_at) for row, _ in changes.added.values()]
        connection.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        bodies = [(row.key, body) for row, body in changes.added.values()]
        connection.executemany("INSERT OR REPLACE INTO bodies VALUES (?, ?)", bodies)
        uses = [(at, key) for key, at in changes.used.items()]
        connection.executemany("UPDATE responses SET used_at = ? WHERE key = ?", uses)
    except BaseException:
        if connection.in_transaction:  # a full disk may have ended it already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
