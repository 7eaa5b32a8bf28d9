"""What was shown: dedup, retention, bounds, damage."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from actors.surfacer import store as store_module
from actors.surfacer.store import Event, Retention, Store
from bus.errors import NewerState, StateError

DAY = 86_400.0
KEEP = Retention(30, 90)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def event(surfacing_id: str, session: str = "s1", query: str = "rotate tokens") -> Event:
    return Event(surfacing_id, session, "fs", "read_file", "t-1", query)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "surfacing.db"


def open_store(path: Path, clock: Clock | None = None, retention: Retention = KEEP) -> Store:
    return Store(path, retention, clock=clock or Clock())


def test_an_injection_is_found_again_also_after_a_restart(path: Path) -> None:
    store = open_store(path)
    store.record(event("e1"), ["m1", "m2", "m1"])
    store.close()
    store = open_store(path)
    assert store.find("e1") == (event("e1"), ("m1", "m2"))
    assert store.find("other") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_dedup_within_and_across_sessions(path: Path) -> None:
    clock = Clock()
    store = open_store(path, clock)
    store.record(event("e1", "s1"), ["m1"])
    assert store.already_shown(["m1", "m2"], "s1", 0) == {"m1"}
    assert store.already_shown(["m1"], "s2", 0) == set()
    assert store.already_shown(["m1"], "s2", 100) == {"m1"}
    clock.now += 100
    assert store.already_shown(["m1"], "s2", 100) == set()
    assert store.already_shown(["m1"], "s1", 100) == {"m1"}


def test_a_boost_is_claimed_once(path: Path) -> None:
    store = open_store(path)
    store.record(event("e1"), ["m1", "m2"])
    assert store.claim_boost("e1", ["m1", "unknown"]) == ["m1"]
    assert store.claim_boost("e1", ["m1", "m2"]) == ["m2"]
    assert store.claim_boost("e2", ["m1"]) == []


def test_query_texts_are_blanked_and_events_deleted_by_age(path: Path) -> None:
    clock = Clock()
    store = open_store(path, clock)
    store.record(event("e1"), ["m1"])
    clock.now += 31 * DAY
    store.sweep()
    assert store.find("e1") == (event("e1", query=""), ("m1",))
    clock.now += 60 * DAY
    store.sweep()
    assert store.find("e1") is None
    assert store.already_shown(["m1"], "s1", 0) == set()


def test_zero_days_keep_everything(path: Path) -> None:
    clock = Clock()
    store = open_store(path, clock, Retention(0, 0))
    store.record(event("e1"), ["m1"])
    clock.now += 10_000 * DAY
    store.sweep()
    assert store.find("e1") == (event("e1"), ("m1",))


def test_the_number_of_events_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MOST_EVENTS", 3)
    clock = Clock()
    store = open_store(path, clock)
    for number in range(6):
        clock.now += 1
        store.record(event(f"e{number}"), ["m"])
    store.sweep()
    assert [store.find(f"e{number}") is not None for number in range(6)] == [False] * 3 + [True] * 3


def test_a_corrupt_file_is_set_aside_and_reported(path: Path) -> None:
    path.write_bytes(b"garbage " * 1000)
    told: list[str] = []
    store = Store(path, Retention(30, 90), on_set_aside=told.append)
    store.record(event("e1"), ["m1"])
    assert [Path(name).read_bytes() for name in told] == [b"garbage " * 1000]


def test_damage_while_running_costs_the_file_and_nothing_else(path: Path) -> None:
    told: list[str] = []
    store = Store(path, Retention(30, 90), on_set_aside=told.append)
    for number in range(4000):  # more than SQLite keeps in memory
        store.record(event(f"e{number}", query="x" * 1000), ["m1"])
    store.close()
    store = Store(path, Retention(30, 90), on_set_aside=told.append)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    assert None in [store.find(f"e{number}") for number in range(4000)]
    store.record(event("after"), ["m9"])
    assert store.find("after") is not None
    assert len(told) == 1


def test_a_newer_schema_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(NewerState, match="99"):
        open_store(path)
    assert path.read_bytes() == before


def test_a_directory_in_the_way_is_a_clear_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StateError, match=r"surfacing\.db"):
        open_store(path)
