"""Long lists of measured values, plain or as pairs of time and value: which ones stand out."""

from __future__ import annotations

from collections.abc import Sequence

from actors.compressor.jsontext import Node

_FAR = 6.0
"""Standard deviations from the mean beyond which a value stands out."""
_FEWEST, _MOST = 12, 3
_LONGEST = 40
"""Bytes of one value, as a number, a number in a string, or a pair."""


def far(items: Sequence[Node]) -> list[int]:
    """Positions of the values that are far from all others, in order; none where not all are numbers."""
    if len(items) < _FEWEST or any(len(item.raw) > _LONGEST for item in items):
        return []
    values = [_value(item.raw) for item in items]
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values):
        return []
    mean = sum(numbers) / len(numbers)
    deviation = (sum([(number - mean) * (number - mean) for number in numbers]) / len(numbers)) ** 0.5
    found = [at for at, number in enumerate(numbers) if abs(number - mean) > _FAR * deviation > 0]
    return sorted(sorted(found, key=lambda at: -abs(numbers[at] - mean))[:_MOST])


def _value(raw: bytes) -> float | None:
    """The number that a value is, or the last one of a pair."""
    last = raw[1:-1].rpartition(b",")[2] if raw[:1] == b"[" else raw
    try:
        return float(last.strip(b'"'))
    except ValueError:
        return None
