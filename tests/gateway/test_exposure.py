"""Every reason for which a tool is withheld, reached through the real gateway, seen in `proxy_health` and in the
selection log; and what the profiles make of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.gateway.conftest import ADMIN, Start, health

SELECTED = {"selection_telemetry": {"enabled": True}}


async def said(client: McpClient, *parts: str) -> None:
    async with asyncio.timeout(20):
        while [part for part in parts if part not in await health(client)]:
            await asyncio.sleep(0.05)


def lines(home: Home) -> list[dict[str, Any]]:
    """The selection log so far."""
    log = home.path / "bus" / "selection_log.jsonl"
    written = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    return [json.loads(line) for line in written]


async def selection(home: Home) -> dict[str, Any]:
    """The last line of the selection log that tells of a choice."""
    await eventually(lambda: any(line["kind"] == "execution" for line in lines(home)))
    found: dict[str, Any] = [line for line in lines(home) if line["kind"] == "selection"][-1]
    return found


async def test_every_reason_is_reached_and_recorded(home: Home, start: Start) -> None:
    hanging: dict[str, Any] = {"call_timeout_seconds": 0.2, "overall_deadline_seconds": 0.2, "circuit_max_failures": 0}
    overrides = {"text": {"hidden": True}, "length": {"expose_in_profiles": ["explore"]}}
    home.configure(
        {
            "echo": home.upstream("echo", tool_overrides=overrides),
            "twin": home.upstream("twins", "twin"),
            "secret": home.upstream("credentials", "secret"),
            "schemas": home.upstream("schemas"),
            "hanging": home.upstream("hanging", **hanging),
        },
        exposure={"health_min_calls": 1},
        **SELECTED,
    )
    client = await start("echo__echo", "schemas__plain", "hanging__hang", "twin__other", **ADMIN)
    await client.call("hanging__hang")
    await said(
        client,
        "withheld config_hidden (1): text",
        "withheld profile_excluded (1): length",
        "withheld duplicate_name (2): same, same",
        "withheld sensitive_metadata",
        "withheld invalid_schema",
        "withheld task_required (1): needs_task",
        "withheld unhealthy (1): hang",
    )
    await client.call("echo__params")
    await eventually(lambda: len(lines(home)) >= 4)
    reasons = (await selection(home))["reject_reasons"]
    assert reasons["echo__text"] == "config_hidden"
    assert reasons["schemas__dangling"] == "registration_declined"
    assert set(reasons.values()) == {
        "config_hidden",
        "profile_excluded",
        "duplicate_name",
        "sensitive_metadata",
        "registration_declined",
        "task_required",
        "unhealthy",
    }


async def test_a_name_without_room_is_withheld(home: Home, start: Start) -> None:
    home.serve("echo")
    client = await start(
        "stm_admin", MMS_CLIENT_SERVER_NAME="a-gateway-name-of-more-than-fifty-characters-in-all-1", **ADMIN
    )
    await said(client, "withheld name_overflow")
    answer = await client.call("echo__text")
    assert "MMS_CLIENT_SERVER_NAME" in answer.text


async def test_review_demotes_an_unhealthy_tool(home: Home, start: Start) -> None:
    hanging: dict[str, Any] = {"call_timeout_seconds": 0.2, "overall_deadline_seconds": 0.2, "circuit_max_failures": 0}
    exposure = {"profile": "review", "health_min_calls": 1, "review_risk_penalty": 1.0}
    home.configure({"hanging": home.upstream("hanging", **hanging)}, exposure=exposure, **SELECTED)
    client = await start("hanging__hang", **ADMIN)
    await client.call("hanging__hang", {"_context_query": "hang"})
    before = await selection(home)
    assert before["ranker_version"] == "v1-bm25-tool-relevance"
    assert before["candidate_features"]["hanging__hang"]["rank"] == 1
    await said(client, "demoted unhealthy: hanging__hang")
    assert "hanging__hang" in await client.tools()
    await client.call("hanging__alive", {"_context_query": "hang hanging alive"})
    await eventually(lambda: any(line.get("ranker_version") == "v2-bm25-risk-penalty" for line in lines(home)))
    features = (await selection(home))["candidate_features"]
    assert features["hanging__hang"]["final"] == 0
    assert (features["hanging__alive"]["rank"], features["hanging__hang"]["rank"]) == (1, 2)
