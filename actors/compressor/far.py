"""Numbers that are far from all others."""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul

_DEVIATIONS = 6.0
"""Standard deviations from the mean beyond which a number stands out."""
_FEWEST, _TIMES, _LARGE = 4, 8.0, 5.0


def largest(numbers: Sequence[float]) -> list[int]:
    """The position of the largest of a few numbers, where it is many times as large as the next one; that one number
    cannot be far from the mean in standard deviations, because it makes these large itself."""
    if len(numbers) < _FEWEST:
        return []
    *_, next_one, most = sorted(numbers)
    return [numbers.index(most)] if most >= _LARGE and most > _TIMES * max(next_one, 0.0) else []


def far(numbers: Sequence[float], *, above: bool = False) -> list[int]:
    """Positions of the numbers that stand out, in order; only of those above the mean with `above`."""
    if not numbers:
        return []
    mean = sum(numbers) / len(numbers)
    beside = [number - mean for number in numbers]
    # A product may be infinite where a power of so large a number is an error.
    limit = _DEVIATIONS * (sum(map(mul, beside, beside)) / len(numbers)) ** 0.5
    if not limit or (max(beside) <= limit and (above or -min(beside) <= limit)):
        return []
    return [at for at, distance in enumerate(beside) if (distance if above else abs(distance)) > limit]
