"""Long tables are read in blocks, so that they are never there as cells as a whole: what stands out in each, and counts
over all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from actors.compressor.grid import odd, read
from actors.compressor.relevance import fold, terms
from actors.compressor.thin import Thin

LONGEST = 4_000_000
_BLOCK, _LEAST_ROWS = 200_000, 200
"""Code points of a block, and the rows that it has at least."""
_FIRST, _LAST, _SPREAD = 400, 20, 1_500
"""Rows that are kept whatever they hold."""
_MOST_ASKED = 400


@dataclass(frozen=True)
class Survey:
    """The rows of a long table that are worth a look, with the header.

    Attributes:
        counts: of each column with few values how often each stands in the whole table.
    """

    rows: Thin
    counts: dict[int, Counter[str]]


def survey(text: str, query: str, most: int) -> Survey | None:
    """What of a long table is worth a look; `None` where the text is none.

    Args:
        most: values of a column that are few.
    """
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    # Even blocks: a few rows at the end would be no table of their own.
    blocks = max(1, min(len(text) // _BLOCK, total // _LEAST_ROWS))
    edges = [total * at // blocks for at in range(1, blocks + 1)]
    first = read(lines[: edges[0]])
    if first is None:
        return None
    head = lines[: first.lines[0]]
    few = {at: Counter(values) for at, values in enumerate(first.columns) if len({*values}) <= most}
    wanted = {first.lines[at] for at in odd(first)}
    for start, stop in pairwise(edges):
        grid = read([*head, *lines[start:stop]])
        if grid is None:
            return None
        wanted.update(start + grid.lines[at] - len(head) for at in odd(grid))
        for at, counts in [*few.items()]:
            counts.update(grid.columns[at])
            if len(counts) > most:
                del few[at]
    wanted.update(range(min(_FIRST, total)), range(max(0, total - _LAST), total), range(0, total, 1 + total // _SPREAD))
    wanted.update(_asked(lines, query))
    kept = sorted(wanted)
    return Survey(Thin("\n".join([lines[at] for at in kept]), [at + 1 for at in kept], total), few)


def _asked(lines: list[str], query: str) -> list[int]:
    """Lines with one of the words of a query, those with the rarer ones first."""
    found: list[int] = []
    if query:
        folded = [*map(fold, lines)]
        hits = [[at for at, line in enumerate(folded) if word in line] for word in terms(query)]
        for each in sorted(hits, key=len):
            found += each[: max(0, _MOST_ASKED - len(found))]
    return found
