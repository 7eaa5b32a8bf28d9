"""`mms trace` and `mms logs --trace`: from "what failed at 14:05" to one call's way."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from actors.telemetry.messages import CallEvent, OpportunityEvent
from cli.logs import logs
from cli.trace import trace
from config.place import Place
from tests.cli.conftest import Invoke, document_of
from tests.cli.store import fill

NOW = datetime.now(UTC)
HOUR_AGO = NOW - timedelta(hours=1)


def stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


@pytest.fixture
def filled(place: Place) -> Place:
    fill(
        place,
        CallEvent(
            ts=stamp(HOUR_AGO), trace_id="aa11", server="fs", tool="read", ok=False, error="timeout", total_ms=90_000.0
        ),
        CallEvent(
            ts=stamp(HOUR_AGO), trace_id="bb22", server="fs", tool="read", ok=True, total_ms=10.0, upstream_ms=9.0
        ),
        CallEvent(
            ts=stamp(NOW - timedelta(minutes=20)), trace_id="cc33", server="git", tool="log", ok=False, error="busy"
        ),
        OpportunityEvent(ts=stamp(HOUR_AGO), trace_id="bb22", server="fs", tool="read", decision="no_query"),
    )
    log = {"ts": stamp(HOUR_AGO), "level": "warning", "event": "late_answer", "trace_id": "aa11"}
    (place.logs / "upstream.log").write_text(f"{json.dumps(log)}\n{json.dumps(log | {'trace_id': 'bb22'})}\n")
    return place


def test_what_failed_then_is_one_command(filled: Place, mms: Invoke) -> None:
    at = HOUR_AGO.astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    shown = mms([trace], "trace", "--failed", "--at", at)
    assert shown.exit_code == 0
    heading, *rows = shown.stdout.splitlines()
    assert heading.split() == ["TIME", "TRACE", "TOOL", "OUTCOME", "TOOK"]
    assert len(rows) == 1
    assert "aa11   fs__read  failed: timeout" in rows[0]
    assert "mms trace ID" in shown.stderr
    everything = document_of(mms([trace], "trace", "--json"))
    assert [row["trace_id"] for row in everything["calls"]] == ["cc33", "aa11", "bb22"]
    recent = document_of(mms([trace], "trace", "--failed", "--since", "30m", "--json"))
    assert [row["trace_id"] for row in recent["calls"]] == ["cc33"]
    nothing = mms([trace], "trace", "--failed", "--server", "none")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (
        0,
        "",
        "No call failed of none yet; `mms trace` alone lists the latest of all.\n",
    )


def test_one_call_with_its_stages_events_and_logs(filled: Place, mms: Invoke) -> None:
    page = mms([trace], "trace", "bb").stdout
    assert "waiting for the upstream" in page
    assert "9.0 ms" in page
    assert "decision=no_query" in page
    assert page.count("late_answer") == 1
    document = document_of(mms([trace], "trace", "aa11", "--json"))
    assert (document["ok"], document["call"]["error"], len(document["logs"])) == (True, "timeout", 1)
    assert document_of(mms([trace], "trace", "--last", "--json"))["trace_id"] == "cc33"
    assert mms([logs], "logs", "--trace", "bb").stdout.count("late_answer") == 1


@pytest.mark.parametrize(
    ("argv", "exit_code", "said"),
    [
        (["aa11", "--last"], 2, "not several of them"),
        (["aa11", "--failed"], 2, "not several of them"),
        (["--at", "14:05", "--since", "1h"], 2, "exclude each other"),
        (["--at", "noon"], 2, "a time of day like 14:05"),
        (["zz"], 1, "`mms trace` lists the latest calls"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(
    filled: Place, mms: Invoke, argv: list[str], exit_code: int, said: str
) -> None:
    found = mms([trace], "trace", *argv)
    assert (found.exit_code, found.stdout) == (exit_code, "")
    assert said in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_call_says_what_its_decision_means(filled: Place, mms: Invoke) -> None:
    fill(filled, CallEvent(ts=stamp(NOW), trace_id="dd44", server="fs", tool="read", ok=True, surfacing="no_query"))
    assert "no_query: the arguments hold nothing to search for" in mms([trace], "trace", "dd44").stdout


def test_logs_without_a_line_about_a_call_say_so(filled: Place, mms: Invoke) -> None:
    silent = mms([logs], "logs", "--trace", "cc33")
    assert (silent.exit_code, silent.stdout) == (0, "")
    assert "`mms trace cc33` shows its events" in silent.stderr
