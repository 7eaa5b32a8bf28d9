from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from actors.telemetry.journal import Journal
from actors.telemetry.query import Interrupt, run_read_only
from actors.telemetry.warehouse import Warehouse
from bus.errors import DeadlineExceeded, Refused, StateError
from tests.actors.telemetry.events import call, lines

ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) = 1"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("query")
    journal = Journal(directory / "events")
    journal.open()
    journal.append(lines(*[call(tool=f"t{n}", original_tokens=n) for n in range(20)]))
    Warehouse(directory / "analytics.duckdb", directory / "loading.jsonl").load(journal.extents)
    journal.close()
    (directory / "secret.csv").write_text("a,b\n1,2\n")
    return directory / "analytics.duckdb"


def answer(path: Path, sql: str, **options: Any) -> list[Any]:
    rows: list[Any] = msgspec.json.decode(run_read_only(path, sql, **options).rows)
    return rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM call",
        "FROM call",
        "FROM savings_by_tool",
        "WITH a AS (SELECT 1 AS x) FROM a;",
        "-- a comment\nSELECT 1 -- another",
        "DESCRIBE call",
        "SHOW TABLES",
        "SUMMARIZE call",
        "EXPLAIN SELECT * FROM call",
        "EXPLAIN ANALYZE SELECT * FROM call",
        "VALUES (1)",
        "PIVOT call ON tool IN ('t1', 't2') USING sum(original_tokens)",
    ],
)
def test_reading_statements_are_answered(path: Path, sql: str) -> None:
    assert answer(path, sql)


def test_columns_types_and_rows_belong_together(path: Path) -> None:
    result = run_read_only(path, "SELECT tool, original_tokens AS n FROM call ORDER BY n LIMIT 2")
    assert (result.columns, result.types) == (("tool", "n"), ("VARCHAR", "BIGINT"))
    assert msgspec.json.decode(result.rows) == [["t0", 0], ["t1", 1]]
    assert not result.truncated


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("TIMESTAMP '2026-11-30 12:34:56.123456'", b'"2026-11-30T12:34:56.123456"'),
        ("DATE '2026-11-30'", b'"2026-11-30"'),
        ("1234567890123456789.125::DECIMAL(30, 3)", b"1234567890123456789.125"),
        ("170141183460469231731687303715884105727::HUGEINT", b"170141183460469231731687303715884105727"),
        ("'nan'::DOUBLE", b"null"),
        ("NULL", b"null"),
        ("'\\x00\\xFF'::BLOB", b'"AP8="'),
        ("{'a': [1, NULL], 'b': {'c': true}}", b'{"a":[1,null],"b":{"c":true}}'),
        ("MAP {'k': 1}", b'{"k":1}'),
        ("[MAP {true: DATE '2026-01-01'}]", b'[{"True":"2026-01-01"}]'),
        ("INTERVAL 1 DAY", b'"P1D"'),
        ("'한국어'", '"한국어"'.encode()),
        ("'00000000-0000-0000-0000-000000000001'::UUID", b'"00000000-0000-0000-0000-000000000001"'),
    ],
)
def test_values_become_json(path: Path, expression: str, expected: bytes) -> None:
    assert run_read_only(path, f"SELECT {expression}").rows == b"[[" + expected + b"]]"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO call (tool) VALUES ('x')",
        "DELETE FROM call",
        "DROP TABLE call",
        "CREATE TABLE evil AS SELECT 1",
        "CREATE TEMP TABLE evil AS SELECT 1",
        "WITH x AS (DELETE FROM call RETURNING *) SELECT * FROM x",
        "EXPLAIN ANALYZE DELETE FROM call",
        "ATTACH '{dir}/other.duckdb' AS other",
        "COPY call TO '{dir}/out.csv'",
        "COPY (SELECT 1) TO '{dir}/out.csv'",
        "EXPLAIN ANALYZE COPY call TO '{dir}/out.csv'",
        "EXPORT DATABASE '{dir}/out'",
        "PRAGMA database_list",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "SET GLOBAL memory_limit = '10GB'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "CALL pragma_version()",
        "CHECKPOINT",
        "VACUUM",
        "USE memory",
        "BEGIN",
        "PREPARE p AS SELECT 1",
        "SELECT * FROM read_csv('{dir}/secret.csv')",
        "SELECT * FROM '{dir}/secret.csv'",
        "SELECT * FROM read_text('{dir}/secret.csv')",
        "SELECT * FROM read_blob('{dir}/secret.csv')",
        "SELECT * FROM glob('{dir}/*')",
        "FROM sniff_csv('{dir}/secret.csv')",
        "FROM query('FROM read_text(''{dir}/secret.csv'')')",
        "SELECT * FROM read_json('http://127.0.0.1:1/x')",
        "SELECT getenv('HOME')",
        "SELECT 1; DROP TABLE call",
        "SELECT 1; SELECT 2",
        "SELECT $1",
        "SELEKT 1",
        "SELECT nope FROM call",
        "SELECT 'x'::INTEGER",
        "SELECT INTERVAL 100000000 MONTHS",
        "FROM sql_auto_complete('SEL')",
        "SELECT error('Corrupt database file')",
        "",
        "  -- nothing",
    ],
)
def test_everything_else_is_refused_in_one_line(path: Path, sql: str) -> None:
    before = path.read_bytes()
    files = sorted(path.parent.iterdir())
    with pytest.raises(Refused) as refusal:
        run_read_only(path, sql.replace("{dir}", str(path.parent)))
    assert refusal.value.message
    assert "\n" not in refusal.value.message
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == files


@pytest.mark.parametrize(
    ("sql", "advice"),
    [("SELECT tol FROM call", '"tool"'), ("FROM cal", 'Did you mean "call"?'), ("SELECT coun(*) FROM call", '"count"')],
)
def test_a_slip_of_the_pen_is_answered_with_what_was_meant(path: Path, sql: str, advice: str) -> None:
    with pytest.raises(Refused) as refusal:
        run_read_only(path, sql)
    assert advice in refusal.value.message


def test_rows_are_limited_and_the_answer_says_so(path: Path) -> None:
    result = run_read_only(path, "SELECT range FROM range(100000000000)", max_rows=2_500)
    assert len(msgspec.json.decode(result.rows)) == 2_500
    assert result.truncated
    assert not run_read_only(path, "FROM call", max_rows=20).truncated
    assert run_read_only(path, "FROM call", max_rows=19).truncated


def test_the_size_of_an_answer_is_limited(path: Path) -> None:
    result = run_read_only(path, "SELECT repeat('x', 1000000) FROM range(40)")
    assert result.truncated
    assert len(result.rows) <= 32 * 1024 * 1024


@pytest.mark.parametrize("options", [{"max_rows": 0}, {"max_rows": 10**9}, {"timeout_seconds": 0}])
def test_impossible_limits_are_refused(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=next(iter(options))):
        run_read_only(path, "SELECT 1", **options)


def test_an_endless_query_is_stopped_at_its_limit(path: Path) -> None:
    with pytest.raises(DeadlineExceeded, match=r"0\.05 s"):
        run_read_only(path, ENDLESS, timeout_seconds=0.05)
    assert answer(path, "SELECT 1") == [[1]]


def test_a_query_can_be_stopped_from_another_thread(path: Path) -> None:
    timers: list[threading.Timer] = []

    def started(interrupt: Interrupt) -> None:
        timers.append(threading.Timer(0.05, interrupt))
        timers[0].start()

    with pytest.raises(DeadlineExceeded):
        run_read_only(path, ENDLESS, timeout_seconds=60, started=started)


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no analytics"):
        run_read_only(tmp_path / "analytics.duckdb", "SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_readers_share_the_file(path: Path) -> None:
    with duckdb.connect(path, read_only=True, config={"memory_limit": "100MB"}):
        code = "from pathlib import Path; from actors.telemetry.query import run_read_only as r; import sys; "
        code += "print(r(Path(sys.argv[1]), 'SELECT count(*) FROM call').rows)"
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.stdout.strip() == "b'[[20]]'", done.stderr
