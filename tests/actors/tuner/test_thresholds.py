from __future__ import annotations

import pytest

from actors.tuner.thresholds import Tally, step
from config.schema_surfacing import SurfacingSettings

SETTINGS = SurfacingSettings()


@pytest.mark.parametrize(
    ("helpful", "negative", "total", "expected"),
    [
        (0, 13, 20, 0.37),  # 65 % negative
        (0, 12, 20, None),  # 60 % is not more than 60 %
        (17, 0, 20, 0.33),  # 85 % helpful
        (16, 0, 20, None),  # 80 % is not more than 80 %
        (0, 20, 20, 0.37),
        (20, 0, 20, 0.33),
        (0, 0, 20, None),  # all partially helpful: neutral, but they count
        (12, 7, 20, None),
        (17, 3, 20, 0.33),
    ],
)
def test_shares_decide(helpful: int, negative: int, total: int, expected: float | None) -> None:
    taken = step("fs__read", 0.35, Tally(helpful, negative, total), SETTINGS, over="fs__read")
    assert (taken.new if taken else None) == expected


@pytest.mark.parametrize(
    ("current", "negative", "expected"),
    [
        (0.89, True, 0.90),
        (0.90, True, None),
        (0.95, True, None),
        (0.11, False, 0.10),
        (0.10, False, None),
        (0.05, False, None),
        (0.05, True, 0.07),
        (0.95, False, 0.93),
    ],
)
def test_thresholds_stay_between_floor_and_ceiling(current: float, negative: bool, expected: float | None) -> None:
    tally = Tally(0, 20, 20) if negative else Tally(20, 0, 20)
    taken = step("fs__read", current, tally, SETTINGS, over="fs__read")
    assert (taken.new if taken else None) == expected


def test_a_step_says_why() -> None:
    taken = step("fs__read", 0.35, Tally(3, 15, 20), SETTINGS, over="all tools")
    assert taken is not None
    assert (taken.tool, taken.old, taken.new) == ("fs__read", 0.35, 0.37)
    assert taken.reason == "15 of 20 ratings of all tools negative (75%)"
