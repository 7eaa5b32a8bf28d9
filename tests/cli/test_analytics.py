"""`mms sql` and `mms stats`, with the telemetry actor and without."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from actors.telemetry.messages import CallEvent, OpportunityEvent, ProgressiveReadEvent, SurfacingEvent
from bus.client import Bus
from bus.endpoint import Runtime
from bus.launch import ChildSpec, environment, launch
from bus.outbox import Outbox
from cli.decisions import MEANINGS
from cli.sql import sql
from cli.stats import stats
from cli.trace import trace
from cli.tune import tune
from config.place import Place
from tests.actors.telemetry.holder import held_by_another_process
from tests.cli.conftest import Invoke, document_of
from tests.cli.store import fill
from tests.eventually import eventually_blocking
from tests.fixtures.store import empty_store

ROOT = Path(__file__).parents[2]
EVENTS = [
    CallEvent(server="fs", tool="read", ok=True, original_tokens=1_000_000, delivered_tokens=250_000, total_ms=12.5),
    CallEvent(server="fs", tool="read", ok=True, cached=True, original_tokens=1_000, delivered_tokens=1_000),
    CallEvent(server="git", tool="log", ok=False, error="timeout", total_ms=90_000.0, surfacing="response_too_short"),
    SurfacingEvent(surfacing_id="s-1", server="fs", tool="read", memory_ids=["m-1", "m-2"]),
    OpportunityEvent(server="git", tool="log", decision="too_short"),
]


async def _record(place: Place) -> None:
    bus = Bus(Runtime(place.runtime), "test")
    outbox = Outbox(bus)
    for event in EVENTS:
        outbox.add(event)
    await bus.ping("telemetry", timeout=20, wait=20)
    await outbox.close(20)
    bus.close()


@pytest.fixture
def telemetry(place: Place, mms: Invoke) -> Iterator[subprocess.Popen[bytes]]:
    """The actor as a process, with the events in its store."""
    empty_store(place.state)
    process = launch(ChildSpec("telemetry", (sys.executable, "-P", "-m", "actors.telemetry")), place)
    try:
        asyncio.run(_record(place))
        eventually_blocking(lambda: json.loads(mms([stats], "stats", "--json").stdout)["savings"]["calls"] == 3)
        yield process
    finally:
        process.terminate()
        process.wait(20)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    assert process.wait(20) == 0


@pytest.mark.parametrize("running", [True, False])
def test_stats_count_what_was_saved(telemetry: subprocess.Popen[bytes], mms: Invoke, running: bool) -> None:
    if not running:
        stop(telemetry)
    found = document_of(mms([stats], "stats", "--json"))
    assert found["ok"]
    assert (found["savings"]["saved_tokens"], found["pending"]) == (750_000, 0)
    assert found["saved_dollars"] == 2.25
    assert found["surfacing"]["memories_shown"] == 2
    page = mms([stats], "stats", "--by", "server").stdout
    assert "3 (1 live, 1 cached, 1 failed)" in page
    assert "750,000 tokens (75%), $2.25 at $3 per million" in page
    assert "2 memories in 1 response" in page
    assert "under surfacing.min_response_chars" in page
    assert "SLOWEST UPSTREAMS" in page
    only = document_of(mms([stats], "stats", "--tool", "git__log", "--json"))
    assert only["savings"]["calls"] == 1
    later = document_of(mms([stats], "stats", "--since", "2999-01-01", "--json"))
    assert (later["ok"], later["error"]) == (False, "usage")


@pytest.mark.parametrize("running", [True, False])
def test_sql_answers_in_three_forms(telemetry: subprocess.Popen[bytes], mms: Invoke, running: bool) -> None:
    if not running:
        stop(telemetry)
    query = "SELECT server, count(*) AS calls, 1.10 AS price, NULL AS nothing FROM call GROUP BY ALL ORDER BY 1"
    table = mms([sql], "sql", query).stdout.splitlines()
    assert [line.split() for line in table] == [
        ["server", "calls", "price", "nothing"],
        ["fs", "2", "1.1", "NULL"],
        ["git", "1", "1.1", "NULL"],
    ]
    assert mms([sql], "sql", query, "--format", "csv").stdout == ("server,calls,price,nothing\nfs,2,1.1,\ngit,1,1.1,\n")
    assert mms([sql], "sql", query, "--format", "json").stdout == (
        '{"server":"fs","calls":2,"price":1.10,"nothing":null}\n'
        '{"server":"git","calls":1,"price":1.10,"nothing":null}\n'
    )
    document = document_of(mms([sql], "sql", query, "--json"))
    assert document["rows"] == [["fs", 2, 1.1, None], ["git", 1, 1.1, None]]
    piped = mms([sql], "sql", "--format", "csv", input="SELECT count(*) AS n FROM call")
    assert piped.stdout == "n\n3\n"
    limited = mms([sql], "sql", "SELECT * FROM range(10)", "--max-rows", "2")
    assert limited.stderr == "There are more rows than the 2 shown (--max-rows 2).\n"


@pytest.mark.parametrize("running", [True, False])
def test_sql_only_reads(telemetry: subprocess.Popen[bytes], mms: Invoke, running: bool) -> None:
    if not running:
        stop(telemetry)
    for statement in ("DELETE FROM call", "SELECT 1; SELECT 2", "FROM read_csv('/etc/passwd')", "SELEKT 1"):
        refused = mms([sql], "sql", statement, "--json")
        assert refused.exit_code == 1
        assert document_of(refused)["error"] == "refused"
    assert mms([sql], "sql", "SELECT count(*) AS n FROM call", "--format", "csv").stdout == "n\n3\n"


@pytest.mark.parametrize("running", [True, False])
def test_rows_go_to_files_and_everything_to_parquet(
    telemetry: subprocess.Popen[bytes], mms: Invoke, tmp_path: Path, running: bool
) -> None:
    if not running:
        stop(telemetry)
    target = tmp_path / "calls.parquet"
    written = mms([sql], "sql", "FROM call", "--format", "parquet", "-o", str(target))
    assert (written.stdout, written.stderr) == ("", f"wrote 3 rows to {target}\n")
    assert duckdb.execute("SELECT count(*), sum(original_tokens) FROM read_parquet(?)", [str(target)]).fetchone() == (
        3,
        1_001_000,
    )
    piped = mms([sql], "sql", "FROM call", "--format", "parquet").stdout_bytes
    assert (piped[:4], piped[-4:]) == (b"PAR1", b"PAR1")
    text = tmp_path / "calls.csv"
    mms([sql], "sql", "SELECT count(*) AS n FROM call", "--format", "csv", "-o", str(text))
    assert text.read_text() == "n\n3\n"
    exported = document_of(mms([sql], "sql", "--export", str(tmp_path / "all"), "--json"))
    assert exported["tables"]["call"] == 3
    assert (tmp_path / "all" / "opportunity.parquet").exists()


@pytest.mark.parametrize(
    ("argv", "exit_code", "said"),
    [
        (["--export", "d", "SELECT 1"], 2, "--export writes all tables"),
        (["FROM call", "-o", "/nowhere/x.csv"], 1, "/nowhere/x.csv cannot be written"),
        (["FROM call", "--format", "parquet", "-o", "/nowhere/x"], 1, "/nowhere/x cannot be written"),
        (["SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", "--timeout", "0.2"], 1, "0.2 s"),
        (["--format", "xml"], 2, "'table', 'csv', 'json', 'parquet'"),
    ],
)
def test_what_sql_cannot_do_is_said(place: Place, mms: Invoke, argv: list[str], exit_code: int, said: str) -> None:
    fill(place, *EVENTS)
    found = mms([sql], "sql", *argv)
    assert (found.exit_code, found.stdout) == (exit_code, "")
    assert said in found.stderr


@pytest.mark.parametrize("argv", [["FROM call"], []])
def test_parquet_is_refused_onto_a_terminal(place: Place, argv: list[str]) -> None:
    fill(place, *EVENTS)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "cli", "sql", "--format", "parquet", *argv]
    found = subprocess.run(
        command, env=environment(place), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, timeout=30
    )
    os.close(ours)
    os.close(theirs)
    assert (found.returncode, b"add --output FILE" in found.stderr) == (2, True)


def test_a_file_in_somebody_elses_hands_is_named(place: Place, mms: Invoke) -> None:
    fill(place, *EVENTS)
    with held_by_another_process(place.state / "analytics.duckdb", read_only=False):
        for command, argv in ((sql, ["sql", "FROM call"]), (stats, ["stats"]), (trace, ["trace"])):
            found = mms([command], *argv)
            assert found.exit_code == 1
            assert "is in use by process" in found.stderr
            assert "close it there and ask again" in found.stderr
    with held_by_another_process(place.state / "analytics.duckdb", read_only=True):
        assert mms([sql], "sql", "SELECT 1 AS n", "--format", "csv").stdout == "n\n1\n"


def test_every_decision_of_a_call_is_explained(place: Place, mms: Invoke) -> None:
    fill(place, *EVENTS, CallEvent(server="fs", tool="read", ok=True, surfacing="of another version"))
    page = mms([stats], "stats").stdout
    assert MEANINGS["response_too_short"] in page
    assert "of another version  1      -" in page
    names = ("actors/surfacer/surface.py", "config/surfacing_gate.py", "gateway/surfacing.py")
    reasons = re.compile(
        r'"((?:gate_|no_results_)[a-z_]+|no_query|sensitive_query|response_too_short|circuit_open|empty_render|withheld)"'
    )
    found = {word for name in names for word in reasons.findall((ROOT / name).read_text())}
    assert len(found) > 12
    assert found <= set(MEANINGS)


def test_stats_narrow_and_draw(place: Place, mms: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(place, *EVENTS)
    monkeypatch.setenv("COLUMNS", "100")
    drawn = mms([stats], "stats", "--plot", "--by", "server").stdout.splitlines()
    assert drawn[0].split()[0] == "SERVER"
    bar = next(line for line in drawn if line.startswith("fs "))
    assert 2.5 < bar.count("░") / bar.count("█") < 3.5, "a quarter was delivered"
    only = document_of(mms([stats], "stats", "--server", "git", "--json"))
    assert (only["savings"]["calls"], only["latency"]["servers"][0]["timeouts"]) == (1, 1)
    earlier = document_of(mms([stats], "stats", "--until", "1h", "--json"))
    assert (earlier["savings"]["calls"], earlier["latency"]["stages"]) == (0, [])
    assert mms([stats], "stats", "--until", "1h").exit_code == 0
    refused = mms([stats], "stats", "--plot", str(tmp_path / "x.pdf"))
    assert (refused.exit_code, "ends in .png or .svg" in refused.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    missing = mms([stats], "stats", "--plot", str(tmp_path / "x.png"))
    assert missing.exit_code == 1
    assert "pip install 'memtomem-bus[plot]'" in missing.stderr


@pytest.mark.parametrize(("suffix", "head"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_stats_are_drawn_to_a_file(place: Place, mms: Invoke, tmp_path: Path, suffix: str, head: bytes) -> None:
    pytest.importorskip("matplotlib")
    fill(place, *EVENTS, CallEvent(server="fs", tool=r"$\frac{$", ok=True, original_tokens=5))
    target = tmp_path / f"savings.{suffix}"
    found = mms([stats], "stats", "--by", "tool", "--plot", str(target))
    assert (found.exit_code, found.stdout, found.stderr) == (0, "", f"drew {target}\n")
    assert target.read_bytes().startswith(head)


def test_without_a_store_it_says_so(place: Place, mms: Invoke) -> None:
    for command, argv in ((sql, ["sql", "SELECT 1"]), (stats, ["stats"]), (trace, ["trace"]), (trace, ["trace", "a"])):
        result = mms([command], *argv)
        assert result.exit_code == 1
        assert result.stderr == f"Error: nothing has been recorded yet in {place.state}; `mms up` starts the cluster\n"
    assert mms([sql], "sql", input=" \n").exit_code == 2


def test_the_prompt_takes_statements_over_lines_and_goes_on_after_an_error(
    telemetry: subprocess.Popen[bytes], place: Place
) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "cli", "sql", "--format", "csv"]
    prompt = subprocess.Popen(
        command, env=environment(place), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(theirs)
    os.write(ours, b"SELECT count(*) AS calls\nFROM call;\nSELEKT 1;\nSELECT 5 AS five;\n\x04")
    stdout, stderr = prompt.communicate(timeout=30)
    os.close(ours)
    assert prompt.returncode == 0
    lines = [line.split("> ")[-1] for line in stdout.decode().splitlines()]
    assert [line for line in lines if line.strip()][-4:] == ["calls", "3", "five", "5"]
    assert stderr.decode().count("\nError: ") == 1


def test_a_tool_may_be_named_as_clients_see_it(place: Place, mms: Invoke) -> None:
    servers = {"git": {"prefix": "vcs", "command": "x"}, "vcs2": {"prefix": "git2", "command": "x"}}
    place.config_file.write_text(json.dumps({"upstream_servers": servers}))
    fill(place, *EVENTS)
    for name in ("vcs__log", "git__log", "log"):
        assert document_of(mms([stats], "stats", "--tool", name, "--json"))["savings"]["calls"] == 1, name
        assert document_of(mms([trace], "trace", "--tool", name, "--json"))["found"] == 1, name


def test_nothing_is_said_in_words_where_there_is_nothing(place: Place, mms: Invoke) -> None:
    fill(place, *EVENTS)
    shown = mms([stats], "stats", "--tool", "nosuch")
    assert shown.exit_code == 0
    assert "- of" not in shown.stdout
    assert "`mms stats --by tool` shows what there is" in shown.stderr
    assert "by server" in mms([stats], "stats", "--server", "nosuch").stderr


def test_a_plan_is_drawn_and_a_row_that_is_too_large_is_named_as_such(place: Place, mms: Invoke) -> None:
    fill(place, *EVENTS)
    plan = mms([sql], "sql", "EXPLAIN SELECT 1").stdout
    assert "\\n" not in plan
    assert len(plan.splitlines()) > 3
    huge = mms([sql], "sql", "SELECT repeat('x', 40_000_000)")
    assert "more rows than the 0 shown" in huge.stderr
    assert "--max-rows" not in huge.stderr


@pytest.mark.parametrize("argv", [("sql", "--timeout", "nan", "FROM call"), ("tune", "--since-hours", "nan")])
def test_what_is_no_number_is_refused(mms: Invoke, argv: tuple[str, ...]) -> None:
    refused = mms([sql, tune], *argv)
    assert refused.exit_code == 2
    assert "not a number" in refused.stderr


@pytest.mark.parametrize(("delivered", "said"), [(2_000_050, "-$6.00"), (150, "$0.00")])
def test_memories_may_cost_more_than_shortening_saves(place: Place, mms: Invoke, delivered: int, said: str) -> None:
    fill(
        place,
        CallEvent(
            server="fs",
            tool="read",
            ok=True,
            original_tokens=50,
            delivered_tokens=delivered,
            memory_tokens=delivered - 50,
        ),
    )
    page = mms([stats], "stats").stdout
    assert f"50 → {delivered:,} ({delivered - 50:,} of them memories)" in page
    assert f"-{delivered - 50:,} tokens" in page
    assert f", {said} at $3 per million" in page


def test_what_was_read_later_stands_beside_what_was_saved(place: Place, mms: Invoke) -> None:
    read: dict[str, Any] = {"key_digest": "k", "server": "fs", "tool": "read", "total_chars": 10_000}
    fill(
        place,
        *EVENTS,
        ProgressiveReadEvent(**read, served_chars=1_000),
        ProgressiveReadEvent(**read, offset=1_000, served_chars=1_500, follow_up=True),
    )
    page = mms([stats], "stats").stdout
    assert "100% of 1 shortened response; 25% of their text was delivered in all" in page
    assert "1,500 characters of them, not taken off what was saved" in page


def test_why_the_hook_showed_nothing_is_answered_too(place: Place, mms: Invoke) -> None:
    fill(place, *EVENTS, OpportunityEvent(server="builtin", tool="Read", decision="response_too_short"))
    shown = mms([stats], "stats", "--server", "builtin")
    assert "response_too_short  1      under surfacing.min_response_chars" in shown.stdout
    assert shown.stderr == ""
