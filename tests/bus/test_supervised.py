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
    for now in (0, 10, 20, 30, 40, 60):  # at 60 the first one has left the window
        child.next_pause(0, now)
        assert not child.is_given_up
    assert child.next_pause(0, 60) == 60
    assert child.is_given_up


def test_what_was_given_up_is_tried_again_now_and_then_until_it_is_healthy() -> None:
    child = supervised(budget=1, revive=7)
    assert [child.next_pause(0, now) for now in (0, 1, 500, 501)] == [0.1, 7, 7, 7]
    assert child.next_pause(29.9, 600) == 7
    assert child.is_given_up
    assert child.next_pause(30, 700) == 0.1
    assert not child.is_given_up


def test_forgiven_it_starts_anew() -> None:
    child = supervised(budget=1)
    assert [child.next_pause(0, 0), child.next_pause(0, 1)] == [0.1, 60]
    child.forgive()
    assert child.next_pause(0, 2) == 0.1
