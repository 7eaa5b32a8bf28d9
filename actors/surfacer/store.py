"""What was shown, to whom and when: dedup within and across sessions, feedback ids, boosts. `<state>/surfacing.db`.

Every method blocks on the disk; call them from one thread that is not the event loop's. Memory texts are never kept.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bus.errors import StateError
from bus.sqlite import Database, is_corrupt

T = TypeVar("T")

MOST_EVENTS = 50_000
_SWEEP_EVERY = 1000
_DAY = 86_400.0
_MIGRATIONS = (
    """
    CREATE TABLE event (
        surfacing_id TEXT PRIMARY KEY, at REAL NOT NULL, session TEXT NOT NULL, server TEXT NOT NULL,
        tool TEXT NOT NULL, trace_id TEXT NOT NULL, query TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX event_at ON event (at);
    CREATE TABLE shown (
        surfacing_id TEXT NOT NULL, memory_id TEXT NOT NULL, session TEXT NOT NULL, at REAL NOT NULL,
        is_boosted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (surfacing_id, memory_id)
    ) WITHOUT ROWID;
    CREATE INDEX shown_memory ON shown (memory_id, at);
    """,
)


@dataclass(frozen=True, slots=True)
class Event:
    """One injection. `query` is its text, or its digest when texts are not kept."""

    surfacing_id: str
    session: str
    server: str
    tool: str
    trace_id: str
    query: str


@dataclass(frozen=True, slots=True)
class Retention:
    """Ages in days; 0 keeps query texts or events until the bound on their number is reached."""

    query_days: float
    event_days: float


class Store:
    """The surfacer's database; every method raises `StateError` when the disk refuses.

    Args:
        clock: Unix time in seconds.
        on_set_aside: told the new name when a corrupt file was replaced by an empty one.
    """

    def __init__(
        self,
        path: Path,
        retention: Retention,
        *,
        clock: Callable[[], float] = time.time,
        on_set_aside: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.retention = retention
        self._clock = clock
        self._on_set_aside = on_set_aside
        self._since_sweep = 0
        self._database = Database(path, _MIGRATIONS)
        if self._database.set_aside:
            on_set_aside(self._database.set_aside)
        self.sweep()

    def close(self) -> None:
        self._database.close()

    def record(self, event: Event, memory_ids: Sequence[str]) -> None:
        """Keeps an injection, durably against a killed process, before it is delivered."""
        now = self._clock()

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                row = (event.surfacing_id, now, event.session, event.server, event.tool, event.trace_id, event.query)
                connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                connection.executemany(
                    "INSERT INTO shown (surfacing_id, memory_id, session, at) VALUES (?, ?, ?, ?)",
                    [(event.surfacing_id, memory_id, event.session, now) for memory_id in dict.fromkeys(memory_ids)],
                )

        self._run(write)
        self._since_sweep += 1
        if self._since_sweep >= _SWEEP_EVERY:
            self.sweep()

    def already_shown(self, memory_ids: Sequence[str], session: str, ttl_seconds: float) -> set[str]:
        """Those of `memory_ids` that this session has seen, or any session within the last `ttl_seconds` (0 = off)."""
        since = self._clock() - ttl_seconds if ttl_seconds > 0 else float("inf")
        marks = ",".join("?" * len(memory_ids))
        sql = f"SELECT DISTINCT memory_id FROM shown WHERE memory_id IN ({marks}) AND (at > ? OR session = ?)"  # noqa: S608
        return self._run(lambda c: {row[0] for row in c.execute(sql, (*memory_ids, since, session))})

    def find(self, surfacing_id: str) -> tuple[Event, tuple[str, ...]] | None:
        """An injection and the ids it showed."""

        def read(connection: sqlite3.Connection) -> tuple[Event, tuple[str, ...]] | None:
            row = connection.execute(
                "SELECT surfacing_id, session, server, tool, trace_id, query FROM event WHERE surfacing_id = ?",
                (surfacing_id,),
            ).fetchone()
            if row is None:
                return None
            shown = connection.execute("SELECT memory_id FROM shown WHERE surfacing_id = ?", (surfacing_id,))
            return Event(*row), tuple(found[0] for found in shown)

        return self._run(read)

    def claim_boost(self, surfacing_id: str, memory_ids: Sequence[str]) -> list[str]:
        """Marks memories of an injection as boosted; returns those that were not yet."""

        def write(connection: sqlite3.Connection) -> list[str]:
            sql = "UPDATE shown SET is_boosted = 1 WHERE surfacing_id = ? AND memory_id = ? AND NOT is_boosted"
            return [m for m in memory_ids if connection.execute(sql, (surfacing_id, m)).rowcount]

        return self._run(write)

    def sweep(self) -> None:
        """Blanks old query texts, deletes old events and the oldest beyond `MOST_EVENTS`."""
        now, keep = self._clock(), self.retention

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if keep.query_days > 0:
                    connection.execute(
                        "UPDATE event SET query = '' WHERE query <> '' AND at < ?", (now - keep.query_days * _DAY,)
                    )
                if keep.event_days > 0:
                    connection.execute("DELETE FROM event WHERE at < ?", (now - keep.event_days * _DAY,))
                connection.execute(
                    "DELETE FROM event WHERE surfacing_id IN "
                    "(SELECT surfacing_id FROM event ORDER BY at DESC LIMIT -1 OFFSET ?)",
                    (MOST_EVENTS,),
                )
                connection.execute("DELETE FROM shown WHERE surfacing_id NOT IN (SELECT surfacing_id FROM event)")

        self._run(write)
        self._since_sweep = 0

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._database.connection)
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise StateError(
                    f"cannot use the database {self._database.path}: {error}; check the disk and permissions"
                ) from None
        self._database.rebuild()
        self._on_set_aside(self._database.set_aside)
        return work(self._database.connection)
