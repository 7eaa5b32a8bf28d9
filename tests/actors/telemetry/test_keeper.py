from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from actors.telemetry.journal import Journal
from actors.telemetry.keeper import Keeper
from actors.telemetry.query import run_read_only
from actors.telemetry.stats import report
from actors.telemetry.warehouse import Warehouse
from bus.errors import StateError
from tests.actors.telemetry.events import calls, lines
from tests.actors.telemetry.holder import held_by_another_process


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = Journal(tmp_path / "events")
    found.open()
    yield found
    found.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "analytics.duckdb"


@pytest.fixture
def keeper(journal: Journal, path: Path) -> Keeper:
    return Keeper(journal, Warehouse(path, path.with_name("loading.jsonl")))


def test_loading_tells_what_waits(keeper: Keeper, journal: Journal) -> None:
    keeper.load()
    journal.append(lines(*calls(5)))
    assert keeper.behind
    assert keeper.pending() == 5
    keeper.load()
    assert not keeper.behind
    assert (keeper.loaded, keeper.pending(), keeper.store) == (5, 0, "ready")


def test_while_held_for_reading_answers_are_given_with_what_waits(keeper: Keeper, journal: Journal, path: Path) -> None:
    journal.append(lines(*calls(5)))
    keeper.load()
    journal.append(lines(*calls(3)))
    with held_by_another_process(path, read_only=True):
        keeper.load()
        assert keeper.store == "held"
        assert "in use by process" in keeper.store_error
        assert keeper.pending() == 3
        assert keeper.read(lambda: report(path))["calls"] == 5
    keeper.load()
    assert (keeper.store, keeper.store_error) == ("ready", "")
    assert keeper.read(lambda: report(path))["calls"] == 8


def test_while_held_for_writing_an_answer_says_by_whom(keeper: Keeper, journal: Journal, path: Path) -> None:
    journal.append(lines(*calls(5)))
    keeper.load()
    with (
        held_by_another_process(path, read_only=False),
        pytest.raises(StateError, match=r"in use by process \d+; close it there"),
    ):
        keeper.read(lambda: report(path))


def test_events_of_earlier_runs_are_not_called_pending_before_the_store_was_seen(
    keeper: Keeper, journal: Journal, path: Path
) -> None:
    journal.append(lines(*calls(5)))
    keeper.load()
    journal.close()
    journal.open()
    later = Keeper(journal, Warehouse(path, path.with_name("loading.jsonl")))
    with held_by_another_process(path, read_only=False):
        later.load()
        journal.append(lines(*calls(2)))
        assert (later.store, later.pending()) == ("held", 2)
    later.load()
    assert (later.loaded, later.pending()) == (2, 0)


def test_a_damaged_store_is_set_aside_and_rebuilt(keeper: Keeper, journal: Journal, path: Path) -> None:
    journal.append(lines(*calls(5)))
    keeper.load()
    path.write_bytes(b"no database " * 1000)
    journal.append(lines(*calls(2)))
    keeper.load()
    assert (keeper.store, keeper.loaded) == ("ready", 12)
    assert len(list(path.parent.glob("analytics.duckdb.damaged-*"))) == 1
    assert [fault.what for fault in keeper.faults] == ["store_set_aside"]
    assert "rebuilt from the event log" in keeper.store_error
    assert report(path)["calls"] == 7


def test_a_store_that_is_damaged_again_at_once_is_not_set_aside_again(
    keeper: Keeper, journal: Journal, path: Path
) -> None:
    for _ in range(3):
        journal.append(lines(*calls(2)))
        path.write_bytes(b"no database " * 1000)
        keeper.load()
    assert (keeper.store, keeper.pending()) == ("failed", 4)
    assert "only just now" in keeper.store_error
    assert len(list(path.parent.glob("analytics.duckdb.damaged-*"))) == 1
    with pytest.raises(StateError, match="only just now"):
        keeper.read(lambda: report(path))


def test_a_full_disk_stops_loading_until_there_is_room(keeper: Keeper, journal: Journal, path: Path) -> None:
    journal.append(lines(*calls(5)))
    keeper.load()
    for _ in range(40):
        journal.append(lines(*calls(100)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 100_000, hard))
    try:
        keeper.load()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert keeper.store == "failed"
    assert keeper.store_error.startswith(str(path))
    assert keeper.pending() == 4_000
    keeper.load()
    assert (keeper.store, keeper.loaded, keeper.pending()) == ("ready", 4_005, 0)
    assert keeper.faults == []


def test_damage_that_a_query_meets_is_repaired_before_it_is_answered(
    keeper: Keeper, journal: Journal, path: Path
) -> None:
    journal.append(lines(*calls(500)))
    keeper.load()
    data = bytearray(path.read_bytes())
    # Only table data, so that opening the file finds nothing wrong.
    blocks = range(12_288, len(data), 262_144)
    for block in blocks:
        if b"savings_by_tool" not in data[block : block + 262_144]:
            data[block + 64 : block + 256] = b"\xff" * 192
    path.write_bytes(data)
    rows = keeper.read(
        lambda: run_read_only(path, "SELECT count(DISTINCT event_id), count(DISTINCT ts) > 0 FROM call").rows
    )
    assert rows == b"[[500,true]]"
    assert [fault.what for fault in keeper.faults] == ["store_set_aside"]


def test_a_newer_store_stops_loading_and_is_said_so(keeper: Keeper, journal: Journal, path: Path) -> None:
    journal.append(lines(*calls(5)))
    keeper.load()
    with duckdb.connect(path) as connection:
        connection.execute("UPDATE _meta SET schema_version = 99")
    journal.append(lines(*calls(1)))
    keeper.load()
    assert (keeper.store, keeper.pending()) == ("newer", 1)
    assert "99" in keeper.store_error


def test_nothing_is_deleted_from_the_record_before_a_rebuilt_store_has_it(journal: Journal, path: Path) -> None:
    small = Journal(path.with_name("small"), segment_bytes=1_000, keep_bytes=1)
    small.open()
    keeper = Keeper(small, Warehouse(path, path.with_name("loading.jsonl")))
    for _ in range(6):
        small.append(lines(*calls(1)))
    keeper.load()
    before = small.extents
    path.unlink()
    path.mkdir()  # neither readable nor replaceable by a file
    keeper.load()
    keeper.read(lambda: None)
    small.append(lines(*calls(1)))
    keeper.load()
    assert keeper.store == "failed"
    assert small.extents[: len(before)] == before
    small.close()


@pytest.mark.parametrize("room", [0, 5_000, 20_000])
def test_a_store_that_a_full_disk_kept_from_being_made_is_made_as_soon_as_there_is_room(
    keeper: Keeper, journal: Journal, path: Path, room: int
) -> None:
    journal.append(lines(*calls(5)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        for _ in range(2):
            keeper.load()
            assert keeper.store == "failed"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    keeper.load()
    assert (keeper.store, keeper.store_error, keeper.faults) == ("ready", "", [])
    assert report(path)["calls"] == 5
    assert sorted(found.name for found in path.parent.iterdir()) == ["analytics.duckdb", "events"]
