"""Questions about the analytics: to the telemetry actor if it runs, else to its file.

The only module beside `gateway.py` that may reach into another package: the file can be read without a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from actors.telemetry.messages import FindCalls, GetStats, GetTrace, Query, Stats, Table
from bus.client import Bus
from bus.errors import StateError
from bus.lock import owner_of
from bus.message import Blob, Request
from cli.asking import ASK_SECONDS, on_bus
from cli.output import Failure
from config.place import Place

QUERY_SECONDS = 60.0
HELD_SECONDS = 5.0
"""How long a command that opens the file itself waits for the telemetry actor to finish a batch."""
_HELD_STEP = 0.05

T = TypeVar("T")


def reports(place: Place, wanted: Sequence[GetStats]) -> list[dict[str, Any]]:
    """Reports as `actors.telemetry.stats.report` describes them; `pending` counts events not in one yet.

    Raises:
        BusError: bad arguments, or the store cannot be read; Failure: there is none yet.
    """

    def offline(file: Path) -> list[dict[str, Any]]:
        from actors.telemetry import stats

        return [
            stats.report(
                file,
                one.report,
                since=one.since,
                until=one.until,
                tool=one.tool,
                server=one.server,
                by=one.by,
                limit=one.limit,
            )
            for one in wanted
        ]

    return _answer(place, wanted, offline)


def find_calls(place: Place, wanted: FindCalls) -> dict[str, Any]:
    """The newest calls as `actors.telemetry.traces.find_calls` has them, and `pending`; errors as for `reports`."""

    def offline(file: Path) -> list[dict[str, Any]]:
        from actors.telemetry import traces

        found = traces.find_calls(
            file,
            since=wanted.since,
            until=wanted.until,
            tool=wanted.tool,
            server=wanted.server,
            failed=wanted.failed,
            limit=wanted.limit,
        )
        return [found]

    return _answer(place, [wanted], offline)[0]


def trace(place: Place, trace_id: str) -> dict[str, Any]:
    """One call as `actors.telemetry.traces.trace` describes it, and `pending`. Errors as for `reports`."""

    def offline(file: Path) -> list[dict[str, Any]]:
        from actors.telemetry import traces

        return [traces.trace(file, trace_id)]

    return _answer(place, [GetTrace(trace_id=trace_id)], offline)[0]


def query(place: Place, sql: str, max_rows: int, timeout_seconds: float = QUERY_SECONDS) -> Table:
    """The answer to one read-only statement. Errors as for `reports`."""
    if _answers(place):
        request = Query(sql=sql, max_rows=max_rows, timeout_seconds=timeout_seconds)
        return on_bus(place, lambda bus: bus.ask(request, timeout=timeout_seconds + ASK_SECONDS, wait=ASK_SECONDS))
    from actors.telemetry.query import run_read_only

    found = run_read_only(_existing(place), sql, max_rows=max_rows, timeout_seconds=timeout_seconds)
    return Table(columns=found.columns, types=found.types, rows=Blob(found.rows), truncated=found.truncated)


def write_parquet(
    place: Place, sql: str, target: Path, max_rows: int | None, timeout_seconds: float = QUERY_SECONDS
) -> int:
    """Writes the rows of one read-only statement to a Parquet file; returns how many. Errors as for `reports`.

    The file is opened here, with a cluster and without: rows of any number and type never travel over the bus.
    """
    from actors.telemetry.parquet import write_query

    return _opened_here(
        place, lambda file: write_query(file, sql, target, max_rows=max_rows, timeout_seconds=timeout_seconds)
    )


def export(place: Place, directory: Path) -> dict[str, int]:
    """Writes each table to `directory/TABLE.parquet`; returns table → rows. Errors as for `reports`."""
    from actors.telemetry.parquet import write_tables

    return _opened_here(place, lambda file: write_tables(file, directory))


def _answer(
    place: Place, requests: Sequence[Request[Stats]], offline: Callable[[Path], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """The data of the answers, each with its `pending`: from the actor, else from the file by `offline`."""
    if not _answers(place):
        return [found | {"pending": 0} for found in offline(_existing(place))]

    async def ask(bus: Bus) -> list[Stats]:
        return [await bus.ask(request, timeout=QUERY_SECONDS, wait=ASK_SECONDS) for request in requests]

    answers = on_bus(place, ask)
    return [msgspec.json.decode(stats.data.data) | {"pending": stats.pending} for stats in answers]


def _opened_here(place: Place, work: Callable[[Path], T]) -> T:
    """What `work` does with the file, which the telemetry actor holds for moments only."""
    if _answers(place):
        query(place, "SELECT 1", 1)  # has the actor load what waits
    file = _existing(place)
    give_up = time.monotonic() + HELD_SECONDS
    while True:
        try:
            return work(file)
        except StateError as error:
            if error.code != "store_held" or time.monotonic() > give_up:
                raise
            time.sleep(_HELD_STEP)


def _answers(place: Place) -> bool:
    return bool(owner_of(place.locks / "telemetry.lock"))


def _existing(place: Place) -> Path:
    file = place.state / "analytics.duckdb"
    if not file.exists():
        raise Failure("no_data", f"nothing has been recorded yet in {place.state}; `mms up` starts the cluster")
    return file
