"""Parquet files from the store: whole, private, and no way to anything else."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import duckdb
import pytest

from actors.telemetry.messages import SelectionEvent, SurfacingEvent
from actors.telemetry.parquet import write_query, write_tables
from actors.telemetry.schema import KINDS
from bus.errors import DeadlineExceeded, Refused, StateError
from tests.actors.telemetry.events import calls
from tests.actors.telemetry.test_stats import stored


def write(path: Path, sql: str, target: Path, max_rows: int | None = None, timeout: float = 30.0) -> int:
    return write_query(path, sql, target, max_rows=max_rows, timeout_seconds=timeout)


def read(target: Path, what: str) -> object:
    return duckdb.execute(f"SELECT {what} FROM read_parquet(?)", [str(target)]).fetchall()


def test_rows_keep_their_types(tmp_path: Path) -> None:
    path = stored(tmp_path, *calls(3), SurfacingEvent(surfacing_id="s", server="f", tool="r", memory_ids=["a", "b"]))
    target = tmp_path / "o'ut.parquet"
    assert write(path, "FROM surfacing; -- the end", target) == 1
    assert read(target, "memory_ids, typeof(ts)") == [(["a", "b"], "TIMESTAMP")]
    assert target.stat().st_mode & 0o777 == 0o600
    assert write(path, "FROM call", target, max_rows=2) == 2
    assert read(target, "count(*)") == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "FROM read_csv('/etc/passwd')",
        "COPY call TO '/tmp/x.csv'",
        "SELECT 1) TO '/tmp/x.parquet' (FORMAT parquet) --",
        "SELECT 1; SELECT 2",
        "DELETE FROM call",
        "EXPLAIN SELECT 1",
        "FROM 'out.parquet'",
        "SELEKT",
    ],
)
def test_what_a_query_may_not_do_it_may_not_do_here(tmp_path: Path, sql: str) -> None:
    path, target = stored(tmp_path, *calls(1)), tmp_path / "out.parquet"
    target.write_bytes(b"before")
    with pytest.raises(Refused):
        write(path, sql, target)
    assert target.read_bytes() == b"before", "the file that was there stays"
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".out")]


def test_it_ends_in_time_and_names_what_cannot_be_written(tmp_path: Path) -> None:
    path = stored(tmp_path, *calls(1))
    with pytest.raises(DeadlineExceeded):
        write(
            path, "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", tmp_path / "x", timeout=0.1
        )
    with pytest.raises(StateError, match="missing"):
        write(path, "FROM call", tmp_path / "missing" / "x.parquet")


def test_everything_can_be_taken_along(tmp_path: Path) -> None:
    selection = SelectionEvent(
        selection_id="s",
        server="fs",
        selected_tool="t",
        candidate_tools=["t"],
        candidate_count=1,
        reject_reasons={"x": "config_hidden"},
        candidate_features={"t": {"rank": 1.0}},
        args_sha256="",
        args_chars=0,
        ranker_version="v1",
    )
    path = stored(tmp_path, *calls(2), selection)
    found = write_tables(path, tmp_path / "all")
    assert found == {kind: {"call": 2, "selection": 1}.get(kind, 0) for kind in KINDS}
    assert {file.stem for file in (tmp_path / "all").iterdir()} == set(KINDS)
    assert read(tmp_path / "all" / "selection.parquet", "candidate_features['t']['rank']") == [(1.0,)]
    assert write_tables(path, tmp_path / "all") == found, "a second time replaces the files"


def test_only_a_regular_file_is_replaced_and_a_link_stays_one(tmp_path: Path) -> None:
    path = stored(tmp_path, *calls(2))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StateError, match="no regular file"):
        write(path, "FROM call", pipe)
    assert stat.S_ISFIFO(pipe.stat().st_mode), "what was there is still there"
    link, target = tmp_path / "link.parquet", tmp_path / "elsewhere.parquet"
    link.symlink_to(target)
    assert write(path, "FROM call", link) == 2
    assert link.is_symlink()
    assert read(target, "count(*)") == [(2,)]


def test_what_the_system_refuses_is_named_in_one_short_line(tmp_path: Path) -> None:
    path, target = stored(tmp_path, *calls(2)), tmp_path / "out.parquet"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        with pytest.raises(StateError, match=r"out\.parquet cannot be written: File too large$"):
            write(path, "FROM call", target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not target.exists()
