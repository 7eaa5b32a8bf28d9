"""One call's way through the actors, put together from its events; and the calls of a period, to find it by."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb

from actors.telemetry.database import opened
from actors.telemetry.schema import KINDS, check
from actors.telemetry.stats import Reader, Row, checked, json_ready
from bus.errors import Refused

MAX_EVENTS = 1_000
"""Of one kind in one trace; a response that is read on ten thousand times need not be shown whole."""
MAX_NAMED = 5
SHORTEST_MS = 0.001
"""A shorter stretch of a call is none."""

_STAGES = ("upstream", "compress", "surface")
_UNANSWERED = ("timeout", "transport", "protocol", "oversize", "cancelled")
"""Failures of calls that waited for an upstream until they failed."""
_ENVELOPE = ("event_id", "schema_version", "trace_id")
_RELATED = {
    # What comes later belongs to the call too: the reads of its response and the ratings of its memories.
    "progressive_reads": "follow_up AND key_digest IN (SELECT key_digest FROM progressive_reads WHERE trace_id = $id)",
    "feedback": "surfacing_id IN (SELECT surfacing_id FROM surfacing WHERE trace_id = $id)",
}


def find_calls(
    path: Path,
    *,
    since: str = "",
    until: str = "",
    tool: str = "",
    server: str = "",
    failed: bool = False,
    limit: int = 20,
) -> dict[str, Any]:
    """The newest calls of a period. Blocking; needs no actor. Arguments and errors as for `stats.report`.

    `found`: how many there are (0 when `limit` is 0); `calls`: the newest `limit` of `{ts, trace_id, tool, ok, error,
    cached, strategy, surfacing, degraded, original_tokens, delivered_tokens, upstream_ms, total_ms}`.
    """
    values = checked(since=since, until=until, tool=tool, server=server, limit=limit) | {"failed": failed}
    with opened(path, read_only=True) as connection:
        check(connection)
        rows = Reader(connection, values).rows("calls_found")
    found = rows[0]["found"] if rows else 0
    return {"found": found, "calls": [{key: row[key] for key in row if key != "found"} for row in rows]}


def trace(path: Path, trace_id: str = "") -> dict[str, Any]:
    """Everything about one call. Blocking; needs no actor.

    `trace_id`: the whole one; `call`: the columns of its row (null when only other events are left); `started`: when
    its request was read; `stages`: `{stage, offset_ms, duration_ms}` in their order, `gateway` being whatever lies
    before, between and after the others; `events`: `{ts, offset_ms, kind, details}` of all other events by time,
    follow-up reads and ratings included. Offsets are milliseconds since `started`. Of older calls only the lengths of
    stages are known, and they are taken to follow one another at once.

    Args:
        trace_id: whole or the beginning of one; empty = the newest call.

    Raises:
        Refused: no call, or several, have such an id.
        StateError: as for `stats.report`.
    """
    with opened(path, read_only=True) as connection:
        check(connection)
        whole = _resolved(connection, trace_id)
        found = {kind: _events(connection, kind, whole) for kind in KINDS}
    calls = found.pop("call")
    call = calls[-1] if calls else None
    first = call["ts"] if call else min(row["ts"] for rows in found.values() for row in rows)
    started = first - timedelta(milliseconds=call["total_ms"] if call else 0)
    events = [
        {
            "ts": json_ready(row["ts"]),
            "offset_ms": _milliseconds(row["ts"] - started),
            "kind": kind,
            "details": {key: json_ready(value) for key, value in row.items() if key != "ts"},
        }
        for kind, rows in found.items()
        for row in rows
    ]
    return {
        "trace_id": whole,
        "started": json_ready(started),
        "call": None if call is None else {key: json_ready(value) for key, value in call.items()},
        "stages": [] if call is None else _stages(call),
        "events": sorted(events, key=lambda event: event["ts"]),
    }


def _resolved(connection: duckdb.DuckDBPyConnection, beginning: str) -> str:
    """The one id that begins so."""
    if not beginning:
        newest = connection.execute(
            "SELECT trace_id FROM call WHERE trace_id <> '' ORDER BY ts DESC LIMIT 1"
        ).fetchone()
        if newest is None:
            raise Refused("no call has been recorded yet; `mms call TOOL` makes one")
        return str(newest[0])
    # The calls first: they are what people look for, and an id of theirs is the id of all their other events.
    for kinds in (("call",), tuple(kind for kind in KINDS if kind != "call")):
        ids = " UNION ".join(f'SELECT trace_id FROM "{kind}" WHERE starts_with(trace_id, $id)' for kind in kinds)  # noqa: S608
        found = [
            row[0]
            for row in connection.execute(f"{ids} ORDER BY 1 LIMIT {MAX_NAMED + 1}", {"id": beginning}).fetchall()
        ]
        if beginning in found or len(found) == 1:
            return beginning if beginning in found else str(found[0])
        if found:
            more = ", …" if len(found) > MAX_NAMED else ""
            raise Refused(
                f"several ids begin with {beginning!r}: {', '.join(found[:MAX_NAMED])}{more}; give more of it"
            )
    raise Refused(f"no event has the trace id {beginning[:64]!r}; `mms trace` lists the latest calls")


def _events(connection: duckdb.DuckDBPyConnection, kind: str, trace_id: str) -> list[Row]:
    condition = f"trace_id = $id OR {_RELATED[kind]}" if kind in _RELATED else "trace_id = $id"
    cursor = connection.execute(
        f'SELECT * FROM "{kind}" WHERE {condition} ORDER BY ts LIMIT {MAX_EVENTS}',  # noqa: S608 (names are ours)
        {"id": trace_id},
    )
    names = [column[0] for column in cursor.description or ()]
    rows = (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
    return [{key: value for key, value in row.items() if key not in _ENVELOPE} for row in rows]


def _stages(call: Row) -> list[Row]:
    total = call["total_ms"]
    is_unanswered = not call["upstream_ms"] and call["error"] in _UNANSWERED
    found: list[Row] = []
    at = 0.0

    def add(stage: str, until: float) -> None:
        nonlocal at
        if until - at >= SHORTEST_MS:
            found.append({"stage": stage, "offset_ms": round(at, 3), "duration_ms": round(until - at, 3)})
            at = until

    for stage in _STAGES:
        begin = max(at, min(call[f"{stage}_at_ms"] or at, total))
        duration = total - begin if is_unanswered and stage == "upstream" else call[f"{stage}_ms"]
        if duration:
            add("gateway", begin)
            add(stage, begin + duration)
    add("gateway", total)
    return found


def _milliseconds(span: timedelta) -> float:
    return round(span / timedelta(milliseconds=1), 3)
