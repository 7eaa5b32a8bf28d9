"""Sessions, result cache: with a clock in hand."""

from __future__ import annotations

from actors.surfacer.cache import ResultCache
from actors.surfacer.gates import Sessions
from actors.surfacer.ltm_reply import Found


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_cooldown_compares_token_sets_within_the_session() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    words = frozenset("abcdefghijklmnopqrstuvwxyz")
    sessions.remember("a", words)
    assert sessions.is_repeated("a", words, 5)
    assert sessions.is_repeated("a", words - {"z"}, 5)  # 25/26 > 0.95
    assert not sessions.is_repeated("a", words - {"y", "z"}, 5)
    assert not sessions.is_repeated("b", words, 5)
    clock.now += 5
    assert not sessions.is_repeated("a", words, 5)


def test_a_cooldown_of_nothing_is_off() -> None:
    sessions = Sessions(Clock())
    sessions.remember("a", frozenset("x"))
    assert not sessions.is_repeated("a", frozenset("x"), 0)


def test_the_rate_limit_is_a_sliding_minute_per_session() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    for _ in range(3):
        assert not sessions.is_limited("a", 3)
        sessions.spend("a")
        clock.now += 10
    assert sessions.is_limited("a", 3)
    assert not sessions.is_limited("b", 3)
    clock.now += 30
    assert not sessions.is_limited("a", 3)


def test_sessions_are_bounded() -> None:
    sessions = Sessions(Clock())
    sessions.spend("first")
    for number in range(5000):
        sessions.spend(str(number))
    assert not sessions.is_limited("first", 1)
    assert sessions.is_limited("4999", 1)


def test_results_expire_and_are_invalidated_by_memory() -> None:
    clock = Clock()
    cache = ResultCache(clock)
    cache.put(("q", ""), Found(()), 60)
    cache.put(("off", ""), Found(()), 0)
    cache.invalidate(["m1"])
    cache.put(("later", ""), Found(()), 60)
    first, later = cache.get(("q", "")), cache.get(("later", ""))
    assert first is not None and first.invalidated == {"m1"}
    assert later is not None and later.invalidated == set()
    assert cache.get(("off", "")) is None
    assert cache.get(("q", "other")) is None
    clock.now += 60
    assert cache.get(("q", "")) is None
