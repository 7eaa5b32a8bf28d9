"""`mms stats`: what was saved, and what surfacing did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from cli.analytics import report
from cli.context import current_place
from cli.output import Answer, Failure, answers, table
from config.load import load_settings

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@click.command()
@click.option("--since", default="", metavar="TIME", help="From then on: 30m, 24h, 7d, 2w, or a date; default all.")
@click.option("--tool", default="", help="Only this tool (server__tool, or its own name).")
@click.option("--by", type=click.Choice(["tool", "server", "day"]), default="tool", show_default=True, help="Grouping.")
@click.option("--limit", type=click.IntRange(0, 10_000), default=10, show_default=True, help="Groups shown.")
@answers
def stats(since: str, tool: str, by: str, limit: int) -> Answer:
    """What was saved: tokens, money, time; and what surfacing did.

    The price of a token is `telemetry.price_per_million_tokens` of the configuration.

    \b
    Example:
      mms stats --since 7d --by server
    """
    place = current_place()
    instant = instant_of(since, datetime.now(UTC))
    price = load_settings(place).settings.telemetry.price_per_million_tokens
    savings = report(place, "savings", since=instant, tool=tool, by=by, limit=limit)
    surfacing = report(place, "surfacing", since=instant, tool=tool, by="tool", limit=limit)
    dollars = savings["saved_tokens"] * price / 1_000_000
    pending = max(savings["pending"], surfacing["pending"])
    return Answer(
        data={
            "since": instant,
            "savings": savings,
            "surfacing": surfacing,
            "price_per_million_tokens": price,
            "saved_dollars": round(dollars, 4),
            "pending": pending,
        },
        text=_page(savings, surfacing, dollars, price),
        talk=f"{pending} events are recorded and not counted yet." if pending else "",
    )


def instant_of(since: str, now: datetime) -> str:
    """`7d` before `now` as ISO-8601; a date or time as it is; empty for all.

    Raises:
        Failure: neither.
    """
    found = re.fullmatch(r"(\d{1,6})([mhdw])", since)
    if found:
        return (now - timedelta(**{UNITS[found[2]]: int(found[1])})).isoformat()
    if since:
        try:
            datetime.fromisoformat(since)
        except ValueError:
            raise Failure("usage", f"--since {since!r}: give 30m, 24h, 7d, 2w, or a date like 2026-11-30", 2) from None
    return since


def _page(savings: Mapping[str, Any], surfacing: Mapping[str, Any], dollars: float, price: float) -> str:
    overview = [
        ("calls", f"{savings['calls']:,} ({savings['live']:,} live, {savings['cached']:,} cached, "
                  f"{savings['failed']:,} failed)"),
        ("tokens", f"{savings['original_tokens']:,} → {savings['delivered_tokens']:,}"),
        ("saved", f"{savings['saved_tokens']:,} tokens ({_percent(savings['saved_ratio'])}), "
                  f"${dollars:,.2f} at ${price:g} per million"),
        ("latency", _latency(savings["latency_ms"])),
        ("our share", _latency(savings["own_ms"])),
        ("surfaced", f"{surfacing['memories_shown']:,} memories in {surfacing['events_total']:,} responses"),
        ("rated", f"{surfacing['total_feedback']:,} times, helpful {_percent(surfacing['helpful_ratio'])}"),
    ]  # fmt: skip
    groups = [
        (
            group["key"],
            f"{group['calls']:,}",
            f"{group['cached']:,}",
            f"{group['original_tokens']:,}",
            f"{group['delivered_tokens']:,}",
            _percent(group["saved_ratio"]),
        )
        for group in savings["groups"]
    ]
    parts = [table(("WHAT", "VALUE"), overview)]
    if groups:
        headings = (str(savings["by"]).upper(), "CALLS", "CACHED", "TOKENS", "DELIVERED", "SAVED")
        parts.append(table(headings, groups))
    skipped = sorted(surfacing["opportunities"]["by_decision"].items(), key=lambda item: -item[1])
    if skipped:
        parts.append(table(("SURFACING DECISION", "CALLS"), skipped))
    return "\n\n".join(parts)


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.0%}"


def _latency(milliseconds: Mapping[str, float] | None) -> str:
    if milliseconds is None:
        return "-"
    return ", ".join(f"{name} {value:,.1f} ms" for name, value in milliseconds.items())
