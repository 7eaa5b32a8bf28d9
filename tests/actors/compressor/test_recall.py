"""The store on real files: what survives, what is bounded, what never reaches the disk."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from actors.compressor.compress import Original
from actors.compressor.note import Ticket
from actors.compressor.recall import KEY_LETTERS, Recall
from bus.errors import NewerState, StateError
from tests.actors.compressor import texts


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def put(store: Recall, text: str, chunk: int = 0, ttl: int = 1800) -> Ticket:
    ticket = store.ticket(text, ttl)
    store.put([Original(text, ticket, chunk)], "srv", "tool", "trace")
    return ticket


@pytest.mark.parametrize("text", ["", "short", "surrogate \ud800 kept", "한국어\x00", texts.log(2000)])
def test_originals_come_back_exactly_even_after_a_restart(tmp_path: Path, text: str) -> None:
    store = Recall(tmp_path)
    key = put(store, text, chunk=7).key
    store.close()
    again = Recall(tmp_path)
    entry = again.get(key)
    assert entry is not None
    assert entry.text == text
    assert (entry.server, entry.tool, entry.trace_id, entry.chunk, entry.ttl) == ("srv", "tool", "trace", 7, 1800)
    assert again.ticket(text, 1800).key == key
    again.close()


def test_keys_depend_on_content_and_installation(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = Recall(tmp_path / "a"), Recall(tmp_path / "b")
    keys = {first.ticket("x", 1).key, first.ticket("y", 1).key, second.ticket("x", 1).key}
    assert len(keys) == 3
    assert all(len(key) == KEY_LETTERS for key in keys)
    first.close()
    second.close()


def test_files_are_private(tmp_path: Path) -> None:
    store = Recall(tmp_path)
    put(store, texts.log(100))
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    store.close()


def test_time_to_live_slides_with_each_read(tmp_path: Path, clock: Clock) -> None:
    store = Recall(tmp_path, clock)
    key = put(store, "text", ttl=100).key
    clock.now += 90
    assert store.get(key) is not None
    clock.now += 90
    assert store.get(key) is not None
    clock.now += 101
    assert store.get(key) is None
    put(store, "other")
    assert store.held().entries == 1  # what has expired goes with the next write
    store.close()


def test_an_unknown_key_is_none(tmp_path: Path) -> None:
    store = Recall(tmp_path)
    assert store.get("nothing") is None
    assert store.get("") is None
    store.close()


def test_the_same_text_is_one_entry(tmp_path: Path) -> None:
    store = Recall(tmp_path)
    assert put(store, "text") == put(store, "text")
    assert store.held().entries == 1
    store.close()


def test_bounds_evict_what_would_expire_first_and_never_what_was_just_shown(tmp_path: Path, clock: Clock) -> None:
    store = Recall(tmp_path, clock, max_entries=3)
    keys = []
    for number in range(5):
        clock.now += 1
        keys.append(put(store, f"text {number}").key)
    assert [store.get(key) is not None for key in keys] == [False, False, True, True, True]
    batch = [Original(f"many {number}", store.ticket(f"many {number}", 1800)) for number in range(6)]
    store.put(batch, "srv", "tool", "")
    assert all(store.get(original.ticket.key) is not None for original in batch)
    store.close()
    (tmp_path / "small").mkdir()
    small = Recall(tmp_path / "small", clock, max_bytes=3_000)
    first = put(small, "a" * 2_000).key
    clock.now += 1
    second = put(small, "b" * 2_000).key
    assert small.get(first) is None
    assert small.get(second) is not None
    assert small.held().bytes == 2_000
    small.close()


def test_credentials_stay_in_memory(tmp_path: Path, clock: Clock) -> None:
    store = Recall(tmp_path, clock)
    text = texts.log(100) + 'config "password": "hunter2-and-more"'
    ticket = put(store, text)
    assert ticket.memory_only
    entry = store.get(ticket.key)
    assert entry is not None
    assert entry.text == text
    assert store.held().in_memory == 1
    assert store.held().entries == 0
    assert not any(b"hunter2" in path.read_bytes() for path in tmp_path.iterdir())
    clock.now += 1801
    assert store.get(ticket.key) is None
    store.close()
    assert Recall(tmp_path).get(ticket.key) is None


def test_a_corrupt_file_is_set_aside_and_rebuilt(tmp_path: Path) -> None:
    (tmp_path / "recall.db").write_bytes(b"this is no database" * 500)
    store = Recall(tmp_path)
    assert Path(store.set_aside).name.startswith("recall.db.damaged-")
    assert Path(store.set_aside).read_bytes().startswith(b"this is no database")
    assert store.get(put(store, "text").key) is not None
    store.close()


def test_damage_met_while_running_is_set_aside_too(tmp_path: Path) -> None:
    store = Recall(tmp_path)
    keys = [put(store, f"{number} " + texts.log(60, seed=number)).key for number in range(30)]
    store.close()
    path = tmp_path / "recall.db"
    store = Recall(tmp_path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)
    store._db.execute("PRAGMA shrink_memory")
    assert all(store.get(key) is None for key in keys)
    assert store.set_aside
    assert store.get(put(store, "text").key) is not None
    store.close()


def test_a_newer_file_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "recall.db") as db:
        db.execute("PRAGMA user_version = 99")
    before = (tmp_path / "recall.db").read_bytes()
    with pytest.raises(NewerState, match="schema version 99"):
        Recall(tmp_path)
    assert (tmp_path / "recall.db").read_bytes() == before


def test_a_full_disk_is_a_typed_error_and_stores_nothing(tmp_path: Path) -> None:
    store = Recall(tmp_path)
    kept = put(store, "kept").key
    store._db.execute("PRAGMA max_page_count = 12")
    text = "".join(f"{number * 7919 % 10007}" for number in range(60_000))
    with pytest.raises(StateError, match=r"recall\.db cannot be used: .*full; check the disk"):
        put(store, text)
    assert store.get(store.ticket(text, 1).key) is None
    assert store.get(kept) is not None
    store.close()


def test_a_directory_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="check the disk and permissions"):
        Recall(tmp_path / "missing")
