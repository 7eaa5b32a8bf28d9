"""Numbers far from all others."""

from __future__ import annotations

import pytest

from actors.compressor.far import far, largest

USUAL = [float(at % 7) for at in range(100)]


def test_what_is_far_stands_out_on_either_side_or_above_only() -> None:
    numbers = [*USUAL, 900.0, *USUAL, -900.0]
    assert far(numbers) == [100, 201]
    assert far(numbers, above=True) == [100]


@pytest.mark.parametrize("numbers", [[], [1.0], [2.0] * 50, USUAL, [1e308, -1e308] * 20])
def test_nothing_else_does(numbers: list[float]) -> None:
    assert far(numbers) == []


def test_the_largest_of_a_few() -> None:
    assert largest([3, 11, 184_203, 0, 27]) == [2]
    assert largest([0.78, 0.159, 5412.7, 0.3]) == [2]
    assert largest([3, 11, 27]) == largest([3, 11, 60, 20]) == largest([0, 0, 0, 1]) == []
