"""Words of trouble in texts that are no logs: they count where they are rare."""

from __future__ import annotations

import re

from actors.compressor.excerpt import FILLER, MUST, NOISE
from actors.compressor.ranks import alarms, holding
from actors.compressor.statements import shapes_of
from actors.compressor.units import Units

_FEW, _MOST = 12, 0.03
_DIAGNOSIS = re.compile(
    r"^\S{1,200}:\d+(?::\d+)?:|^\s*\d+:\d+\s+error|: (?:fatal )?error\b|^\S*Error: "
    r"|^\s*(?:error|fatal|panic|FAILED|ERROR|FATAL|E|not ok)\b"
)
_MOST_HELD = 16
"""Severe lines, up to which each is shown with what it belongs to: so many levels up, in so many lines above it."""
_FARTHEST, _LEVELS = 60, 3
_WORDS = ("traceback (most", "error: ", "exception: ", "panic: ", "fatal: ", "build failed")
_OUTRIGHT = re.compile(
    r"Traceback \(most recent|(?:[A-Za-z_][\w.]{0,80})?(?:Error|Exception): \S|(?:panic|fatal|error): \S|BUILD FAILED"
)


def trouble(units: Units) -> dict[int, int]:
    """Units with a word of trouble; less of it where so many have one that it is what the text is about: mentions, and
    of severe ones those that do not have the form of a diagnosis."""
    found = {index: rank for index, rank in alarms(units, shapes_of(units)).items() if rank > NOISE}
    usual = max(_FEW, _MOST * len(units))
    many = len(found) > usual
    severe = sum(1 for rank in found.values() if rank == MUST) > usual
    return {
        index: min(rank, FILLER + 1)
        if (severe and not _DIAGNOSIS.search(units.contents[index][:300]) if rank == MUST else many)
        else rank
        for index, rank in found.items()
    }


def holders(units: Units, found: dict[int, int]) -> set[int]:
    """The lines that severe ones belong to by their indentation, some levels up: what failed, in which part of what;
    none where too much did.

    Args:
        found: units with a word of trouble, and their ranks.
    """
    severe = [index for index, rank in found.items() if rank == MUST]
    above: set[int] = set()
    for index in severe if len(severe) <= _MOST_HELD else ():
        depth, levels = _depth(units.contents[index]), 0
        for at in range(index - 1, max(-1, index - 1 - _FARTHEST), -1):
            if not depth or levels == _LEVELS:
                break
            if _depth(units.contents[at]) < depth:
                depth = _depth(units.contents[at])
                levels += 1
                above.add(at)
    return above


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def outright(units: Units) -> list[int]:
    """Units that begin with the words of a failure, which no source code or document does but to report one."""
    found = [index for index in holding(units, _WORDS) if _OUTRIGHT.match(units.contents[index])]
    return found if len(found) <= _FEW else []
