"""The table."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tests.bench.quality.measure import Row

HEAD = (
    "| | tokens kept | largest answer | salient kept | all kept | recoverable | by query | by hint "
    "| found in ≤ 2 calls | most read | CPU |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def line(name: str, rows: Sequence[Row]) -> str:
    """One line: shares over all facts, the mean share of tokens, the largest answer in tokens."""
    share = statistics.mean(row.tokens / row.original for row in rows)
    return (
        f"| {name} | {share:.2f} | {max(row.tokens for row in rows):,} "
        f"| {_share(sum(row.salient for row in rows), sum(row.salients for row in rows))} "
        f"| {_share(sum(row.kept for row in rows), sum(row.facts for row in rows))} "
        f"| {_share(sum(row.recoverable for row in rows), sum(row.facts for row in rows))} "
        f"| {_share(sum(row.asked for row in rows), sum(row.deep for row in rows))} "
        f"| {_share(sum(row.hinted for row in rows), sum(row.deep for row in rows))} "
        f"| {_share(sum(row.found for row in rows), sum(row.sought for row in rows))} "
        f"| {max(row.read for row in rows):.0%} | {statistics.mean(row.ms for row in rows):.0f} ms |"
    )


def table(rows: Sequence[Row], title: str, by_kind: bool = True) -> str:
    """A line for each kind (the number of payloads of one kind is one), and the one over all."""
    lines = [line(row.kind, [row]) for row in rows] if by_kind else []
    return "\n".join([HEAD, *lines, line(f"**{title}**", rows)])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"
