"""The analysis: a DuckDB file that is opened, loaded from the record and closed again, exactly once per event.

The file is nobody's for long: between two loads anyone may open it. How far each segment is loaded lies in the file
itself (`_offsets`) and commits with the rows, so a crash can neither lose nor repeat a batch; an empty or rebuilt file
starts at the beginning of the record by itself. A repeated event (its producer sent it again because the
acknowledgement was lost) has the id *and the time* of the first one, so only rows of the batch's own time span are
compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import duckdb

from actors.telemetry import schema
from actors.telemetry.database import opened
from actors.telemetry.journal import MAX_LINE_BYTES, Extent
from bus.aside import move_aside
from bus.errors import StateError

CHUNK_BYTES = 8 * 1024 * 1024
"""One transaction loads at most this much of the record."""
RETENTION_DAYS: Mapping[str, float] = dict.fromkeys(schema.KINDS, 90.0)
MAX_ROWS = 10_000_000
"""Per table; about 300 MB of calls."""
RETENTION_EVERY_SECONDS = 3600.0


@dataclass
class Progress:
    """What a load did.

    Attributes:
        rows: events new to the store.
        repeated: events it already had.
        unreadable: lines that are no events (torn by a crash, or edited).
        offsets: bytes loaded per segment.
    """

    rows: int = 0
    repeated: int = 0
    unreadable: int = 0
    offsets: dict[int, int] = field(default_factory=dict)


class Warehouse:
    """Loads the record into the analytics file. Blocking; for one thread at a time.

    Args:
        path: the DuckDB file.
        spool: where the part of a segment that is to be loaded is written for DuckDB to read.
        retention_days: per kind; 0 keeps everything.
        max_rows: rows per table; the oldest go first.
    """

    def __init__(
        self,
        path: Path,
        spool: Path,
        *,
        retention_days: Mapping[str, float] = RETENTION_DAYS,
        max_rows: int = MAX_ROWS,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.path = path
        self._spool = spool
        self._retention_days = retention_days
        self._max_rows = max_rows
        self._chunk_bytes = chunk_bytes
        self._next_retention = 0.0
        types = ", ".join(f"'{name}': '{sql_type}'" for name, sql_type in schema.line_columns().items())
        self._read = (
            "CREATE OR REPLACE TEMP TABLE _batch AS FROM read_json(?, format = 'newline_delimited', "
            f"ignore_errors = true, maximum_object_size = {2 * MAX_LINE_BYTES}, columns = {{{types}}})"
        )

    def keep(self, retention_days: Mapping[str, float]) -> None:
        """Changes how long rows stay, from the next load on; any thread may tell."""
        if retention_days != self._retention_days:
            self._retention_days = retention_days
            self._next_retention = 0.0

    def load(self, extents: tuple[Extent, ...]) -> Progress:
        """Loads everything of `extents` that is not in the store yet.

        Raises:
            StoreHeld: another process has the file open; nothing is lost, try again.
            StoreDamaged: the file cannot be read; `set_aside` it and load again.
            NewerState: a newer version wrote it.
            StateError: the system refuses.
        """
        progress = Progress()
        try:
            with opened(self.path) as connection:
                schema.prepare(connection)
                self._load_segments(connection, extents, progress)
                self._retain(connection)
        except OSError as error:
            raise StateError(f"{self.path} cannot be loaded from the event log: {error.strerror}") from None
        return progress

    def set_aside(self, now: datetime | None = None) -> Path:
        """Renames a damaged file, and its write-ahead log, to a dated name; the next load builds a new one.

        Returns:
            The new name.
        """
        return move_aside(self.path, now)

    def _load_segments(
        self, connection: duckdb.DuckDBPyConnection, extents: tuple[Extent, ...], progress: Progress
    ) -> None:
        offsets = connection.execute("SELECT segment, first_line, loaded_bytes FROM _offsets").fetchall()
        known = {segment: (first_line, loaded) for segment, first_line, loaded in offsets}
        for extent in extents:
            try:
                with extent.path.open("rb") as file:
                    self._load_segment(connection, extent, file, known.get(extent.number), progress)
            except FileNotFoundError:
                progress.offsets[extent.number] = extent.size  # deleted by hand: there is nothing to load
        if extents and min(known, default=extents[0].number) < extents[0].number:
            connection.execute("DELETE FROM _offsets WHERE segment < ?", [extents[0].number])

    def _load_segment(
        self,
        connection: duckdb.DuckDBPyConnection,
        extent: Extent,
        file: BinaryIO,
        known: tuple[str, int] | None,
        progress: Progress,
    ) -> None:
        first_line = hashlib.sha256(file.readline(MAX_LINE_BYTES)).hexdigest()[:16] if extent.size else ""
        # A segment that begins differently is another one under the same number: the record was started afresh.
        offset = known[1] if known and known[0] == first_line and known[1] <= extent.size else 0
        file.seek(offset)
        try:
            for chunk in _chunks(file, extent.size - offset, self._chunk_bytes):
                self._spool.write_bytes(chunk)
                offset += len(chunk)
                with schema.transaction(connection):
                    self._load_batch(connection, chunk.count(b"\n"), progress)
                    connection.execute("DELETE FROM _offsets WHERE segment = ?", [extent.number])
                    connection.execute("INSERT INTO _offsets VALUES (?, ?, ?)", [extent.number, first_line, offset])
        finally:
            self._spool.unlink(missing_ok=True)
        progress.offsets[extent.number] = offset

    def _load_batch(self, connection: duckdb.DuckDBPyConnection, lines: int, progress: Progress) -> None:
        connection.execute(self._read, [str(self._spool)])
        kinds = connection.execute(
            "SELECT kind, count(*), count(DISTINCT event_id), min(ts), max(ts) FROM _batch "
            "WHERE event_id IS NOT NULL AND ts IS NOT NULL GROUP BY kind"
        ).fetchall()
        events = 0
        for kind, count, distinct, first, last in kinds:
            if kind not in schema.KINDS:
                continue
            names = ", ".join(f'"{name}"' for name in schema.table_columns(kind))
            once = "DISTINCT ON (event_id)" if distinct < count else ""
            added = connection.execute(
                f'INSERT INTO "{kind}" ({names}) SELECT {once} {names} FROM _batch '  # noqa: S608 (names are ours)
                "WHERE kind = ? AND event_id IS NOT NULL AND ts IS NOT NULL AND event_id NOT IN "
                f'(SELECT event_id FROM "{kind}" WHERE ts BETWEEN ? AND ?)',
                [kind, first, last],
            ).fetchone()
            rows = int(added[0]) if added else 0
            events += count
            progress.rows += rows
            progress.repeated += count - rows
        progress.unreadable += lines - events

    def _retain(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Deletes rows past their age or number; looks once an hour."""
        if time.monotonic() < self._next_retention:
            return
        self._next_retention = time.monotonic() + RETENTION_EVERY_SECONDS
        now = datetime.now(UTC).replace(tzinfo=None)
        for kind in schema.KINDS:
            if days := self._retention_days.get(kind, 0):
                connection.execute(f'DELETE FROM "{kind}" WHERE ts < ?', [now - timedelta(days=days)])  # noqa: S608
            row = connection.execute(f'SELECT count(*) FROM "{kind}"').fetchone()  # noqa: S608
            if row and row[0] > self._max_rows:
                connection.execute(
                    f'DELETE FROM "{kind}" WHERE ts < (SELECT ts FROM "{kind}" ORDER BY ts DESC LIMIT 1 OFFSET ?)',  # noqa: S608
                    [self._max_rows - 1],
                )


def unread_lines(extents: tuple[Extent, ...], offsets: Mapping[int, int]) -> int:
    """Lines of the record behind the loaded offsets: the events that wait."""
    count = 0
    for extent in extents:
        start = min(offsets.get(extent.number, 0), extent.size)
        if start < extent.size:
            with contextlib.suppress(FileNotFoundError), extent.path.open("rb") as file:
                file.seek(start)
                count += sum(chunk.count(b"\n") for chunk in _blocks(file, extent.size - start))
    return count


def _blocks(file: BinaryIO, size: int, block: int = 1024 * 1024) -> Iterator[bytes]:
    while size > 0 and (data := file.read(min(block, size))):
        size -= len(data)
        yield data


def _chunks(file: BinaryIO, size: int, limit: int) -> Iterator[bytes]:
    """`size` bytes in chunks of whole lines of about `limit` bytes."""
    rest = b""
    for block in _blocks(file, size, limit):
        head, newline, tail = block.rpartition(b"\n")
        if newline:
            yield rest + head + newline
            rest = tail
        else:
            rest += block
    if rest:
        yield rest + b"\n"
