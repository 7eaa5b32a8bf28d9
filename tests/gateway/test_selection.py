"""The selection log of a real cluster: its lines, what they never hold, and what an operator makes of them."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.gateway.conftest import Start

COMMON = {"kind", "event_id", "schema_version", "ts", "trace_id", "selection_id"}
SELECTION = COMMON | {"server", "selected_tool", "candidate_tools", "candidate_count", "reject_reasons"}
SELECTION |= {"candidate_features", "graph_generation", "args_sha256", "args_chars", "ranker_version"}
EXECUTION = COMMON | {"server", "selected_tool", "ok", "latency_ms", "error_type", "cache_hit", "retry_count", "cost"}
LABEL = COMMON | {"user_corrected", "operator_override", "ranker_version"}
ARGUMENT, QUERY = "wordoftheargument", "answers its text"


def logs(home: Home) -> list[Path]:
    """The rotated logs and the log, oldest first."""
    return sorted((home.path / "bus").glob("selection_log.jsonl*"), reverse=True)


def written(home: Home, kind: str = "") -> list[dict[str, Any]]:
    events = [json.loads(line) for path in logs(home) for line in path.read_text().splitlines()]
    return [event for event in events if not kind or event["kind"] == kind]


async def test_calls_are_pairs_with_every_field_that_can_be_labelled_and_replayed(home: Home, start: Start) -> None:
    home.serve("echo", "failing", selection_telemetry={"enabled": True, "max_bytes": 3500, "max_backups": 9})
    client = await start("echo__text", "failing__plain")
    await client.call("echo__text", {"text": ARGUMENT, "_context_query": QUERY})
    await client.call("echo__count", {})
    await client.call("echo__count", {})
    await client.call("failing__plain", {})
    for _ in range(4):
        await client.call("echo__text", {"text": ARGUMENT, "_context_query": QUERY})
    await eventually(lambda: len(written(home)) == 16)
    selections, executions = written(home, "selection"), written(home, "execution")
    assert {frozenset(event) for event in selections} == {frozenset(SELECTION)}
    assert {frozenset(event) for event in executions} == {frozenset(EXECUTION)}
    assert [event["selection_id"] for event in selections] == [event["selection_id"] for event in executions]
    assert [event["trace_id"] for event in selections] == [event["trace_id"] for event in executions]
    ranked, bare, *_ = selections
    assert ranked["selected_tool"] in ranked["candidate_tools"]
    assert ranked["candidate_features"]["echo__text"]["rank"] == 1
    assert (ranked["ranker_version"], bare["ranker_version"]) == ("v1-bm25-tool-relevance", "v0-passthrough")
    assert (bare["candidate_features"], bare["graph_generation"]) == (None, None)
    assert re.fullmatch("[0-9a-f]{64}", ranked["args_sha256"])
    assert (ranked["args_chars"], bare["args_chars"]) == (len(ARGUMENT) + len('{"text":""}'), len("{}"))
    assert [event["cache_hit"] for event in executions[:4]] == [False, False, True, False]
    assert [event["error_type"] for event in executions[:4]] == ["", "", "", "ToolError"]
    assert [event["ok"] for event in executions[:4]] == [True, True, True, False]
    assert len(logs(home)) > 2
    assert (home.path / "bus").stat().st_mode & 0o777 == 0o700
    for log in logs(home):
        text = log.read_text()
        assert ARGUMENT not in text
        assert QUERY not in text
        assert log.stat().st_mode & 0o777 == 0o600

    # A label is on the disk before it is reported, wherever its selection is.
    first = selections[0]["selection_id"]
    assert first not in logs(home)[-1].read_text()
    refused = home.mms("selection", "feedback", "nothing-of-this-name")
    assert (refused.returncode, "nothing-of-this-name" in refused.stderr) == (1, True)
    labelled = home.mms("selection", "feedback", first, "--user-corrected")
    (actor,) = [pid for pid, line in home.processes().items() if "actors.telemetry" in line]
    os.kill(actor, signal.SIGKILL)
    assert labelled.returncode == 0, labelled.stderr
    (label,) = written(home, "feedback")
    assert set(label) == LABEL
    assert (label["selection_id"], label["user_corrected"], label["operator_override"]) == (first, True, False)
    told = json.loads(home.mms("selection", "replay", "--json").stdout)
    cohort = told["rankers"]["v1-bm25-tool-relevance"]
    assert [cohort[name] for name in ("selections", "executions", "first", "labelled", "corrected")] == [5, 5, 5, 1, 1]
    assert {name: count for name, count in told["quality"].items() if count} == {"lines": 17}
