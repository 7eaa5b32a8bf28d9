"""The named statistics: what `mms stats` and the stats actions show, computed by the files in `sql/`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb

from actors.telemetry.database import opened
from actors.telemetry.schema import check, sql
from bus.errors import Refused

BY = ("tool", "server", "day")
MAX_LIMIT = 10_000
QUANTILES = ("p50", "p95", "p99")
RATINGS = ("helpful", "partially_helpful", "not_relevant", "already_known")

_OF_TOOL = "(tool = $tool OR server || '__' || tool = $tool)"
_OF_SERVER = "server = $server"
_OF_KEY = "(tool = $tool OR ends_with(tool, '__' || $tool))"
_OF_SERVERS_KEY = "starts_with(tool, $server || '__')"
_GROUPS = {
    "tool": {"dimensions": "server, tool", "key": "server || '__' || tool", "first": "saved_tokens DESC"},
    "server": {"dimensions": "server", "key": "server", "first": "saved_tokens DESC"},
    "day": {"dimensions": "day", "key": "strftime(day, '%Y-%m-%d')", "first": "day DESC"},
}
"""How calls are grouped; the columns are named in the text, because grouping by an expression costs a third more."""

Row = dict[str, Any]


def report(
    path: Path,
    name: str = "savings",
    *,
    since: str = "",
    until: str = "",
    tool: str = "",
    server: str = "",
    by: str = "tool",
    limit: int = 10,
) -> dict[str, Any]:
    """One report over the analytics file, as a JSON-ready object. Blocking; needs no actor.

    Times are ISO-8601 UTC strings with `Z`, ratios lie in 0 to 1 and are null when there is nothing to divide by;
    sums over nothing are 0. Tools are named `server__tool`.

    `savings`: `calls` = `live` + `cached` + `failed`, `surfaced`, `degraded`, `sessions`; `original_…`, `delivered_…`
        and `saved_chars`, the same in `…_tokens`, `memory_tokens` (those of memories, in delivered), `saved_ratio` (of
        tokens); saved = original − delivered and may be below 0 where memories were added to small responses.
        `latency_ms` and `own_ms` (all but the upstream, of answered calls): `{p50, p95, p99}` or null. `errors`:
        category → calls. `strategies`: list of `{strategy, calls, …_tokens}`.
        `by`, `groups_total` (0 without `groups`), `groups`: the first `limit` of `{key, calls, live, …, saved_ratio,
        latency_ms}`, most saved tokens first, days newest first. `recent`: the newest `limit` of `{ts, tool, ok,
        error, cached, strategy, original_chars, delivered_chars, surfacing, total_ms}`. `first_ts`, `last_ts`.
    `surfacing`: `events_total`, `distinct_tools`, `memories_shown`, `injected_chars`, `withheld` (held out, not in the
        totals), `total_feedback`, `ratings` (rating → count), `helpful_ratio`; `tools`: list of `{tool, events,
        memories, injected_chars, feedback, helpful, partially_helpful, not_relevant, already_known, helpful_ratio,
        last_ts}`; `opportunities` (calls that reached the surfacer): `{total, by_decision: decision → calls}`;
        `calls_by_decision`: the same of all calls; `recent`: the newest `limit` of `{ts,
        surfacing_id, tool, memory_ids, relevance, injected_chars, trace_id, ratings: memory id → rating}`.
    `compression`: `reports_total`, `by_category` (category → reports), `tools`: `{tool, reports, last_ts}`, `recent`:
        `{ts, tool, category, missing, trace_id}`.
    `progressive`: `reads`, `initial_payload_chars`, `follow_up_payload_chars` (footers and memories excluded, repeats
        counted again), `unclassified_legacy_reads`, `store_failures`; per response key, each weighing the same:
        `responses`, `progressive` (served in slices), `follow_up_rate`, `mean_served_chars`, `mean_total_chars`,
        `mean_coverage` (share of the text that was ever served); `tools`: the same per `tool`.
    `tuning`: `changes_total`, `tools`: `{tool, min_score, started_at, changes, last_ts, last_reason}`, `feedback`:
        ratings per tool with `helpful_ratio` and `negative_ratio`, `recent`: `{ts, tool, old, new, reason}`.
    `latency`: `calls`; `stages`: list of `{stage, calls, p50, p95, p99}` over the calls in which the stage ran, `total`
        last; `servers`: the first `limit` of `{server, calls, failed, timeouts, waited_ms, share}`, without cached
        calls, slowest p95 first; `share` of all the time that was waited for upstreams.
    `faults`: `total`, `groups`: `{component, what, count, last_ts, last_detail}`, `recent`: `{ts, component, what,
        detail, count, trace_id}`. Knows no tool.

    Args:
        since / until: ISO-8601, from (inclusive) and up to (exclusive), UTC unless it has an offset; empty = all.
        tool: `server__tool` or the bare tool name; server: only this one; empty = all.
        by: `tool`, `server` or `day`; for `savings`.
        limit: groups and recent rows, 0 to 10,000.

    Raises:
        Refused: unknown report, or an argument that cannot be used.
        StateError: there is no file yet, it is in use by another process or damaged, or an earlier version wrote it and
            no cluster has run since.
    """
    make = _REPORTS.get(name)
    if make is None:
        raise Refused(f"there is no report {name!r}; there are {', '.join(_REPORTS)}")
    values = checked(since=since, until=until, tool=tool, server=server, by=by, limit=limit)
    with opened(path, read_only=True) as connection:
        check(connection)
        return make(Reader(connection, values))


def checked(
    *, since: str = "", until: str = "", tool: str = "", server: str = "", by: str = "tool", limit: int = 10
) -> dict[str, Any]:
    """The values that the files of `sql/` name. Raises Refused for one that cannot be used."""
    if by not in BY:
        raise Refused(f"cannot group by {by!r}; group by {', '.join(BY)}")
    if not 0 <= limit <= MAX_LIMIT:
        raise Refused(f"limit is {limit}; give a number from 0 to {MAX_LIMIT}")
    period = {"since": _instant(since, "since"), "until": _instant(until, "until")}
    return {**period, "tool": tool, "server": server, "by": by, "limit": limit}


class Reader:
    """Runs the files of `sql/` with the values they name."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, values: dict[str, Any]) -> None:
        self._connection = connection
        self.values = values

    def rows(self, name: str) -> list[Row]:
        text = sql(name)
        for mark, words in self._words().items():
            text = text.replace(f"{{{mark}}}", words)
        used = set(re.findall(r"\$(\w+)", text))
        cursor = self._connection.execute(text, {key: value for key, value in self.values.items() if key in used})
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, map(json_ready, row), strict=True)) for row in cursor.fetchall()]

    def _words(self) -> dict[str, str]:
        """What stands for the marks. A condition that does not narrow is left out: DuckDB then skips whole blocks."""
        period = [f"ts {sign} ${key}" for key, sign in (("since", ">="), ("until", "<")) if self.values[key]]
        of_tool, of_key = ({"tool": _OF_TOOL, "server": _OF_SERVER}, {"tool": _OF_KEY, "server": _OF_SERVERS_KEY})
        return {
            "period": " AND ".join(period) or "true",
            "of_tool": self._narrowed(of_tool),
            "of_key": self._narrowed(of_key),
            "of_outcome": "NOT ok" if self.values.get("failed") else "true",
            **_GROUPS[self.values["by"]],
        }

    def _narrowed(self, conditions: dict[str, str]) -> str:
        return " AND ".join(words for key, words in conditions.items() if self.values[key]) or "true"

    def row(self, name: str) -> Row:
        return self.rows(name)[0]


def _savings(read: Reader) -> Row:
    totals = {
        key: 0 if value is None and key.endswith(("_chars", "_tokens")) else value
        for key, value in read.row("savings_totals").items()
    }
    groups = read.rows("savings_groups") if read.values["limit"] else []
    groups_total = groups[0]["groups_total"] if groups else 0
    for row in (totals, *groups):
        row.pop("groups_total", None)
        for key in ("latency_ms", "own_ms"):
            if row.get(key) is not None:
                row[key] = _quantiles(row[key])
    return totals | {
        "errors": {row["error"]: row["calls"] for row in read.rows("savings_errors")},
        "strategies": read.rows("savings_strategies"),
        "by": read.values["by"],
        "groups_total": groups_total,
        "groups": groups,
        "recent": read.rows("savings_recent"),
    }


def _surfacing(read: Reader) -> Row:
    tools = read.rows("surfacing_tools")
    ratings = {rating: sum(row[rating] for row in tools) for rating in RATINGS}
    feedback = sum(ratings.values())
    decisions = {row["decision"]: row["calls"] for row in read.rows("surfacing_decisions")}
    return read.row("surfacing_totals") | {
        "total_feedback": feedback,
        "ratings": ratings,
        "helpful_ratio": round(ratings["helpful"] / feedback, 4) if feedback else None,
        "tools": tools,
        "opportunities": {"total": sum(decisions.values()), "by_decision": decisions},
        "calls_by_decision": {row["decision"]: row["calls"] for row in read.rows("surfacing_calls")},
        "recent": read.rows("surfacing_recent"),
    }


def _compression(read: Reader) -> Row:
    categories = {row["category"]: row["reports"] for row in read.rows("compression_categories")}
    return {
        "reports_total": sum(categories.values()),
        "by_category": categories,
        "tools": read.rows("compression_tools"),
        "recent": read.rows("compression_recent"),
    }


def _progressive(read: Reader) -> Row:
    overall, *tools = read.rows("progressive_tools")
    del overall["tool"]
    return read.row("progressive_totals") | read.row("progressive_failures") | overall | {"tools": tools}


def _tuning(read: Reader) -> Row:
    tools = read.rows("tuning_tools")
    return {
        "changes_total": sum(row["changes"] for row in tools),
        "tools": tools,
        "feedback": read.rows("tuning_feedback"),
        "recent": read.rows("tuning_recent"),
    }


def _faults(read: Reader) -> Row:
    groups = read.rows("faults_groups")
    return {"total": sum(row["count"] for row in groups), "groups": groups, "recent": read.rows("faults_recent")}


def _latency(read: Reader) -> Row:
    found = read.row("latency_stages")
    stages = [
        {"stage": stage, "calls": found[count], **(_quantiles(found[f"{stage}_ms"]) or dict.fromkeys(QUANTILES))}
        for stage, count in (
            ("upstream", "upstream_calls"),
            ("compress", "compress_calls"),
            ("surface", "surface_calls"),
            ("total", "calls"),
        )
    ]
    servers = [row | {"waited_ms": _quantiles(row["waited_ms"])} for row in read.rows("latency_servers")]
    return {"calls": found["calls"], "stages": stages if found["calls"] else [], "servers": servers}


def _quantiles(milliseconds: list[float] | None) -> dict[str, float] | None:
    if milliseconds is None:
        return None
    return dict(zip(QUANTILES, (round(value, 3) for value in milliseconds), strict=True))


_REPORTS: dict[str, Callable[[Reader], Row]] = {
    "savings": _savings,
    "surfacing": _surfacing,
    "compression": _compression,
    "progressive": _progressive,
    "tuning": _tuning,
    "faults": _faults,
    "latency": _latency,
}


def _instant(text: str, name: str) -> datetime | None:
    """The UTC time that an ISO-8601 string means, without a zone, as the tables hold it."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{name} is {text[:40]!r}; give a time such as 2026-11-30 or 2026-11-30T09:00:00Z") from None
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def json_ready(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    return value
