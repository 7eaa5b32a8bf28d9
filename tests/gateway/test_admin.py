"""`stm_admin` and `stm_memory_propose` as a client meets them."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from collections.abc import Awaitable, Callable
from typing import Any

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import PATIENCE_SECONDS, Answer, McpClient
from tests.fixtures.scripted_ltm import ScriptedLtm
from tests.gateway.conftest import ADMIN, Connect, Start

FORMATION = {"MEMTOMEM_STM_FORMATION__ENABLED": "true"}
SECRET = "hunter2-correct-horse"
ACTIONS = (
    "proxy_stats",
    "proxy_health",
    "proxy_cache_clear",
    "surfacing_stats",
    "selection_stats",
    "compression_stats",
    "progressive_stats",
    "tuning_recommendations",
)
SURFACING = {"enabled": True, "cooldown_seconds": 0, "max_surfacings_per_minute": 1000, "dedup_ttl_seconds": 0}


async def admin(client: McpClient, action: str, /, **params: Any) -> str:
    answer = await client.call("stm_admin", {"action": action, "params": params})
    assert not answer.result.get("isError"), answer.text
    return answer.text


async def until_said(ask: Callable[[], Awaitable[str]], pattern: str) -> str:
    """The first answer that holds the pattern: events are counted a moment after the call they are about."""
    text = ""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not re.search(pattern, text := await ask()):
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"{pattern!r} is not said:\n{text}") from None
    return text


def refused(answer: Answer) -> str:
    assert answer.result["isError"] is True
    assert SECRET not in answer.line.decode()
    return answer.text


async def test_without_the_flags_the_optional_tools_do_not_exist(connect: Connect) -> None:
    client = await connect()
    for tool, arguments in (("stm_admin", {"action": "help"}), ("stm_memory_propose", {"content": "x"})):
        assert (await client.call(tool, arguments)).code == -32602


async def test_a_flag_in_the_file_takes_effect_while_the_gateway_runs(home: Home, start: Start) -> None:
    home.serve("echo")
    client = await start("echo__echo")
    assert "stm_admin" not in await client.tools()
    seen = len(client.notifications)
    home.serve("echo", advertise_observability_tools=True)
    await client.notification("notifications/tools/list_changed", after=seen)
    assert "stm_admin" in await client.tools()
    assert await admin(client, "help")


async def test_help_tells_every_action_and_one(connect: Connect) -> None:
    client = await connect(**ADMIN)
    everything = await admin(client, "help")
    assert all(re.search(rf"^{action}: ", everything, re.MULTILINE) for action in ACTIONS)
    one = await admin(client, "help", action="surfacing_stats")
    assert "limit (integer, default 10)" in one
    assert "proxy_health" not in one
    declared = (await client.tools())["stm_admin"]["inputSchema"]["properties"]["action"]["enum"]
    assert declared == [*ACTIONS, "help"]


async def test_refusals_name_the_argument_and_never_its_value(connect: Connect) -> None:
    client = await connect(**ADMIN, **FORMATION)
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("stm_admin", {"action": SECRET}, "unknown action"),
        ("stm_admin", {"action": 5}, "action"),
        ("stm_admin", {}, "action"),
        ("stm_admin", {"action": "help", "verbose": SECRET}, "verbose"),
        ("stm_admin", {"action": "proxy_stats", "params": [SECRET]}, "params"),
        ("stm_admin", {"action": "proxy_stats", "params": {"tool": SECRET}}, "tool"),
        ("stm_admin", {"action": "surfacing_stats", "params": {"limit": SECRET}}, "limit must be an integer"),
        ("stm_admin", {"action": "surfacing_stats", "params": {"since": SECRET}}, "since"),
        ("stm_memory_propose", {"content": [SECRET]}, "content"),
        ("stm_memory_propose", {"content": SECRET * 100}, "content"),
        ("stm_memory_propose", {"content": "x", "title": SECRET}, "title"),
    ]
    for tool, arguments, named in cases:
        assert named in refused(await client.call(tool, arguments))


async def test_actions_answer_on_a_fresh_cluster_calls_are_counted_and_the_cache_is_cleared_by_scope(
    home: Home, start: Start
) -> None:
    home.serve("echo")
    client = await start("echo__count", **ADMIN)
    for action in ACTIONS:
        assert await admin(client, action)
    assert "insufficient data" in await admin(client, "surfacing_stats")
    assert "off" in await admin(client, "selection_stats")
    assert "Unclassified legacy read events: 0" in await admin(client, "progressive_stats")

    for _ in range(2):
        assert (await client.call("echo__count")).text == "1"
    await client.call("echo__echo", {"a": 1})
    stats = await until_said(lambda: admin(client, "proxy_stats"), r"Calls: 3 ")
    assert re.search(r"Calls: 3 \(2 live, 1 cached, 0 failed\)", stats)
    assert "Cache hits: 1 of 3" in stats
    assert "echo__count: 2 calls (1 cached" in stats
    assert "last: 0 hint(s)" in stats

    elsewhere = await admin(client, "proxy_cache_clear", server="echo", tool="text")
    assert "Cleared 0 cached responses of server echo tool text" in elsewhere
    assert (await client.call("echo__count")).text == "1"
    assert "Cleared 1 cached response of server echo" in await admin(client, "proxy_cache_clear", tool="echo__count")
    assert (await client.call("echo__count")).text == "2"
    assert "memory search results" in await admin(client, "proxy_cache_clear")
    assert (await client.call("echo__count")).text == "3"


async def test_health_says_what_is_wrong_with_the_configuration(home: Home, start: Start) -> None:
    """Of a server that fails to start it shows the type of the failure and nothing else."""
    missing = {"prefix": "missing", "command": str(home.path / SECRET)}
    servers = {"missing": missing, "echo": home.upstream("echo")}
    home.configure(servers, surfacing={"enabled": False, "min_scor": 0.3}, advertise_context_query=True)
    client = await start("echo__echo", **ADMIN)
    assert "_context_query" in (await client.tools())["echo__text"]["inputSchema"]["properties"]
    report = await until_said(lambda: admin(client, "proxy_health"), "startup connect failed")
    assert "startup connect failed: FileNotFoundError" in report
    assert SECRET not in report
    assert "min_score" in report
    assert re.search(r"^echo: ready", report, re.MULTILINE)
    assert "circuit breaker closed" in report


async def test_surfacing_ratings_and_reports_are_counted(home: Home, start: Start) -> None:
    (home.path / "memories").mkdir()
    note = "# Deploying the frobnicator\n\nDeploy the frobnicator service with the rollout script on Fridays.\n"
    (home.path / "memories" / "deploy.md").write_text(note)
    home.serve("echo", surfacing=SURFACING)
    client = await start("echo__text", **ADMIN)
    await until_said(lambda: admin(client, "proxy_health"), "LTM ready")
    query = "how to deploy the frobnicator service with the rollout script"
    shown = await client.call("echo__text", {"text": "x" * 300, "_context_query": query})
    text = "".join(block["text"] for block in shown.result["content"])
    surfacing_id = re.search(r"_surfacing_id: (\w+)_", text)
    assert surfacing_id, text
    rated = await client.call("stm_surfacing_feedback", {"surfacing_id": surfacing_id[1], "rating": "helpful"})
    assert not rated.result.get("isError"), rated.text

    # Three actors tell of this one call, each in its own time.
    everything = "(?s)events_total: 1.*total_feedback: 1.*by decision:"
    stats = await until_said(lambda: admin(client, "surfacing_stats", tool="echo__text"), everything)
    assert "helpful 1" in stats
    assert "Helpful ratio: 100%" in stats
    assert "Withheld" not in stats
    assert surfacing_id[1] in stats
    assert surfacing_id[1] not in await admin(client, "surfacing_stats", limit=0)
    assert "events_total: 0" in await admin(client, "surfacing_stats", tool="echo__echo")
    assert "events_total: 0" in await admin(client, "surfacing_stats", since="2999-01-01")

    for _ in range(3):
        missing = {"server": "echo", "tool": "text", "missing": f"the end; password={SECRET}", "kind": "truncated"}
        await client.call("stm_compression_feedback", missing)
    lost = await until_said(lambda: admin(client, "compression_stats"), "lost information: 3")
    assert "echo__text: 3" in lost
    assert SECRET not in lost

    advice = await admin(client, "tuning_recommendations")
    assert "echo__text: raise max_result_chars 16,000 → 32,000" in advice
    assert "3 reports of lost information (truncated 3)" in advice
    assert "set upstream_servers.echo.tool_overrides.text.max_result_chars = 32000" in advice
    assert (
        advice.splitlines()[1:] == (await admin(client, "tuning_recommendations", tool="echo__text")).splitlines()[1:]
    )
    for nothing in ({"tool": ""}, {"tool": "echo__echo"}, {"since_hours": 0}):
        assert "No recommendations" in await admin(client, "tuning_recommendations", **nothing)


async def test_follow_up_reads_are_counted_per_response(connect: Connect) -> None:
    client = await connect(ready=("read__text",), **ADMIN)
    text = "\n".join(f"line {number} of a long and varied text, {number * 7919 % 1000}" for number in range(3000))
    shortened = (await client.call("read__text", {"text": text})).text
    key = re.search(r'key="([^"]+)"', shortened)
    assert key, shortened[-500:]
    for offset in (0, 1000):
        await client.call("stm_proxy_read_more", {"key": key[1], "offset": offset, "limit": 1000})
    stats = await until_said(lambda: admin(client, "progressive_stats", tool="read__text"), "Reads: 3")
    assert "Responses: 1 " in stats
    assert "Follow-up rate: 100%" in stats
    assert re.search(r"characters served \(repeats included\), coverage \d+% of [\d,]+$", stats, re.MULTILINE)
    assert re.search(r"Recorded follow-up payload chars: [1-9][\d,]*$", stats, re.MULTILINE)
    assert "Store failures (whole response passed through): 0" in stats


async def test_selections_are_recorded_where_they_are_wanted(home: Home, start: Start) -> None:
    home.configure(
        {
            "echo": home.upstream("echo", tool_overrides={"small": {"hidden": True}}),
            "failing": home.upstream("failing"),
        },
        selection_telemetry={"enabled": True},
    )
    client = await start("echo__echo", "failing__fine", **ADMIN)
    await client.call("echo__text", {"text": SECRET, "query": "answers its text"})
    await client.call("echo__echo", {"a": 1})
    stats = await until_said(lambda: admin(client, "selection_stats"), r"4 written")
    assert "Selection telemetry: on" in stats
    assert "2 selections, 2 executions" in stats
    assert "v1-bm25-tool-relevance 1" in stats
    assert "v0-passthrough 1" in stats
    assert "echo/echo__text 1" in stats
    assert re.search(r"Rejected: config_hidden 2", stats)

    log = home.path / "bus" / "selection_log.jsonl"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert SECRET not in log.read_text()
    records = [json.loads(line) for line in log.read_text().splitlines()]
    selection, execution = (
        next(r for r in records if r["kind"] == kind and r["selected_tool"] == "echo__text")
        for kind in ("selection", "execution")
    )
    assert selection["selection_id"] == execution["selection_id"]
    assert selection["trace_id"] == execution["trace_id"]
    assert (execution["ok"], execution["error_type"], execution["cost"]) == (True, "", None)
    listed = [name for name in await client.tools() if not name.startswith("stm_")]
    assert selection["candidate_tools"] == listed
    assert selection["candidate_count"] == len(listed)
    assert selection["reject_reasons"] == {"echo__small": "config_hidden"}
    assert selection["candidate_features"]["echo__text"]["rank"] == 1
    assert selection["graph_generation"] is None

    label = home.mms("selection", "feedback", selection["selection_id"], "--user-corrected")
    assert label.returncode == 0, label.stderr
    assert json.loads(log.read_text().splitlines()[-1])["user_corrected"] is True
    assert home.mms("selection", "feedback", "unknown").returncode == 1
    assert "1 labels" in await admin(client, "selection_stats")
    assert "v1-bm25-tool-relevance" in home.mms("selection", "replay").stdout
    asked = home.mms("sql", "FROM selection_by_ranker SELECT ranker_version, selections, ok_ratio", "--format", "json")
    assert asked.returncode == 0, asked.stderr
    assert "v1-bm25-tool-relevance" in asked.stdout


async def test_without_a_review_queue_nothing_is_proposed(home: Home, start: Start) -> None:
    """The embedded LTM has none; that is found out at the call, the tool is shown all the same."""
    home.serve("echo", surfacing={"enabled": True})
    client = await start("echo__echo", **FORMATION)
    answer = await client.call("stm_memory_propose", {"content": "Deploys stop on Friday."})
    assert json.loads(answer.text) == {"ok": False, "reason": "formation_unsupported"}
    assert not list(home.path.glob("memories/**/*.md"))


async def test_a_proposal_reaches_the_review_queue(home: Home, start: Start) -> None:
    ltm = ScriptedLtm(home.path)
    version = {"capabilities": {"candidate_propose": {"schema_version": 1}}}
    ltm.tell(version=version, proposed={"candidate_id": "c1", "status": "pending"})
    home.serve("echo", surfacing={"enabled": True, **ltm.settings}, formation={"max_content_chars": 100})
    client = await start("echo__echo", **FORMATION)
    answer = await client.call("stm_memory_propose", {"content": "Deploys stop on Friday.", "source_ref": "chat 7"})
    assert json.loads(answer.text) == {"ok": True, "proposal": {"candidate_id": "c1", "status": "pending"}}
    await eventually(lambda: any(call["action"] == "candidate_propose" for call in ltm.calls("mem_do")))
    assert "at most" in refused(await client.call("stm_memory_propose", {"content": "x" * 101}))


async def test_health_says_which_server_is_resting_and_which_tool_is_withheld(connect: Connect) -> None:
    client = await connect(ready=("resting__block",), **ADMIN)
    for _ in range(5):
        assert "did not answer block" in (await client.call("resting__block")).text
    assert "upstream resting is resting after 5 failures" in (await client.call("resting__fast")).text
    report = await until_said(lambda: admin(client, "proxy_health"), r"withheld unhealthy.*block \(5 of 5")
    assert re.search(r"^resting: .*(\n +.*)*circuit breaker open: 5 failures, next try in", report, re.M), report
    assert "block (5 of 5 calls failed in 24 h; it comes back by itself" in report
