"""Words of trouble in texts that are no logs: they count where they are rare."""

from __future__ import annotations

import re

from actors.compressor.excerpt import FILLER, MUST, NOISE
from actors.compressor.ranks import alarms
from actors.compressor.statements import shapes_of
from actors.compressor.units import Units

_FEW, _MOST = 12, 0.03
_DIAGNOSIS = re.compile(
    r"^\S{1,200}:\d+(?::\d+)?:|^\s*\d+:\d+\s+error|: (?:fatal )?error\b|^\s*(?:error|fatal|panic|FAILED|ERROR|FATAL|E|not ok)\b|^\S*Error: "
)


def trouble(units: Units) -> dict[int, int]:
    """Units with a word of trouble; where so many have one that it is what the text is about, only lines that have the
    form of a diagnosis count in full."""
    found = {index: rank for index, rank in alarms(units, shapes_of(units)).items() if rank > NOISE}
    if len(found) <= max(_FEW, _MOST * len(units)):
        return found
    return {
        index: rank if rank == MUST and _DIAGNOSIS.search(units.contents[index][:300]) else min(rank, FILLER + 1)
        for index, rank in found.items()
    }
