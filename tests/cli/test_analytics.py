"""`mms sql` and `mms stats`, with the telemetry actor and without."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from actors.telemetry.messages import CallEvent, OpportunityEvent, SurfacingEvent
from bus.client import Bus
from bus.endpoint import Runtime
from bus.launch import ChildSpec, environment, launch
from bus.outbox import Outbox
from cli.output import Failure
from cli.sql import sql
from cli.stats import instant_of, stats
from config.place import Place
from tests.cli.conftest import Invoke, document_of
from tests.eventually import eventually_blocking

EVENTS = [
    CallEvent(server="fs", tool="read", ok=True, original_tokens=1_000_000, delivered_tokens=250_000, total_ms=12.5),
    CallEvent(server="fs", tool="read", ok=True, cached=True, original_tokens=1_000, delivered_tokens=1_000),
    CallEvent(server="git", tool="log", ok=False, error="timeout", total_ms=90_000.0),
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
    assert "2 memories in 1 responses" in page
    assert "too_short" in page
    only = document_of(mms([stats], "stats", "--tool", "git__log", "--json"))
    assert only["savings"]["calls"] == 1
    later = document_of(mms([stats], "stats", "--since", "2999-01-01", "--json"))
    assert later["savings"]["calls"] == 0


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
    assert limited.stderr == "There are more rows than shown (--max-rows 2).\n"


@pytest.mark.parametrize("running", [True, False])
def test_sql_only_reads(telemetry: subprocess.Popen[bytes], mms: Invoke, running: bool) -> None:
    if not running:
        stop(telemetry)
    for statement in ("DELETE FROM call", "SELECT 1; SELECT 2", "FROM read_csv('/etc/passwd')", "SELEKT 1"):
        refused = mms([sql], "sql", statement, "--json")
        assert refused.exit_code == 1
        assert document_of(refused)["error"] == "refused"
    assert mms([sql], "sql", "SELECT count(*) AS n FROM call", "--format", "csv").stdout == "n\n3\n"


def test_without_a_store_it_says_so(place: Place, mms: Invoke) -> None:
    for command, argv in ((sql, ["sql", "SELECT 1"]), (stats, ["stats"])):
        result = mms([command], *argv)
        assert result.exit_code == 1
        assert result.stderr == f"Error: nothing has been recorded yet in {place.state}; `mms up` starts the cluster\n"
    assert mms([sql], "sql", input=" \n").exit_code == 2


@pytest.mark.parametrize(
    ("since", "age"),
    [("30m", timedelta(minutes=30)), ("24h", timedelta(hours=24)), ("7d", timedelta(days=7)), ("2w", timedelta(14))],
)
def test_since_counts_back_from_now(since: str, age: timedelta) -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert datetime.fromisoformat(instant_of(since, now)) == now - age


def test_since_takes_dates_and_refuses_the_rest() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert instant_of("2026-11-30", now) == "2026-11-30"
    assert instant_of("", now) == ""
    for wrong in ("yesterday", "7y", "-7d"):
        with pytest.raises(Failure, match="--since"):
            instant_of(wrong, now)


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
