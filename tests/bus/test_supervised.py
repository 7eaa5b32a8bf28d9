"""When a process may start again."""

from __future__ import annotations

from bus.launch import ChildSpec
from bus.supervised import Supervised, Timing


def supervised(**timing: float) -> Supervised:
    return Supervised(ChildSpec("child", ("true",)), Timing(**timing))  # type: ignore[arg-type]


def test_the_pause_doubles_up_to_its_limit() -> None:
    child = supervised(budget=100)
    pauses = [child.next_pause(0, now) for now in range(9)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]


def test_a_time_of_health_shortens_the_pause_again() -> None:
    child = supervised(budget=100)
    assert [child.next_pause(0, 0), child.next_pause(0, 1)] == [0.1, 0.2]
    assert child.next_pause(29.9, 40) == 0.4
    assert [child.next_pause(30, 80), child.next_pause(0, 81)] == [0.1, 0.2]


def test_the_budget_counts_over_a_moving_window() -> None:
    child = supervised()
    assert None not in [child.next_pause(0, now) for now in (0, 10, 20, 30, 40)]
    assert child.next_pause(0, 59.9) is None
    assert child.next_pause(0, 60) is not None  # the first one has left the window
    assert child.next_pause(0, 60) is None


def test_forgiven_it_starts_anew() -> None:
    child = supervised(budget=1)
    assert [child.next_pause(0, 0), child.next_pause(0, 1)] == [0.1, None]
    child.forgive()
    assert child.next_pause(0, 2) == 0.1
