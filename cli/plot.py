"""Savings as a picture: bars in the terminal, or a PNG or SVG file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.output import Failure, printable, table
from config.edit import replace_file

SUFFIXES = (".png", ".svg")
MIN_BAR = 10
MAX_BAR = 60

Row = Mapping[str, Any]


def bars(groups: Sequence[Row], heading: str, columns: int) -> str:
    """One line per group: what was delivered (█) of what the upstreams sent (█ and ░), in estimated tokens.

    Args:
        groups: as in the report `savings`. columns: of the terminal.
    """
    shown = _in_order(groups, heading)
    most = max((max(row["original_tokens"], row["delivered_tokens"]) for row in shown), default=0) or 1
    room = columns - max((len(row["key"]) for row in shown), default=0) - 36
    width = min(MAX_BAR, max(MIN_BAR, room))
    rows = [
        (row["key"], _bar(row, most, width), f"{row['delivered_tokens']:,}", f"{row['original_tokens']:,}")
        for row in shown
    ]
    return table((heading, "█ DELIVERED  ░ SAVED", "DELIVERED", "OF TOKENS"), rows)


def picture(groups: Sequence[Row], heading: str, target: Path) -> None:
    """Draws the same as a PNG or SVG file, by its ending; the file appears whole or not at all.

    Raises:
        Failure: another ending, matplotlib is not installed, or the file cannot be written.
    """
    kind = check(target)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Failure(
            "extra_missing",
            f"matplotlib draws {target.name} and is not installed; pip install 'memtomem-bus[plot]', "
            "or --plot without a file for the terminal",
        ) from None
    shown = _in_order(groups, heading)
    places = range(len(shown))
    delivered = [row["delivered_tokens"] for row in shown]
    saved = [max(0, row["saved_tokens"]) for row in shown]
    figure = Figure(figsize=(9, max(2.5, 0.4 * len(shown) + 1.2)), layout="constrained")
    axes = figure.subplots()
    axes.barh(places, delivered, label="delivered", color="#2b6cb0")
    axes.barh(places, saved, left=delivered, label="saved", color="#cbd5e0")
    # A name is a name: `$` in it begins no formula.
    axes.set_yticks(places, labels=[printable(row["key"]) for row in shown], parse_math=False)
    axes.invert_yaxis()
    axes.set_xlabel("estimated tokens")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.legend(loc="best")
    axes.set_title(f"Tokens by {heading.lower()}")
    drawn = io.BytesIO()
    figure.savefig(drawn, format=kind)
    target = target.resolve()  # of a link, what it leads to is replaced
    try:
        if target.exists() and not target.is_file():
            raise Failure("os_error", f"{target} is no regular file; give another name")
        replace_file(target, drawn.getvalue())
    except OSError as error:
        raise Failure("os_error", f"{target} cannot be written: {error.strerror}") from None


def check(target: Path) -> str:
    """`png` or `svg`. Raises Failure for another ending."""
    if target.suffix.lower() not in SUFFIXES:
        raise Failure("usage", f"--plot {target}: give a file that ends in .png or .svg", 2)
    return target.suffix.lower()[1:]


def _in_order(groups: Sequence[Row], heading: str) -> Sequence[Row]:
    """Days from left to right as time goes; all else with the most saved first."""
    return list(reversed(groups)) if heading.startswith("DAY") else groups


def _bar(row: Row, most: int, width: int) -> str:
    delivered = round(width * int(row["delivered_tokens"]) / most)
    whole = max(delivered, round(width * int(row["original_tokens"]) / most))
    return "█" * delivered + "░" * (whole - delivered)
