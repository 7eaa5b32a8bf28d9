"""Questions about the analytics: to the telemetry actor if it runs, else to its file.

The only module beside `gateway.py` that may reach into another package: the file can be read without a cluster.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from actors.telemetry.messages import GetStats, Query, Table
from bus.lock import owner_of
from bus.message import Blob
from cli.asking import ASK_SECONDS, on_bus
from cli.output import Failure
from config.place import Place

QUERY_SECONDS = 60.0


def report(place: Place, name: str, *, since: str, tool: str, by: str, limit: int) -> dict[str, Any]:
    """A named report as `actors.telemetry.stats.report` describes it; `pending` counts events not in it yet.

    Raises:
        BusError: bad arguments, or the store cannot be read; Failure: there is none yet.
    """
    if _answers(place):
        request = GetStats(report=name, since=since, tool=tool, by=by, limit=limit)
        stats = on_bus(place, lambda bus: bus.ask(request, timeout=QUERY_SECONDS, wait=ASK_SECONDS))
        found: dict[str, Any] = msgspec.json.decode(stats.data.data)
        return found | {"pending": stats.pending}
    _must_exist(place)
    from actors.telemetry import stats as offline

    return offline.report(_file(place), name, since=since, tool=tool, by=by, limit=limit) | {"pending": 0}


def query(place: Place, sql: str, max_rows: int) -> Table:
    """The answer to one read-only statement. Errors as for `report`."""
    if _answers(place):
        request = Query(sql=sql, max_rows=max_rows, timeout_seconds=QUERY_SECONDS)
        return on_bus(place, lambda bus: bus.ask(request, timeout=QUERY_SECONDS + ASK_SECONDS, wait=ASK_SECONDS))
    _must_exist(place)
    from actors.telemetry.query import run_read_only

    found = run_read_only(_file(place), sql, max_rows=max_rows, timeout_seconds=QUERY_SECONDS)
    return Table(columns=found.columns, types=found.types, rows=Blob(found.rows), truncated=found.truncated)


def _answers(place: Place) -> bool:
    return bool(owner_of(place.locks / "telemetry.lock"))


def _file(place: Place) -> Path:
    return place.state / "analytics.duckdb"


def _must_exist(place: Place) -> None:
    if not _file(place).exists():
        raise Failure("no_data", f"nothing has been recorded yet in {place.state}; `mms up` starts the cluster")
