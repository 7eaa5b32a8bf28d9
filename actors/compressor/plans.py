"""Plans of queries as PostgreSQL explains them: the steps that take the time, and where it was mistaken about rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from heapq import nlargest

from actors.compressor.units import Units

_STEP = re.compile(r"\(cost=\d+(?:\.\d+)?\.\.(\d+(?:\.\d+)?) rows=(\d+) width=\d+\)")
_TAKEN = re.compile(r"\(actual time=\d+(?:\.\d+)?\.\.(\d+(?:\.\d+)?) rows=(\d+)(?:\.\d+)? loops=(\d+)\)")
_TOTAL = re.compile(
    r"\s*(?:Planning|Execution|Total|Trigger)\b.{0,40}[Tt]ime\b|\s*(?:Sort Method: external|.*\bDisk: )"
)
_FEWEST, _COSTLY, _MISTAKEN, _REMOVED = 8, 10, 4, 3
_FAR_OFF = 100.0
"""How many times more or fewer rows than expected are a mistake."""
_FILTERED = re.compile(r"\s*Rows Removed by [\w ]{1,40}: (\d+)")


@dataclass(frozen=True)
class _Step:
    """One step: milliseconds over all loops, or the estimated cost; and how many times off its number of rows is."""

    unit: int
    taken: float
    off: float


def plans(units: Units) -> list[int]:
    """The most costly steps, those with far more or fewer rows than expected, the filters that throw most away, and
    what the whole took; none where the text is no plan."""
    if "(cost=" not in units.text:
        return []
    steps = [step for at, line in enumerate(units.contents) if "(cost=" in line and (step := _step(at, line))]
    if len(steps) < _FEWEST:
        return []
    found = {step.unit for step in nlargest(_COSTLY, steps, key=lambda step: step.taken)}
    found |= {step.unit for step in nlargest(_MISTAKEN, steps, key=lambda step: step.off) if step.off >= _FAR_OFF}
    removed = {at: int(match[1]) for at, line in enumerate(units.contents) if (match := _FILTERED.match(line))}
    found |= {*nlargest(_REMOVED, removed, key=lambda at: removed[at])}
    found |= {at for at, line in enumerate(units.contents) if _TOTAL.match(line)}
    return sorted(found)


def _step(unit: int, line: str) -> _Step | None:
    planned = _STEP.search(line)
    if planned is None:
        return None
    taken = _TAKEN.search(line, planned.end())
    if taken is None:
        return _Step(unit, float(planned[1]), 1.0)
    expected, seen = max(1, int(planned[2])), max(1, int(taken[2]))
    return _Step(unit, float(taken[1]) * int(taken[3]), max(expected / seen, seen / expected))
