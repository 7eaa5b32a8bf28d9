"""Ratings, reports and tuned thresholds in SQLite. Blocking; for one thread at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from actors.tuner.thresholds import NEGATIVE, Tally
from bus.errors import StateError
from bus.sqlite import Database, is_corrupt

MAX_RATINGS = 100_000
MAX_REPORTS = 10_000
MAX_INVALIDATED = 1_000
"""The memories rated negative most recently that watchers are told about; their result caches live a minute."""
MAX_DEMOTED = 10_000


class Tool(NamedTuple):
    """An upstream's tool; thresholds are kept under its key."""

    server: str
    tool: str

    @property
    def key(self) -> str:
        return f"{self.server}__{self.tool}"


ALL_TOOLS = Tool("", "")

_MIGRATIONS = (
    """
    CREATE TABLE rating (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        surfacing_id TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        rating TEXT NOT NULL,
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        ts TEXT NOT NULL,
        boosted INTEGER NOT NULL DEFAULT 0,
        UNIQUE (surfacing_id, memory_id)
    );
    CREATE INDEX rating_by_tool ON rating (server, tool, number);
    CREATE INDEX rating_by_memory ON rating (memory_id, rating);
    CREATE INDEX rating_by_time ON rating (ts);
    CREATE TABLE report (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        category TEXT NOT NULL,
        missing TEXT NOT NULL,
        trace_id TEXT NOT NULL,
        ts TEXT NOT NULL
    );
    CREATE INDEX report_by_time ON report (ts);
    CREATE TABLE threshold (
        key TEXT PRIMARY KEY,
        min_score REAL,
        judged INTEGER NOT NULL DEFAULT 0
    );
    """,
    """
    CREATE TABLE answered_reports (key TEXT PRIMARY KEY, number INTEGER NOT NULL);
    """,
)

T = TypeVar("T")


class FeedbackStore:
    """`feedback.db`: what agents said, and what follows from it.

    `judged` is the number of the last rating that a tool's threshold has answered to; `ALL_TOOLS` has one of its own.

    Args:
        rating_days / report_days: older ones are deleted by `prune`; 0 = kept whatever their age.

    Raises:
        NewerState, StateError: as `Database`.
    """

    def __init__(self, path: Path, *, rating_days: float = 90, report_days: float = 90) -> None:
        self._database = Database(path, _MIGRATIONS)
        self._rating_days = rating_days
        self._report_days = report_days

    @property
    def set_aside(self) -> str:
        """Where a corrupt file was moved; empty if there was none."""
        return self._database.set_aside

    def run(self, work: Callable[[FeedbackStore], T]) -> T:
        """Does `work` in one transaction; a file that turns out to be corrupt is set aside, and `work` begins again.

        Raises:
            StateError: the disk is full, say; nothing of `work` was stored.
        """
        try:
            try:
                return self._in_transaction(work)
            except sqlite3.DatabaseError as error:
                if not is_corrupt(error):
                    raise
                self._database.rebuild()
                return self._in_transaction(work)
        except sqlite3.Error as error:
            raise StateError(f"{self._database.path} cannot be used: {error}; check the disk") from None

    def close(self) -> None:
        self._database.close()

    def rate(self, surfacing_id: str, tool: Tool, ratings: Mapping[str, str]) -> list[str]:
        """Stores ratings per memory id; a later one replaces an earlier one of the same event.

        Returns:
            The memories whose rating is new or another one than before.
        """
        known = dict(self._all("SELECT memory_id, rating FROM rating WHERE surfacing_id = ?", surfacing_id))
        changed = [memory for memory, rating in ratings.items() if known.get(memory) != rating]
        for memory in changed:
            self._connection.execute(
                "INSERT INTO rating (surfacing_id, memory_id, rating, server, tool, ts) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET rating = excluded.rating, ts = excluded.ts",
                (surfacing_id, memory, ratings[memory], *tool, _now()),
            )
        return changed

    def take_boosts(self, surfacing_id: str) -> tuple[str, ...]:
        """The memories of an event that are rated helpful and were never taken before; they count as boosted now."""
        taken = self._all(
            "UPDATE rating SET boosted = 1 WHERE surfacing_id = ? AND rating = 'helpful' AND NOT boosted "
            "RETURNING memory_id",
            surfacing_id,
        )
        return tuple(sorted(memory for (memory,) in taken))

    def report(self, server: str, tool: str, category: str, missing: str, trace_id: str) -> None:
        """Stores a report of lost information; the text is already screened."""
        self._connection.execute(
            "INSERT INTO report (server, tool, category, missing, trace_id, ts) VALUES (?, ?, ?, ?, ?, ?)",
            (server, tool, category, missing, trace_id, _now()),
        )

    def block(self, tool: Tool) -> Tally:
        """The ratings of a tool, or of `ALL_TOOLS`, that have not been judged for it."""
        ((helpful, negative, total),) = self._all(
            "SELECT count(*) FILTER (WHERE rating = 'helpful'), count(*) FILTER (WHERE rating IN (?, ?)), count(*) "
            "FROM rating WHERE number > ?" + ("" if tool == ALL_TOOLS else " AND server = ? AND tool = ?"),
            *NEGATIVE,
            self._judged(tool),
            *(() if tool == ALL_TOOLS else tool),
        )
        return Tally(helpful, negative, total)

    def open_ratings(self, since: datetime) -> dict[Tool, Tally]:
        """Per tool, the ratings since then that have not been judged for it."""
        found = self._all(
            "SELECT server, tool, count(*) FILTER (WHERE rating = 'helpful'), "
            "count(*) FILTER (WHERE rating IN (?, ?)), count(*) FROM rating "
            "LEFT JOIN threshold ON key = server || '__' || tool "
            "WHERE ts >= ? AND number > coalesce(judged, 0) GROUP BY server, tool ORDER BY server, tool",
            *NEGATIVE,
            _text(since),
        )
        return {Tool(server, tool): Tally(*counts) for server, tool, *counts in found}

    def open_reports(self, since: datetime) -> dict[Tool, dict[str, int]]:
        """Per tool, the reports of lost information since then that no change has answered to, by category."""
        found = self._all(
            "SELECT server, tool, category, count(*) FROM report "
            "LEFT JOIN answered_reports AS answered ON key = server || '__' || tool "
            "WHERE ts >= ? AND report.number > coalesce(answered.number, 0) "
            "GROUP BY server, tool, category ORDER BY server, tool, category",
            _text(since),
        )
        reports: dict[Tool, dict[str, int]] = {}
        for server, tool, category, count in found:
            reports.setdefault(Tool(server, tool), {})[category] = count
        return reports

    def answer_reports(self, tool: Tool) -> None:
        """The reports of a tool so far have led to a change."""
        self._connection.execute(
            "INSERT INTO answered_reports VALUES (?, (SELECT coalesce(max(number), 0) FROM report)) "
            "ON CONFLICT DO UPDATE SET number = excluded.number",
            (tool.key,),
        )

    def close_block(self, tool: Tool) -> None:
        """Begins a new block of a tool, or of `ALL_TOOLS`, after the newest rating."""
        self._connection.execute(
            "INSERT INTO threshold (key, judged) VALUES (?, (SELECT coalesce(max(number), 0) FROM rating)) "
            "ON CONFLICT DO UPDATE SET judged = excluded.judged",
            (tool.key,),
        )

    def set_threshold(self, key: str, min_score: float) -> None:
        self._connection.execute(
            "INSERT INTO threshold (key, min_score) VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET min_score = excluded.min_score",
            (key, min_score),
        )

    def thresholds(self) -> dict[str, float]:
        """Tuned thresholds per tool key; a tool that was never tuned is missing."""
        return dict(self._all("SELECT key, min_score FROM threshold WHERE min_score IS NOT NULL ORDER BY key"))

    def rated_tools(self) -> dict[Tool, int]:
        """Ratings per tool, all blocks together."""
        found = self._all("SELECT server, tool, count(*) FROM rating GROUP BY server, tool ORDER BY server, tool")
        return {Tool(server, tool): count for server, tool, count in found}

    def negatives(self) -> dict[str, int]:
        """Per memory, in how many events it is rated negative; those rated most recently."""
        return dict(
            self._all(
                "SELECT memory_id, count(*) FROM rating WHERE rating IN (?, ?) GROUP BY memory_id "
                "ORDER BY max(ts) DESC, memory_id LIMIT ?",
                *NEGATIVE,
                MAX_INVALIDATED,
            )
        )

    def demoted(self, threshold: int) -> tuple[str, ...]:
        """Memories rated negative in at least `threshold` different events."""
        found = self._all(
            "SELECT memory_id FROM rating WHERE rating IN (?, ?) GROUP BY memory_id HAVING count(*) >= ? "
            "ORDER BY max(ts) DESC, memory_id LIMIT ?",
            *NEGATIVE,
            threshold,
            MAX_DEMOTED,
        )
        return tuple(sorted(memory for (memory,) in found))

    def prune(
        self, now: datetime | None = None, *, max_ratings: int = MAX_RATINGS, max_reports: int = MAX_REPORTS
    ) -> None:
        """Deletes what is past its age or number."""
        now = now or datetime.now(UTC)
        for table, days, limit in (
            ("rating", self._rating_days, max_ratings),
            ("report", self._report_days, max_reports),
        ):
            if days:
                oldest = _text(now - timedelta(days=days))
                self._connection.execute(f"DELETE FROM {table} WHERE ts < ?", (oldest,))  # noqa: S608
            newest = f"SELECT number FROM {table} ORDER BY number DESC LIMIT 1 OFFSET ?"  # noqa: S608
            self._connection.execute(f"DELETE FROM {table} WHERE number <= ({newest})", (limit,))  # noqa: S608

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._database.connection

    def _judged(self, tool: Tool) -> int:
        found = self._all("SELECT judged FROM threshold WHERE key = ?", tool.key)
        return int(found[0][0]) if found else 0

    def _all(self, sql: str, *values: str | int) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _in_transaction(self, work: Callable[[FeedbackStore], T]) -> T:
        with _transaction(self._connection):
            return work(self)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _now() -> str:
    return _text(datetime.now(UTC))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds")
