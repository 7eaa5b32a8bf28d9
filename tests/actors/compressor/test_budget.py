from __future__ import annotations

from actors.compressor.budget import Budget


def test_both_ceilings_hold() -> None:
    budget = Budget(10, 3)
    assert budget.fits("abc abc")
    assert not budget.fits("abc abc abc")  # too many characters
    assert not budget.fits("777777777")  # too many tokens
    assert budget.minus("x" * 50) == Budget(0, 0)
