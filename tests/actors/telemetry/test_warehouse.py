from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings, strategies

from actors.telemetry import schema
from actors.telemetry.database import StoreDamaged, StoreHeld
from actors.telemetry.journal import Journal
from actors.telemetry.messages import (
    AnyEvent,
    CallEvent,
    FaultEvent,
    FeedbackEvent,
    SurfacingEvent,
    TuningEvent,
    columns,
)
from actors.telemetry.stats import report
from actors.telemetry.traces import find_calls, trace
from actors.telemetry.warehouse import Warehouse, unread_lines
from bus.errors import NewerState, StateError
from tests.actors.telemetry.events import call, calls, lines
from tests.actors.telemetry.holder import held_by_another_process


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    found = Journal(tmp_path / "events", segment_bytes=20_000)
    found.open()
    yield found
    found.close()


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "analytics.duckdb", tmp_path / "loading.jsonl")


def rows(warehouse: Warehouse, sql: str) -> list[Any]:
    with duckdb.connect(warehouse.path, read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_kind_arrives_with_its_values(journal: Journal, warehouse: Warehouse) -> None:
    moment = "2026-11-30T12:34:56.123456Z"
    journal.append(
        lines(
            call(ts=moment, original_chars=2**40, total_ms=1.5, cached=True, trace_id="t1", strategy='a"b\n한국어'),
            SurfacingEvent(surfacing_id="s1", server="fs", tool="read", memory_ids=["m1", "m2"], relevance=[0.5, 0.25]),
            FeedbackEvent(surfacing_id="s1", memory_id="m1", rating="helpful"),
            TuningEvent(tool="fs__read", old=0.35, new=0.37, reason="r"),
            FaultEvent(component="ltm", what="breaker_open", count=3),
        )
    )
    progress = warehouse.load(journal.extents)
    assert (progress.rows, progress.repeated, progress.unreadable) == (5, 0, 0)
    assert rows(warehouse, "SELECT ts, original_chars, total_ms, ok, cached, trace_id, strategy FROM call") == [
        (datetime(2026, 11, 30, 12, 34, 56, 123456), 2**40, 1.5, True, True, "t1", 'a"b\n한국어')
    ]
    assert rows(warehouse, "SELECT memory_ids, relevance FROM surfacing") == [(["m1", "m2"], [0.5, 0.25])]
    assert rows(warehouse, "SELECT old, new FROM tuning") == [(0.35, 0.37)]
    assert rows(warehouse, "SELECT component, count FROM faults_recent") == [("ltm", 3)]


def test_every_kind_has_its_table_and_every_column_a_comment(journal: Journal, warehouse: Warehouse) -> None:
    warehouse.load(journal.extents)
    for event in get_args(AnyEvent):
        kind = event.__struct_config__.tag
        found = rows(
            warehouse,
            f"SELECT column_name, comment FROM duckdb_columns() WHERE table_name = '{kind}' ORDER BY column_index",
        )
        assert [name for name, _ in found] == [name for name, _ in columns(event)]
        assert all(comment for _, comment in found)


def test_loading_goes_on_where_it_stopped(journal: Journal, warehouse: Warehouse) -> None:
    for expected in (30, 60, 60):
        if expected != 60 or journal.appended == 30:
            journal.append(lines(*calls(30)))
        warehouse.load(journal.extents)
        assert rows(warehouse, "SELECT count(*), count(DISTINCT event_id) FROM call") == [(expected, expected)]


def test_small_chunks_lose_and_repeat_nothing(journal: Journal, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "a.duckdb", tmp_path / "loading.jsonl", chunk_bytes=700)
    for _ in range(6):
        journal.append(lines(*calls(5)))
    assert warehouse.load(journal.extents).rows == 30
    assert rows(warehouse, "SELECT count(DISTINCT event_id) FROM call") == [(30,)]
    assert not (tmp_path / "loading.jsonl").exists()


def test_a_repeated_batch_adds_nothing(journal: Journal, warehouse: Warehouse) -> None:
    batch = lines(*calls(20))
    journal.append(batch + batch)
    assert warehouse.load(journal.extents).repeated == 20
    journal.append(lines(*calls(3)))
    journal.append(batch)
    progress = warehouse.load(journal.extents)
    assert (progress.rows, progress.repeated) == (3, 20)
    assert rows(warehouse, "SELECT count(*), count(DISTINCT event_id) FROM call") == [(23, 23)]


def test_torn_and_foreign_lines_are_skipped(journal: Journal, warehouse: Warehouse) -> None:
    journal.append(lines(*calls(2)))
    journal.close()
    with journal.extents[0].path.open("ab") as file:
        file.write(b'[1]\n\n{"kind":"waltz","event_id":"w","ts":"2026-01-01T00:00:00Z"}\n{"kind":"call","serv')
    again = Journal(journal.directory)
    again.open()
    again.append(lines(call(tool="after")))
    progress = warehouse.load(again.extents)
    again.close()
    assert (progress.rows, progress.unreadable) == (3, 4)
    assert rows(warehouse, "SELECT count(*) FROM call") == [(3,)]


def test_rows_and_offsets_commit_together(journal: Journal, warehouse: Warehouse) -> None:
    """A process killed between append and commit leaves a store from which loading simply goes on."""
    journal.append(lines(*calls(50)))
    code = """
import os, sys
from pathlib import Path
from actors.telemetry import warehouse as module
from actors.telemetry.journal import Extent
path, spool, segment = map(Path, sys.argv[1:])
store = module.Warehouse(path, spool, chunk_bytes=4000)
count = 0
original = store._load_batch
def die(*arguments):
    global count
    original(*arguments)
    count += 1
    if count == 3:
        os.kill(os.getpid(), 9)
store._load_batch = die
store.load((Extent(1, segment, segment.stat().st_size),))
"""
    segment = journal.extents[0]
    killed = subprocess.run([sys.executable, "-c", code, warehouse.path, warehouse.path.parent / "spool", segment.path])
    assert killed.returncode == -9
    (before,) = rows(warehouse, "SELECT count(*) FROM call")
    assert 0 < before[0] < 50
    warehouse.load(journal.extents)
    assert rows(warehouse, "SELECT count(*), count(DISTINCT event_id) FROM call") == [(50, 50)]


def test_a_record_that_was_started_afresh_is_loaded_from_its_beginning(warehouse: Warehouse, tmp_path: Path) -> None:
    for name, count in (("first", 10), ("second", 40)):
        journal = Journal(tmp_path / name)
        journal.open()
        journal.append(lines(*calls(count)))
        warehouse.load(journal.extents)
        journal.close()
    assert rows(warehouse, "SELECT count(*) FROM call") == [(50,)]


def test_a_segment_deleted_by_hand_does_not_stop_the_others(journal: Journal, warehouse: Warehouse) -> None:
    for _ in range(8):
        journal.append(lines(*calls(10)))
    assert len(journal.extents) > 1
    journal.extents[0].path.unlink()
    assert 0 < warehouse.load(journal.extents).rows < 80
    assert unread_lines(journal.extents, warehouse.load(journal.extents).offsets) == 0


def test_the_file_is_private_and_free_between_loads(journal: Journal, warehouse: Warehouse) -> None:
    journal.append(lines(call()))
    warehouse.load(journal.extents)
    assert warehouse.path.stat().st_mode & 0o777 == 0o600
    with held_by_another_process(warehouse.path, read_only=False):
        pass


@pytest.mark.parametrize("read_only", [True, False])
def test_while_somebody_holds_the_file_loading_waits(journal: Journal, warehouse: Warehouse, read_only: bool) -> None:
    journal.append(lines(call()))
    offsets = warehouse.load(journal.extents).offsets
    journal.append(lines(*calls(7)))
    with held_by_another_process(warehouse.path, read_only=read_only):
        with pytest.raises(StoreHeld, match=r"in use by process \d+"):
            warehouse.load(journal.extents)
        assert unread_lines(journal.extents, offsets) == 7
    assert warehouse.load(journal.extents).rows == 7


def broken_versions(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    return {
        "empty": b"",
        "garbage": b"garbage" * 5_000,
        "truncated": data[:middle],
        "short": data[:5_000],
        "header": data[:4_100] + b"\xff" * 64 + data[4_164:],
        "body": data[:12_288] + bytes(reversed(data[12_288:])),
        "sqlite": b"SQLite format 3\0" + data[16:],
    }


@pytest.mark.parametrize("damage", ["empty", "garbage", "truncated", "short", "header", "body", "sqlite"])
def test_a_damaged_store_is_recognised_and_rebuilt(journal: Journal, warehouse: Warehouse, damage: str) -> None:
    journal.append(lines(*calls(40)))
    warehouse.load(journal.extents)
    broken = broken_versions(warehouse.path.read_bytes())[damage]
    warehouse.path.write_bytes(broken)
    journal.append(lines(*calls(2)))
    with pytest.raises(StoreDamaged, match=r"analytics\.duckdb"):
        warehouse.load(journal.extents)
    aside = warehouse.set_aside(datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC))
    assert aside.name == "analytics.duckdb.damaged-20261130T120000.000000Z"
    assert aside.read_bytes() == broken
    assert warehouse.load(journal.extents).rows == 42


def test_a_newer_store_is_left_alone(journal: Journal, warehouse: Warehouse) -> None:
    warehouse.load(journal.extents)
    with duckdb.connect(warehouse.path) as connection:
        connection.execute("UPDATE _meta SET schema_version = schema_version + 1")
    before = warehouse.path.read_bytes()
    with pytest.raises(NewerState, match="newer version"):
        warehouse.load(journal.extents)
    assert warehouse.path.read_bytes() == before


def test_a_store_without_the_newest_columns_is_brought_forward(journal: Journal, warehouse: Warehouse) -> None:
    journal.append(lines(call(tool="old")))
    warehouse.load(journal.extents)
    with duckdb.connect(warehouse.path) as connection:
        for view in ("savings_by_tool", "savings_by_day", "latency_by_tool"):
            connection.execute(f"DROP VIEW {view}")
        for column in ("degraded", "memory_tokens"):
            connection.execute(f"ALTER TABLE call DROP COLUMN {column}")
        connection.execute("DROP TABLE tuning")
        connection.execute("UPDATE _meta SET schema_version = 0, fingerprint = 'earlier'")
    for reader in (report, find_calls, trace):
        with pytest.raises(StateError, match="of an earlier version; `mms up`"):
            reader(warehouse.path)
    journal.append(lines(call(tool="new", degraded="tuner"), TuningEvent(tool="t", old=0.1, new=0.2, reason="")))
    warehouse.load(journal.extents)
    assert rows(warehouse, "SELECT tool, degraded FROM call ORDER BY ts") == [("old", None), ("new", "tuner")]
    assert rows(warehouse, "SELECT count(*) FROM tuning") == [(1,)]
    assert rows(warehouse, "SELECT calls, memory_tokens FROM savings_by_tool ORDER BY tool") == [(1, 0), (1, 0)]
    assert rows(warehouse, "SELECT schema_version FROM _meta") == [(schema.SCHEMA_VERSION,)]


def test_rows_leave_by_age_and_by_number(journal: Journal, tmp_path: Path) -> None:
    warehouse = Warehouse(
        tmp_path / "a.duckdb",
        tmp_path / "loading.jsonl",
        retention_days={"call": 10, "fault": 0, "tuning": 10},
        max_rows=3,
    )
    now = datetime.now(UTC)
    stamps = [(now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ") for days in (30, 11, 9, 1)]
    journal.append(lines(*[call(ts=ts) for ts in stamps], FaultEvent(component="a", what="b", ts=stamps[0])))
    journal.append(lines(*[TuningEvent(tool=str(n), old=0, new=0, reason="", ts=stamps[3]) for n in range(2)]))
    journal.append(lines(*[TuningEvent(tool=f"{n}", old=0, new=0, reason="") for n in range(2, 5)]))
    warehouse.load(journal.extents)
    assert rows(warehouse, "SELECT count(*) FROM call") == [(2,)]
    assert rows(warehouse, "SELECT count(*) FROM fault") == [(1,)]
    assert rows(warehouse, "SELECT tool FROM tuning ORDER BY tool") == [("2",), ("3",), ("4",)]


def test_a_store_that_cannot_be_created_is_an_error_that_names_it(journal: Journal, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "missing" / "analytics.duckdb", tmp_path / "loading.jsonl")
    with pytest.raises(StateError, match=r"analytics\.duckdb"):
        warehouse.load(journal.extents)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    events=strategies.lists(
        strategies.builds(
            CallEvent,
            server=strategies.text(),
            tool=strategies.text(),
            ok=strategies.booleans(),
            original_chars=strategies.integers(-(2**63), 2**63 - 1),
            total_ms=strategies.floats(allow_nan=False, allow_infinity=False),
            trace_id=strategies.text(),
        ),
        max_size=40,
    )
)
def test_any_event_arrives_unchanged(tmp_path: Path, events: list[CallEvent]) -> None:
    directory = Path(tempfile.mkdtemp(dir=tmp_path))
    journal = Journal(directory / "events")
    journal.open()
    assert journal.append(lines(*events)) == 0
    warehouse = Warehouse(directory / "a.duckdb", directory / "loading.tmp")
    assert warehouse.load(journal.extents).unreadable == 0
    journal.close()
    found = rows(warehouse, "SELECT event_id, server, tool, ok, original_chars, total_ms, trace_id FROM call")
    assert sorted(found) == sorted(
        (e.event_id, e.server, e.tool, e.ok, e.original_chars, e.total_ms, e.trace_id) for e in events
    )
