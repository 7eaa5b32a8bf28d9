"""Long lists of plain values, or of pairs of time and value: which ones stand out."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import mul

import re2

from actors.compressor.jsontext import Node, lexemes

_FAR = 6.0
"""Standard deviations from the mean beyond which a value stands out."""
_FEWEST, _MOST = 12, 3
_MOST_READ = 300_000
_FAILURE = re2.compile(rb"\b(?:ERROR|FATAL|CRITICAL|PANIC|FAILED|Traceback|\w+(?:Error|Exception):)")
_LOUD_SHARE = 0.1
_OTHERS = (b'"', b"[")
_LONGEST = 40
"""Bytes of one value, as a number, a number in a string, or a pair."""


def odd(items: Sequence[Node]) -> list[int]:
    """Positions of the values that stand out, in order: numbers far from the others, or lines that name a failure."""
    return far(items) or loud(items)


def loud(items: Sequence[Node]) -> list[int]:
    """Positions of the texts that name a failure, where few of many do; the first and last ones of them."""
    if not _FEWEST <= len(items) <= _MOST_READ or items[0].raw[:1] != b'"':
        return []
    raws = lexemes(items)
    if _FAILURE.search(b"\n".join(raws)) is None:
        return []
    found = [at for at, raw in enumerate(raws) if _FAILURE.search(raw) is not None]
    if len(found) > _LOUD_SHARE * len(items):
        return []
    return found if len(found) <= 2 * _MOST else [*found[:_MOST], *found[-_MOST:]]


def far(items: Sequence[Node]) -> list[int]:
    """Positions of the values that are far from all others, in order; none where not all are numbers, or too many."""
    if not _FEWEST <= len(items) <= _MOST_READ:
        return []
    raws = lexemes(items)
    if max(map(len, raws)) > _LONGEST:
        return []
    try:
        numbers = array("d", map(float if raws[0][:1] not in _OTHERS else _value, raws))
    except ValueError:
        return []
    mean = sum(numbers) / len(numbers)
    beside = array("d", [number - mean for number in numbers])
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
