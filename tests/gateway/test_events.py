"""The events that a cluster records about a call and what follows it: every field filled, one trace id in all."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import PATIENCE_SECONDS, McpClient
from tests.gateway.conftest import Start

NOTE = "# Deploying the frobnicator service\n\nTo deploy the frobnicator service run the rollout script.\n"
QUERY = "how to deploy the frobnicator service with the rollout script"
TEXT = "\n".join(f"{number} frobnicated parts went out with the rollout" for number in range(700))
SURFACING = {"enabled": True, "cooldown_seconds": 0, "dedup_ttl_seconds": 0, "max_surfacings_per_minute": 1000}
NULLABLE = {"selection": {"candidate_features", "graph_generation"}, "execution": {"cost"}}
"""Columns that may hold nothing, by kind; all others are filled in every row."""
FILLED = {
    "call": "trace_id server tool ok original_chars cleaned_chars compressed_chars delivered_chars original_tokens"
    " delivered_tokens memory_tokens strategy surfacing upstream_ms compress_ms surface_ms total_ms session"
    " upstream_at_ms compress_at_ms surface_at_ms",
    "surfacing": "trace_id surfacing_id server tool query_digest memory_ids relevance ltm_scores score_scale"
    " injected_chars arm",
    "opportunity": "trace_id server tool decision shape response_chars query_digest",
    "feedback": "trace_id surfacing_id memory_id rating server tool",
    "compression_feedback": "trace_id server tool category missing",
    "progressive_reads": "trace_id key_digest server tool served_chars total_chars",
    "selection": "trace_id selection_id server selected_tool candidate_tools candidate_count reject_reasons"
    " candidate_features args_sha256 args_chars ranker_version",
    "execution": "trace_id selection_id server selected_tool ok latency_ms",
    "fault": "trace_id component what count",
}
"""Columns that say something about the call of this test, by kind."""


def rows(home: Home, kind: str) -> list[dict[str, Any]]:
    told = home.mms("sql", f"SELECT * FROM {kind}", "--format", "json")
    return [json.loads(line) for line in told.stdout.splitlines()]


async def surfaced(client: McpClient) -> str:
    """The answer to a call that got memories; the embedded store is still starting, and reads its notes."""
    async with asyncio.timeout(3 * PATIENCE_SECONDS):
        while True:
            text = (await client.call("echo__text", {"text": TEXT, "_context_query": QUERY})).text
            if "<surfaced-memories>" in text:
                return text
            await asyncio.sleep(0.1)


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text[-800:]
    return match[1]


async def test_every_event_of_a_call_is_filled_and_carries_its_trace_id(home: Home, start: Start) -> None:
    (home.path / "memories").mkdir()
    (home.path / "memories" / "deploy.md").write_text(NOTE)
    hidden = home.upstream("echo", tool_overrides={"small": {"hidden": True}})
    servers = {"echo": hidden, "dying": home.upstream("dying")}
    home.configure(servers, surfacing=SURFACING, selection_telemetry={"enabled": True}, cache={"enabled": False})
    client = await start("echo__text", "dying__die")
    text = await surfaced(client)
    await client.call("stm_proxy_read_more", {"key": found(r'key="([^"]+)"', text), "offset": 200})
    rated = {"surfacing_id": found(r"_surfacing_id: ([0-9a-f]+)_", text), "rating": "helpful"}
    assert "Recorded" in (await client.call("stm_surfacing_feedback", rated)).text
    await eventually(lambda: rows(home, "surfacing"))
    (event,) = rows(home, "surfacing")
    trace = event["trace_id"]
    report = {"server": "echo", "tool": "text", "missing": "line 400", "kind": "truncated", "trace_id": trace}
    await client.call("stm_compression_feedback", report)

    await eventually(lambda: len(rows(home, "compression_feedback")) == 1)
    tables = {kind: [row for row in rows(home, kind) if row["trace_id"] == trace] for kind in FILLED if kind != "fault"}
    for kind, mine in tables.items():
        columns = FILLED[kind]
        assert mine, f"no {kind} of the call"
        for row in mine:
            empty = [name for name in columns.split() if row[name] in (None, "", [], {}, 0)]
            assert empty == [], (kind, row)
            nulls = {name for name, value in row.items() if value is None} - NULLABLE.get(kind, set())
            assert nulls == set(), (kind, row)
    (call,) = tables["call"]
    assert call["compressed_chars"] < call["delivered_chars"] == len(text)
    assert call["memory_tokens"] < call["delivered_tokens"]
    assert call["upstream_at_ms"] < call["compress_at_ms"] < call["surface_at_ms"] < call["total_ms"]
    assert call["upstream_at_ms"] + call["upstream_ms"] < call["compress_at_ms"]
    first, follow_up = sorted(tables["progressive_reads"], key=lambda row: row["follow_up"])
    assert (first["offset"], follow_up["offset"]) == (0, 200)
    assert first["key_digest"] == follow_up["key_digest"]
    (selection,), (execution,) = tables["selection"], tables["execution"]
    assert selection["selection_id"] == execution["selection_id"]
    assert selection["reject_reasons"] == {"echo__small": "config_hidden"}
    assert selection["candidate_count"] == len(selection["candidate_tools"])
    assert (selection["ranker_version"], execution["error_type"]) == ("v1-bm25-tool-relevance", "")

    assert (await client.call("dying__die", {})).result["isError"]
    await eventually(lambda: rows(home, "fault"))
    fault = next(row for row in rows(home, "fault") if row["what"] == "died_in_call")
    (call,) = [row for row in rows(home, "call") if row["server"] == "dying"]
    assert all(fault[name] for name in FILLED["fault"].split())
    assert fault["trace_id"] == call["trace_id"]
    assert (call["ok"], fault["component"]) == (False, "upstream:dying")
