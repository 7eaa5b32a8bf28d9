"""`mms trace`: the calls of a period, and one call's way through the actors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from actors.telemetry.messages import FindCalls
from cli.analytics import find_calls
from cli.analytics import trace as ask_trace
from cli.context import current_place
from cli.decisions import meaning
from cli.logs import Line, lines_of_trace, rendered
from cli.output import Answer, Cell, Failure, answers, count, printable, style, table
from cli.period import local, period, window_around
from cli.tool_names import HELP, recorded

LABELS = {
    "upstream": "waiting for the upstream",
    "compress": "cleaning and compressing",
    "surface": "looking for memories",
    "gateway": "the gateway itself",
}
BAR = 30

Row = Mapping[str, Any]


@click.command()
@click.argument("trace_id", required=False, default="")
@click.option("--last", is_flag=True, help="The newest call.")
@click.option("--failed", is_flag=True, help="List only calls that failed.")
@click.option(
    "--at", default="", metavar="TIME", help="List calls within five minutes of then: 14:05, or a date and time."
)
@click.option("--since", default="", metavar="TIME", help="List calls from then on: 30m, 24h, 7d, 14:05, or a date.")
@click.option("--tool", default="", help=f"List only calls of this tool ({HELP}).")
@click.option("--server", default="", help="List only calls of this upstream server.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Calls listed.")
@answers
def trace(trace_id: str, last: bool, failed: bool, at: str, since: str, tool: str, server: str, limit: int) -> Answer:
    """One call's way through the actors; without an id: the latest calls.

    The beginning of an id is enough.

    \b
    Example:
      mms trace --failed --at 14:05
      mms trace 3f9c2a17
      mms trace --last
    """
    lists = bool(failed or at or since or tool or server)
    if bool(trace_id) + last + lists > 1:
        raise Failure("usage", "give an id, --last, or options that list calls; not several of them", 2)
    if at and since:
        raise Failure("usage", "--at and --since exclude each other", 2)
    if trace_id or last:
        return _one(trace_id)
    return _list(failed=failed, at=at, since=since, tool=tool, server=server, limit=limit)


def _list(*, failed: bool, at: str, since: str, tool: str, server: str, limit: int) -> Answer:
    now = datetime.now(UTC)
    begin, end = window_around(at, now) if at else period(since, "", now)
    place = current_place()
    wanted = FindCalls(since=begin, until=end, tool=recorded(place, tool), server=server, failed=failed, limit=limit)
    found = find_calls(place, wanted)
    rows = [
        (local(row["ts"]), row["trace_id"], row["tool"], _outcome(row), f"{row['total_ms']:,.1f} ms")
        for row in found["calls"]
    ]
    talk = []
    if not rows:
        what = "No call failed" if failed else "There was no call"
        where = f" of {tool or server}" if tool or server else ""
        hint = "; `mms trace` alone lists the latest of all" if where else ""
        talk.append(printable(f"{what}{where} {'then' if begin else 'yet'}{hint}."))
    elif found["found"] > len(rows):
        talk.append(f"{found['found'] - len(rows):,} more; --limit shows them.")
    if rows:
        talk.append("`mms trace ID` shows one of them; the beginning of the id is enough.")
    if found["pending"]:
        talk.append(f"{count(found['pending'], 'event')} recorded and not counted yet.")
    return Answer(
        data={"since": begin, "until": end, **found},
        text=table(("TIME", "TRACE", "TOOL", "OUTCOME", "TOOK"), rows) if rows else "",
        talk="\n".join(talk),
    )


def _one(trace_id: str) -> Answer:
    place = current_place()
    found = ask_trace(place, trace_id)
    logged = lines_of_trace(place, found["trace_id"])
    return Answer(
        data={**found, "logs": [line.text for line in logged]},
        text=_page(found, logged),
    )


def _page(found: Row, logged: Iterable[Line]) -> str:
    call = found["call"]
    parts = [table(("WHAT", "VALUE"), _summary(found, call))]
    if found["stages"]:
        parts.append(_timeline(found["stages"], call["total_ms"]))
    if found["events"]:
        rows = [
            (f"{event['offset_ms']:+,.1f} ms", event["kind"], _details(event["details"], call))
            for event in found["events"]
        ]
        parts.append(table(("AFTER", "EVENT", "DETAILS"), rows))
    lines = [rendered(line) for line in logged]
    if lines:
        parts.append("\n".join([style("LOGS", "heading"), *lines]))
    return "\n\n".join(parts)


def _summary(found: Row, call: Row | None) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = [("trace", found["trace_id"]), ("began", local(found["started"]))]
    if call is None:
        return [*rows, ("call", "not recorded: it is still running, or its event has been retired")]
    rows += [
        ("tool", f"{call['server']}__{call['tool']}"),
        ("outcome", _outcome(call)),
        ("took", f"{call['total_ms']:,.1f} ms"),
        ("answered by", _answered_by(call)),
        (
            "size",
            f"{call['original_chars']:,} → {call['delivered_chars']:,} characters, "
            f"{call['original_tokens']:,} → {call['delivered_tokens']:,} tokens"
            + (f" ({call['memory_tokens']:,} of them memories)" if call["memory_tokens"] else ""),
        ),
        ("strategy", call["strategy"]),
        ("surfacing", _why(call["surfacing"])),
        ("session", call["session"]),
    ]
    if call["degraded"]:
        rows.append(("without", Cell(call["degraded"], "warning")))
    return rows


def _why(decision: str) -> str:
    """A decision and what it means."""
    return ": ".join(filter(None, [decision, meaning(decision)]))


def _timeline(stages: Iterable[Row], total: float) -> str:
    rows = []
    for row in stages:
        begin = round(BAR * row["offset_ms"] / total) if total else 0
        length = max(1, round(BAR * row["duration_ms"] / total)) if total else 1
        begin = min(begin, BAR - 1)
        bar = "·" * begin + "█" * min(length, BAR - begin)
        rows.append(
            (
                f"{row['offset_ms']:+,.1f} ms",
                LABELS[row["stage"]],
                bar + "·" * (BAR - len(bar)),
                f"{row['duration_ms']:,.1f} ms",
            )
        )
    return table(("AT", "STAGE", "TIMELINE", "TOOK"), rows)


def _answered_by(call: Row) -> str:
    if call["cached"]:
        return "the response cache"
    return "the upstream" if call["ok"] or call["upstream_ms"] else "nobody"


def _outcome(row: Row) -> Cell | str:
    if row["ok"]:
        return "cached" if row["cached"] else "ok"
    return Cell(f"failed: {row['error']}", "bad")


def _details(details: Row, call: Row | None) -> str:
    """What an event says beyond its call; what is empty is left out."""
    same = ("server", "tool") if call is not None else ()
    shown = {
        key: value for key, value in details.items() if key not in same and value not in (None, "", [], {}, 0, 0.0)
    }
    return " ".join(f"{key}={_short(value)}" for key, value in shown.items())


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return printable(text if len(text) <= 100 else f"{text[:99]}…")
