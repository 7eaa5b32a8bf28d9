"""The circuit breaker, with a clock in hand."""

from __future__ import annotations

from bus.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_breaker_closed_open_half_open() -> None:
    clock = Clock()
    breaker = Breaker(3, 60, clock)
    assert [breaker.failed(probe=False) for _ in range(2)] == [False, False]
    breaker.succeeded()
    assert [breaker.failed(probe=False) for _ in range(3)] == [False, False, True]
    assert (breaker.state, breaker.refuses) == ("open", True)
    clock.now += 60
    assert (breaker.state, breaker.refuses) == ("half_open", False)


def test_one_probe_decides() -> None:
    clock = Clock()
    breaker = Breaker(1, 60, clock)
    breaker.failed(probe=False)
    clock.now += 60
    assert breaker.begin()
    assert breaker.refuses
    assert not breaker.failed(probe=True)  # it was open before: nothing new to report
    assert breaker.state == "open"
    clock.now += 60
    assert breaker.begin()
    breaker.abandoned(probe=True)
    assert (breaker.state, breaker.refuses) == ("half_open", False)
    breaker.begin()
    breaker.succeeded()
    assert (breaker.state, breaker.refuses) == ("closed", False)


def test_zero_failures_never_open_it() -> None:
    breaker = Breaker(0, 60, Clock())
    assert [breaker.failed(probe=False) for _ in range(10)] == [False] * 10
    assert (breaker.state, breaker.refuses, breaker.failures) == ("closed", False, 10)


def test_calls_that_had_begun_before_do_not_make_the_rest_longer() -> None:
    clock = Clock()
    breaker = Breaker(2, 60, clock)
    breaker.failed(probe=False)
    assert breaker.failed(probe=False)
    clock.now += 40
    assert not breaker.failed(probe=False)
    assert (breaker.state, breaker.wait) == ("open", 20)
    clock.now += 20
    assert not breaker.failed(probe=False)
    assert (breaker.state, breaker.refuses) == ("half_open", False)
    breaker.succeeded()  # an answer, however late, is a sign of life
    assert (breaker.state, breaker.failures, breaker.wait) == ("closed", 0, 0)


def test_only_the_probe_goes_through_when_half_open() -> None:
    clock = Clock()
    breaker = Breaker(1, 60, clock)
    assert not breaker.begin()
    breaker.failed(probe=False)
    clock.now += 60
    assert breaker.begin()
    assert breaker.refuses
    breaker.abandoned(probe=False)  # of a call that had begun before
    assert breaker.refuses
    breaker.failed(probe=True)
    assert breaker.wait == 60
