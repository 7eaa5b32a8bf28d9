"""What stands before the lines of a log because somebody else put it there: the service or task they came from, and the
time at which they were read. What the program itself wrote begins behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from actors.compressor.often import often
from actors.compressor.units import Units

_SERVICE = re.compile(r"([\w./-]{1,60}) *\| ?|(@?[a-z][\w./-]{0,60}:[a-z][\w.-]{0,40}): ")
"""What composed services, and tasks that run beside one another, put before each of their lines."""
_STAMP = re.compile(
    r"\ufeff?\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \d\d[OE])?"
    r"(?:[ \t+]|$)"
)
_SAMPLED = 300
_MOSTLY_SERVICE, _MOSTLY_STAMP = 0.8, 0.97
"""Shares of the lines from which on a service or a time stands before them; where some lines have no time, these
belong to the line above, and that must be seen."""


@dataclass(frozen=True)
class Bodies:
    """The lines of a log as the program wrote them, one for each unit, and the service that each came from; empty names
    where lines have none."""

    units: Units
    services: list[str]


def bodies(units: Units) -> Bodies:
    """The lines without what was put before them. The same units where nothing was."""
    lines, stamped = _unstamped(units.contents)
    services, lines = _services(lines)
    if any(services) and not stamped:
        lines, stamped = _unstamped(lines)
    if not stamped and not any(services):
        return Bodies(units, services)
    starts = [0, *accumulate(len(line) + 1 for line in lines)][: len(lines)]
    ends = [start + len(line) for start, line in zip(starts, lines, strict=True)]
    # Positions and line numbers are those of the new text, in which each unit is a line.
    numbers = list(range(1, len(lines) + 1))
    return Bodies(Units("\n".join(lines), starts, ends, lines, numbers, numbers, len(lines)), services)


def unstamped(lines: list[str]) -> list[str]:
    """The lines without the time before nearly all of them; the same ones where they have none."""
    return _unstamped(lines)[0]


def _unstamped(lines: list[str]) -> tuple[list[str], bool]:
    sample = _sample(lines)
    if not sample or not often(sample, _STAMP.match, _MOSTLY_STAMP * len(sample)):
        return lines, False
    return [line[found.end() :] if (found := _STAMP.match(line)) else line for line in lines], True


def _services(lines: list[str]) -> tuple[list[str], list[str]]:
    sample = _sample(lines)
    if not often(sample, _SERVICE.match, max(1, _MOSTLY_SERVICE * len(sample))):
        return [""] * len(lines), lines
    names, rest = [], []
    for line in lines:
        found = _SERVICE.match(line)
        names.append((found[1] or found[2]) if found else "")
        rest.append(line[found.end() :] if found else line)
    return names, rest


def _sample(lines: list[str]) -> list[str]:
    return lines[:: -(-len(lines) // _SAMPLED) or 1]
