"""An external tool-graph provider decides which tools are shown: through the real gateway, in front of a provider of
ours that also goes wrong in every way."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from tests.eventually import eventually, until
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.fixtures.servers.graph import GENERATION
from tests.gateway.conftest import ADMIN, Start, health

pytestmark = pytest.mark.slow

BLOCKED = {"echo::text": "NOT_GRANTED", "echo::echo": "odd reason — with (signs)!", "gone::x": "DRIFTED"}


def tell(home: Home, **files: str) -> None:
    """Sets what the provider does: `mode`, `rejected`, `generation`."""
    for kind, text in files.items():
        (home.path / f"graph.jsonl.{kind}").write_text(text)


def provider(home: Home, **keys: Any) -> dict[str, Any]:
    """The `toolgraph` block for the fixture."""
    entry = home.upstream("graph")
    return {"enabled": True, "command": entry["command"], "args": entry["args"], **keys}


def configure(home: Home, *behaviours: str, **keys: Any) -> None:
    """Servers, `echo` unless said, behind a provider with these keys."""
    home.serve(*(behaviours or ("echo",)), toolgraph=provider(home, **keys))


async def names(client: McpClient) -> set[str]:
    return {name for name in await client.tools() if not name.startswith("stm_")}


def questions(home: Home) -> list[dict[str, Any]]:
    asked = (
        json.loads(entry["params"]) for entry in home.recorded("graph", "request") if entry["method"] == "tools/call"
    )
    return [params["arguments"] for params in asked]


async def test_what_it_rejects_is_withheld_and_said(home: Home, start: Start) -> None:
    tell(home, rejected=json.dumps(BLOCKED))
    configure(home, "echo", "slow", agent_id="me", query_profile="careful", server_name_map={"slow": "sleepy"})
    client = await start(**ADMIN)
    shown = await names(client)  # the very first list
    assert {"echo__params", "slow__fast"} <= shown
    assert not {"echo__text", "echo__echo"} & shown
    (question,) = questions(home)
    assert (question["agent"], question["profile"]) == ("me", "careful")
    assert {"echo::text", "sleepy::fast"} <= set(question["candidates"])
    report = await health(client)
    assert "Tool-graph provider: ready" in report
    assert f"generation {GENERATION}, 2 tools rejected" in report
    assert "withheld toolgraph_not_granted (1): text" in report
    assert "withheld toolgraph_odd_reason_with_signs (1): echo" in report


async def test_review_demotes_and_explore_ignores(home: Home, start: Start) -> None:
    tell(home, rejected=json.dumps(BLOCKED))
    review = {"profile": "review", "review_risk_penalty": 0.75}
    home.serve("echo", toolgraph=provider(home), exposure=review, selection_telemetry={"enabled": True})
    client = await start("echo__text", **ADMIN)
    assert "demoted toolgraph_not_granted: echo__text" in await health(client)
    await client.call("echo__text", {"text": "x", "_context_query": "text of the fixture"})
    log = home.path / "bus" / "selection_log.jsonl"
    await eventually(lambda: log.exists() and log.read_text().count("\n") >= 2)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    selection = next(event for event in events if event["kind"] == "selection")
    features = selection["candidate_features"]["echo__text"]
    assert selection["ranker_version"] == "v2-bm25-risk-penalty"
    assert selection["graph_generation"] == GENERATION
    assert features["risk_penalty"] == 0.75
    assert features["final"] == pytest.approx(features["bm25"] / 4, abs=1e-3)
    home.serve("echo", toolgraph=provider(home), exposure={"profile": "explore"})

    async def settled() -> bool:
        return "demoted" not in await health(client)

    await until(settled)
    assert "echo__text" in await names(client)


async def test_a_changed_catalogue_is_asked_about(home: Home, start: Start) -> None:
    """A tool is shown when the provider has seen it, not before."""
    tell(home, rejected=json.dumps({"slow::fast": "DENY_GOVERNED"}))
    configure(home)
    client = await start("echo__text", **ADMIN)
    configure(home, "echo", "slow")
    await client.tools_with("slow__block")
    assert "slow__fast" not in await names(client)
    assert len(questions(home)) == 2
    (started,) = home.recorded("graph", "start")
    (actor,) = [pid for pid, line in home.processes().items() if "actors.upstream" in line]
    os.kill(actor, signal.SIGKILL)  # a provider is nobody's orphan
    await eventually(lambda: started["pid"] not in home.processes())
    await client.tools_with("slow__block")


async def test_an_answer_that_is_none_shows_no_tool(home: Home, start: Start) -> None:
    """`on_protocol_error` is `fail_start`: until it has answered once, nothing of any server is shown."""
    tell(home, mode="refused")
    configure(home)
    client = await start("stm_admin", **ADMIN)
    await eventually(lambda: bool(questions(home)))

    async def refused() -> bool:
        return "Tool-graph provider: protocol_error" in await health(client)

    await until(refused)
    report = await health(client)
    assert "no tool is shown until it answers" in report
    assert "hunter2" not in report
    assert await names(client) == set()


async def test_a_kept_answer_serves_the_next_start(home: Home, start: Start) -> None:
    """The provider is away at the next start: what it said before still holds, and clearing the cache leaves it."""
    tell(home, rejected=json.dumps(BLOCKED))
    configure(home)
    client = await start("echo__params", **ADMIN)
    await client.call("stm_admin", {"action": "proxy_cache_clear"})
    kept = home.path / "bus" / "toolgraph.json"
    await eventually(kept.exists)
    assert kept.stat().st_mode & 0o777 == 0o600
    await client.close()
    tell(home, mode="crash_at_start")
    client = await start("echo__params", **ADMIN)
    assert "echo__text" not in await names(client)

    async def unreachable() -> bool:
        return "Tool-graph provider: unreachable" in await health(client)

    await until(unreachable)
    assert f"generation {GENERATION} (kept from an earlier run)" in await health(client)
    assert "echo__text" not in await names(client)


async def test_the_command_line_says_it_too(home: Home) -> None:
    tell(home, mode="no_json")
    configure(home)
    client = await home.gateway()
    try:
        await client.handshake()
        await client.tools()
        await eventually(lambda: bool(questions(home)))
        found = home.mms("health")
        assert found.returncode == 1
        assert "protocol error" in found.stdout
        assert "down: the tool-graph provider is protocol error" in found.stderr
    finally:
        await client.close()
        home.mms("down")
