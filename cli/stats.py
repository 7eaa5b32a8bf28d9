"""`mms stats`: what was saved, where the time went, and what surfacing did."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from actors.telemetry.messages import GetStats
from cli import plot as plots
from cli.analytics import reports
from cli.context import current_place
from cli.decisions import meaning
from cli.output import Answer, answers, count, table
from cli.period import period
from cli.tool_names import HELP, recorded
from config.load import load_settings

HEADINGS = {"tool": "TOOL", "server": "SERVER", "day": "DAY (UTC)"}
STAGES = {
    "upstream": "upstream",
    "compress": "clean and compress",
    "surface": "surfacing",
    "total": "the whole call",
}
REPORTS = ("savings", "latency", "surfacing", "progressive")
IN_TERMINAL = "-"

Row = Mapping[str, Any]


@click.command()
@click.option("--since", default="", metavar="TIME", help="From then on: 30m, 24h, 7d, 2w, 14:05, or a date.")
@click.option("--until", default="", metavar="TIME", help="Up to then, in the same forms; default now.")
@click.option("--tool", default="", help=f"Only this tool ({HELP}).")
@click.option("--server", default="", help="Only this upstream server.")
@click.option("--by", type=click.Choice(["tool", "server", "day"]), default="tool", show_default=True, help="Grouping.")
@click.option("--limit", type=click.IntRange(0, 10_000), default=10, show_default=True, help="Groups shown.")
@click.option(
    "--plot",
    is_flag=False,
    flag_value=IN_TERMINAL,
    default=None,
    metavar="[FILE]",
    help="Draw the groups in the terminal, or as FILE.png or FILE.svg (extra: plot).",
)
@answers
def stats(since: str, until: str, tool: str, server: str, by: str, limit: int, plot: str | None) -> Answer:
    """What was saved: tokens, money, time; and what surfacing did.

    The price of a token is `telemetry.price_per_million_tokens` of the configuration. `mms trace --failed` lists the
    calls that failed.

    \b
    Example:
      mms stats --since 7d --by server
      mms stats --since 14d --until 7d --by day --plot savings.svg
    """
    place, now = current_place(), datetime.now(UTC)
    target = Path(plot) if plot not in (None, IN_TERMINAL) else None
    if target is not None:
        plots.check(target)
    begin, end = period(since, until, now)
    tool = recorded(place, tool)
    price = load_settings(place).settings.telemetry.price_per_million_tokens
    wanted = [
        GetStats(report=name, since=begin, until=end, tool=tool, server=server, by=by, limit=limit) for name in REPORTS
    ]
    found = dict(zip(REPORTS, reports(place, wanted), strict=True))
    savings = found["savings"]
    dollars = savings["saved_tokens"] * price / 1_000_000
    pending = max(part.pop("pending") for part in found.values())
    talk = [f"{count(pending, 'event')} recorded and not counted yet."] if pending else []
    if not savings["calls"] and not found["surfacing"]["opportunities"]["total"] and (tool or server or begin or end):
        talk.append(
            f"No call is recorded of that; `mms stats --by {'server' if server else 'tool'}` shows what there is."
        )
    if target is not None:
        plots.picture(savings["groups"], HEADINGS[by], target)
        talk.append(f"drew {target}")
    columns = shutil.get_terminal_size().columns
    drawn = plots.bars(savings["groups"], HEADINGS[by], columns) if plot == IN_TERMINAL else ""
    return Answer(
        data={
            "since": begin,
            "until": end,
            **found,
            "price_per_million_tokens": price,
            "saved_dollars": round(dollars, 4),
            "pending": pending,
        },
        text=drawn if plot else _page(found, dollars, price),
        talk="\n".join(talk),
    )


def _page(found: Mapping[str, Row], dollars: float, price: float) -> str:
    parts = [table(("WHAT", "VALUE"), _overview(found, dollars, price))]
    if found["savings"]["groups"]:
        parts.append(_groups(found["savings"]))
    latency = found["latency"]
    if latency["stages"]:
        headings = ("STAGE", "CALLS", "P50", "P95", "P99")
        rows = [
            (STAGES[row["stage"]], f"{row['calls']:,}", *map(_ms, (row["p50"], row["p95"], row["p99"])))
            for row in latency["stages"]
        ]
        parts.append(table(headings, rows))
    if latency["servers"]:
        parts.append(_upstreams(latency["servers"]))
    # What `mms hook` asks for is no call.
    decisions = found["surfacing"]["calls_by_decision"] or found["surfacing"]["opportunities"]["by_decision"]
    if decisions:
        reasons = [(name or "-", f"{n:,}", meaning(name)) for name, n in decisions.items()]
        parts.append(table(("SURFACING", "CALLS", "MEANS"), reasons))
    return "\n\n".join(parts)


def _overview(found: Mapping[str, Row], dollars: float, price: float) -> list[tuple[str, str]]:
    savings, surfacing, progressive = found["savings"], found["surfacing"], found["progressive"]
    answered = savings["live"] + savings["cached"]
    later = progressive["follow_up_payload_chars"]
    lines = [
        ("calls", f"{savings['calls']:,} ({savings['live']:,} live, {savings['cached']:,} cached, "
                  f"{savings['failed']:,} failed)"),
        ("tokens", f"{savings['original_tokens']:,} → {savings['delivered_tokens']:,}"
                   + (f" ({savings['memory_tokens']:,} of them memories)" if savings["memory_tokens"] else "")),
        ("saved", f"{savings['saved_tokens']:,} tokens ({_percent(savings['saved_ratio'])}), "
                  f"{_money(dollars)} at ${price:g} per million"),
        ("cache", f"{_percent(savings['cached'] / answered)} of the answers" if answered else "-"),
        ("latency", _latency(savings["latency_ms"])),
        ("our share", _latency(savings["own_ms"])),
        ("read on", f"{_percent(progressive['follow_up_rate'])} of "
                    f"{count(progressive['responses'], 'shortened response')}; "
                    f"{_percent(progressive['mean_coverage'])} of their text was delivered in all"
                    if progressive["responses"] else "-"),
        *([("read later", f"{later:,} characters of them, not taken off what was saved")] if later else []),
        ("surfaced", f"{count(surfacing['memories_shown'], 'memory', 'memories')} in "
                     f"{count(surfacing['events_total'], 'response')}"),
        ("rated", f"{count(surfacing['total_feedback'], 'time')}, helpful {_percent(surfacing['helpful_ratio'])}"
                  if surfacing["total_feedback"] else "-"),
    ]  # fmt: skip
    if savings["errors"]:
        lines.append(("failures", ", ".join(f"{name} {count:,}" for name, count in savings["errors"].items())))
    return lines


def _groups(savings: Row) -> str:
    rows = [
        (
            group["key"],
            f"{group['calls']:,}",
            f"{group['cached']:,}",
            f"{group['failed']:,}",
            f"{group['original_tokens']:,}",
            f"{group['delivered_tokens']:,}",
            _percent(group["saved_ratio"]),
            _ms(group["latency_ms"]["p50"]),
            _ms(group["latency_ms"]["p95"]),
        )
        for group in savings["groups"]
    ]
    more = savings["groups_total"] - len(rows)
    headings = (HEADINGS[savings["by"]], "CALLS", "CACHED", "FAILED", "TOKENS", "DELIVERED", "SAVED", "P50", "P95")
    return table(headings, rows) + (f"\n… and {more:,} more, --limit shows them" if more else "")


def _upstreams(servers: list[Row]) -> str:
    rows = [
        (
            row["server"],
            f"{row['calls']:,}",
            f"{row['failed']:,}",
            f"{row['timeouts']:,}",
            *(_ms((row["waited_ms"] or {}).get(name)) for name in ("p50", "p95", "p99")),
            _percent(row["share"]),
        )
        for row in servers
    ]
    headings = ("SLOWEST UPSTREAMS", "LIVE CALLS", "FAILED", "TIMEOUTS", "P50", "P95", "P99", "OF ALL WAITING")
    return table(headings, rows)


def _money(dollars: float) -> str:
    amount = f"${abs(dollars):,.2f}"
    return f"-{amount}" if dollars < 0 and amount != "$0.00" else amount


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.0%}"


def _ms(milliseconds: float | None) -> str:
    return "-" if milliseconds is None else f"{milliseconds:,.1f} ms"


def _latency(milliseconds: Mapping[str, float] | None) -> str:
    if milliseconds is None:
        return "-"
    return ", ".join(f"{name} {_ms(value)}" for name, value in milliseconds.items())
