"""Words of trouble in texts that are no logs: they count where they are rare."""

from __future__ import annotations

from actors.compressor.excerpt import FILLER, MUST, NOISE
from actors.compressor.ranks import alarms
from actors.compressor.statements import shapes_of
from actors.compressor.units import Units

_FEW, _MOST = 12, 0.03


def trouble(units: Units) -> dict[int, int]:
    """Units with a word of trouble; mentions count less where so many have one that it is what the text is about."""
    found = alarms(units, shapes_of(units))
    usual = len(found) > max(_FEW, _MOST * len(units))
    return {
        index: min(rank, FILLER + 1) if usual and rank < MUST else rank for index, rank in found.items() if rank > NOISE
    }
