"""Long lists of measured values, plain or as pairs of time and value: which ones stand out."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

from actors.compressor.jsontext import Node, lexemes

_FAR = 6.0
"""Standard deviations from the mean beyond which a value stands out."""
_FEWEST, _MOST = 12, 3
_MOST_READ = 300_000
_OTHERS = (b'"', b"[")
_LONGEST = 40
"""Bytes of one value, as a number, a number in a string, or a pair."""


def far(items: Sequence[Node]) -> list[int]:
    """Positions of the values that are far from all others, in order; none where not all are numbers, or too many."""
    if not _FEWEST <= len(items) <= _MOST_READ:
        return []
    raws = lexemes(items)
    if max(map(len, raws)) > _LONGEST:
        return []
    try:
        numbers = [*map(float, raws)] if raws[0][:1] not in _OTHERS else [_value(raw) for raw in raws]
    except ValueError:
        return []
    mean = sum(numbers) / len(numbers)
    beside = [number - mean for number in numbers]
    far = _FAR * (sum(map(mul, beside, beside)) / len(numbers)) ** 0.5
    if not far or (max(beside) <= far and -min(beside) <= far):
        return []
    found = [at for at, distance in enumerate(beside) if abs(distance) > far]
    return sorted(sorted(found, key=lambda at: -abs(beside[at]))[:_MOST])


def _value(raw: bytes) -> float:
    """The number that a value is, or the last one of a pair.

    Raises:
        ValueError: it is none.
    """
    last = raw[1:-1].rpartition(b",")[2] if raw[:1] == b"[" else raw
    return float(last.strip(b'"'))
