"""Chooses which units of a text are delivered, and renders them with the gaps marked.

The order in which units are taken does not depend on the budget, and the longest run of that order that fits is
delivered: so a larger budget never delivers fewer units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import compress

from actors.compressor.budget import Budget
from actors.compressor.units import Units
from config.tokens import cost

ASKED, MUST, SALIENT, USEFUL, FILLER, NOISE = 12, 9, 7, 5, 2, 0
_LINE_END = cost("\n")
_FENCES = ("```", "~~~")
_PIECES = 1.5
_TABLED = 10
"""Bits of which all numbers are kept in the order of halves."""


class Gaps(Enum):
    """How a gap is marked: `[lines 41-980]` on its own line, ` …+17` behind the line before it, or not at all."""

    BLOCK = "block"
    INLINE = "inline"
    SILENT = "silent"


@dataclass(frozen=True)
class Excerpt:
    """What is delivered of a text: `kept` of `total` lines.

    Attributes:
        pieces: the text consists of lines so long that they are kept in pieces, so lines say little.
    """

    text: str
    kept: int
    total: int
    complete: bool
    pieces: bool = False


def choose(
    units: Units, ranks: Sequence[int], budget: Budget, soft: Budget, gaps: Gaps, least: int = NOISE + 1
) -> Excerpt:
    """The best units that fit.

    Args:
        ranks: how much each unit matters; from `SALIENT` up they may use the whole budget, below it only `soft`.
        least: units below this rank are never taken.
    """
    gap_chars, gap_tokens = gap_cost(units, gaps)
    chosen = bytearray(len(units) + 2)  # shifted by one, so that neighbours of the ends need no test
    apart = _apart(units)
    chars, tokens = float(gap_chars), gap_tokens
    for index in _order(ranks, least):
        limit = budget if ranks[index] >= SALIENT else soft
        text = units.delivered(index)
        new_gaps = 1 - chosen[index] - chosen[index + 2]
        if apart:
            new_gaps += (chosen[index] and index in apart) + (chosen[index + 2] and index + 1 in apart)
        blanks = _blanks(units, index, chosen) if new_gaps < 1 else 0
        next_chars = chars + len(text) + 1 + blanks + gap_chars * new_gaps
        next_tokens = tokens + cost(text) + _LINE_END * (1 + blanks) + gap_tokens * new_gaps
        if next_chars > limit.chars or next_tokens > limit.tokens:
            break
        chosen[index + 1] = 1
        chars, tokens = next_chars, next_tokens
    _close(units, chosen, apart, gap_chars, gap_tokens)
    return _render(units, [*compress(range(len(units)), chosen[1:-1])], gaps)


def _apart(units: Units) -> set[int]:
    """Units before which something of the source is missing, so that they need a mark beside their neighbour too."""
    return {index for index in range(1, len(units)) if not units.follows(index)} if units.thinned else set()


def _close(units: Units, chosen: bytearray, apart: set[int], gap_chars: int, gap_tokens: float) -> None:
    """Keeps a unit left out between two kept ones where it costs no more than the mark that would stand for it."""
    at = chosen.find(b"\1\0\1")
    while at >= 0:
        text = units.contents[at]
        if len(text) < gap_chars and at not in units.overrides and at not in apart and at + 1 not in apart:
            blanks = _blanks(units, at, chosen)
            if len(text) + blanks < gap_chars and cost(text) + _LINE_END * (1 + blanks) <= gap_tokens:
                chosen[at + 1] = 1
        at = chosen.find(b"\1\0\1", at + 2)


def _blanks(units: Units, index: int, chosen: bytearray) -> int:
    """Code points of the blank lines that come back once both units around them are kept."""
    chars = 0
    for before in (index - 1 if chosen[index] else None, index if chosen[index + 2] else None):
        if before is not None:
            chars += max(0, units.starts[before + 1] - units.ends[before] - 1)
    return chars


def _order(ranks: Sequence[int], least: int) -> Iterator[int]:
    """Best rank first. Units that say something are taken spread over the text, so that a tight budget still shows all
    of it; filler is taken from the top, where it reads on."""
    for rank in sorted({rank for rank in ranks if rank >= least}, reverse=True):
        indices = [*compress(range(len(ranks)), map(rank.__eq__, ranks))]
        yield from spread(indices) if rank > FILLER else indices


def spread(indices: Sequence[int]) -> Iterator[int]:
    """First, last, middle, quarters, …: every prefix of the result covers the whole range evenly."""
    if len(indices) < 4:
        yield from indices
        return
    yield indices[0]
    yield indices[-1]
    last = len(indices) - 1
    for at in _halves(last.bit_length()):
        if 0 < at < last:
            yield indices[at]


def _halves(bits: int) -> Iterator[int]:
    """All numbers of so many bits, in the order of these read backwards: 0, a half, the quarters, …"""
    low = _backwards(min(bits, _TABLED))
    if bits <= _TABLED:
        yield from low
        return
    # The bits that change most often stand in front.
    for rest in _halves(bits - _TABLED):
        yield from map(rest.__add__, map((bits - _TABLED).__rlshift__, low))


@cache
def _backwards(bits: int) -> tuple[int, ...]:
    found = [0]
    for _ in range(bits):
        found = [2 * at for at in found] + [2 * at + 1 for at in found]
    return tuple(found)


def gap_cost(units: Units, gaps: Gaps) -> tuple[int, float]:
    """Code points and tokens of the longest mark of a gap."""
    n = units.total_lines
    mark = {Gaps.BLOCK: f"[lines {n}-{n}]\n", Gaps.INLINE: f" …+{n}", Gaps.SILENT: ""}[gaps]
    return len(mark), cost(mark)


def _render(units: Units, chosen: list[int], gaps: Gaps) -> Excerpt:
    parts: list[str] = []
    before = -1
    for index in chosen:
        if index != before + 1 or (index and not units.follows(index)):
            _mark(parts, units, before, index, gaps)
        parts.append(units.overrides.get(index) or units.full(index))
        before = index
    if before + 1 < len(units):
        _mark(parts, units, before, len(units), gaps)
    if len(chosen) == len(units) and not units.overrides and not units.thinned:
        return Excerpt(units.text, units.total_lines, units.total_lines, complete=True)
    kept = {line for index in chosen for line in range(units.lines[index], units.last_lines[index] + 1)}
    pieces = len(units) > _PIECES * units.total_lines
    return Excerpt("".join(parts).rstrip(), len(kept), units.total_lines, complete=False, pieces=pieces)


def _mark(parts: list[str], units: Units, before: int, after: int, gaps: Gaps) -> None:
    """Writes what is missing between two kept units."""
    inside = before >= 0 and not units.ends_line(before)
    if inside:
        last = before
        while not units.ends_line(last):
            last += 1
        if after <= last:
            parts.append(f" […{units.starts[after] - units.ends[before]} characters] ")
            return
        parts.append(f" […{units.ends[last] - units.ends[before]} characters]\n")
    elif parts:
        parts[-1] = parts[-1].rstrip() + "\n"
    first = units.last_lines[before] + 1 if before >= 0 else 1
    last_line = units.lines[after] - 1 if after < len(units) else units.total_lines
    if last_line >= first and gaps is not Gaps.SILENT:
        if gaps is Gaps.BLOCK:
            parts.append(f"[lines {first}-{last_line}]\n" if last_line > first else f"[line {first}]\n")
        elif parts and not parts[-1].rstrip().endswith(_FENCES):
            parts[-1] = f"{parts[-1].rstrip()} …+{last_line - first + 1}\n"
        else:
            parts.append(f"…+{last_line - first + 1}\n")
    start = after
    while after < len(units) and start > 0 and units.lines[start - 1] == units.lines[after]:
        start -= 1
    if start < after:
        parts.append(f"[…{units.starts[after] - units.starts[start]} characters] ")
