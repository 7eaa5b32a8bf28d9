"""The upstream actor with real servers: catalogue, calls, hot reload, what a dead server costs."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from actors.upstream import era
from actors.upstream.actor import UpstreamActor
from actors.upstream.messages import (
    CallResult,
    CallTool,
    Catalogue,
    GetServers,
    Progress,
    ResponseTooLarge,
    ServerState,
    UpstreamDied,
    UpstreamTimeout,
    UpstreamUnavailable,
    WatchCatalogue,
)
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from config.place import Place
from tests.eventually import eventually
from tests.fixtures.upstreams import recorded, upstream


class Pool:
    """A running upstream actor and its configuration file."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.bus = Bus(Runtime(place.runtime), "test")

    def entry(self, behaviour: str, **keys: Any) -> dict[str, Any]:
        return upstream(behaviour, behaviour, record=self.place.home / f"{behaviour}.jsonl", **keys)

    def configure(self, *behaviours: str, **entries: dict[str, Any]) -> None:
        servers = {name: self.entry(name) for name in behaviours} | entries
        self.place.config_file.write_text(json.dumps({"enabled": True, "upstream_servers": servers}))

    async def call(self, server: str, tool: str, arguments: object = None, **options: Any) -> CallResult:
        params = json.dumps({"arguments": arguments or {}}).encode()
        options.setdefault("timeout", 30)
        request = CallTool(server=server, tool=tool, params=Blob(params), progress="on_item" in options)
        return await self.bus.ask(request, **options)

    async def text(self, server: str, tool: str, arguments: object = None) -> str:
        result = (await self.call(server, tool, arguments)).result
        assert result is not None
        text: str = json.loads(result.data)["content"][0]["text"]
        return text

    async def state(self, server: str) -> ServerState:
        servers = (await self.bus.ask(GetServers(), timeout=10)).servers
        return next(state for state in servers if state.name == server)

    async def until(self, *names: str, absent: str = "") -> Catalogue:
        """The first catalogue with these tools, and without those whose name starts with `absent`."""
        async with asyncio.timeout(20):
            async for catalogue in self.bus.watch(WatchCatalogue()):
                found = {tool.name for tool in catalogue.tools}
                if found.issuperset(names) and not (absent and any(name.startswith(absent) for name in found)):
                    return catalogue
        raise AssertionError("the catalogue's stream ended")


@asynccontextmanager
async def running(pool: Pool) -> AsyncIterator[UpstreamActor]:
    actor = UpstreamActor(pool.place)
    await actor.start()
    try:
        yield actor
    finally:
        pool.bus.close()
        await actor.stop(drain=0.1)
        assert list(pool.place.groups.iterdir()) == []


@pytest.fixture
def pool(place: Place) -> Pool:
    return Pool(place)


async def test_calls_reach_their_server_and_come_back_as_they_were(pool: Pool) -> None:
    pool.configure("echo", "mixed")
    async with running(pool):
        await pool.until("echo__echo", "mixed__long")
        params = Blob(b'{"arguments":{"id":9007199254740993,"x":1.10,"e":1E400,"neg":-0.0}}')
        answer = await pool.bus.ask(CallTool(server="echo", tool="echo", params=params), timeout=10)
        assert answer.result is not None
        assert b'"structuredContent":{"id":9007199254740993,"x":1.10,"e":1E400,"neg":-0.0}' in answer.result.data


async def test_one_hung_and_one_missing_server_cost_nobody_else(pool: Pool) -> None:
    missing = {"prefix": "missing", "command": "no-such-command-here"}
    pool.configure("echo", "hung", missing=missing)
    async with running(pool):
        catalogue = await pool.until("echo__echo")
        assert {state.name: state.state for state in catalogue.servers}["hung"] == "starting"
        state = await pool.state("missing")
        assert state.state == "failed"
        assert "command not found: no-such-command-here" in state.error
        with pytest.raises(UpstreamUnavailable, match="upstream missing is not available: command not found"):
            await pool.call("missing", "x")


async def test_servers_are_added_removed_and_changed_without_a_restart(pool: Pool) -> None:
    pool.configure("echo")
    async with running(pool):
        await pool.until("echo__echo")
        before = await pool.state("echo")
        pool.configure("echo", "slow")
        await pool.until("echo__echo", "slow__fast")
        assert (await pool.state("echo")).pid == before.pid
        pool.configure("slow")
        await pool.until("slow__fast", absent="echo__")
        with pytest.raises(UpstreamUnavailable, match="echo is not configured"):
            await pool.call("echo", "echo")
        pool.configure(renamed=pool.entry("slow") | {"prefix": "s2"})
        await pool.until("s2__fast", absent="slow__")


async def test_a_server_under_another_name_keeps_its_tools(pool: Pool) -> None:
    pool.configure("echo")
    async with running(pool):
        await pool.until("echo__echo")
        pool.configure(renamed=pool.entry("echo"))
        async with asyncio.timeout(20):
            async for catalogue in pool.bus.watch(WatchCatalogue()):
                servers = {tool.server for tool in catalogue.tools if tool.name == "echo__echo"}
                assert servers in ({"echo"}, {"renamed"})
                if servers == {"renamed"}:
                    break
        assert await pool.text("renamed", "text", {"text": "still here"}) == "still here"


async def test_a_broken_edit_changes_nothing_and_is_shown(pool: Pool) -> None:
    pool.configure("echo")
    async with running(pool):
        await pool.until("echo__echo")
        pool.place.config_file.write_text('{"enabled": true, "upstream_servers": {')
        async with asyncio.timeout(20):
            while not (await pool.bus.ask(GetServers(), timeout=5)).config_error:
                await asyncio.sleep(0.05)
        assert await pool.text("echo", "text", {"text": "still here"}) == "still here"


async def test_the_catalogue_of_the_last_run_answers_before_the_server_does(pool: Pool) -> None:
    pool.configure("echo")
    async with running(pool):
        first = await pool.until("echo__echo")
    await asyncio.to_thread(_hang_from_now_on, pool)
    again = Pool(pool.place)
    async with running(again):
        stream = again.bus.watch(WatchCatalogue())
        catalogue = await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        assert [tool.name for tool in catalogue.tools] == [tool.name for tool in first.tools]
        assert catalogue.generation == first.generation
        assert catalogue.servers[0].state == "starting"


def _hang_from_now_on(pool: Pool) -> None:
    """The same command line, which is what the kept copy belongs to, that now never answers."""
    document = json.loads(pool.place.config_file.read_text())
    entry = document["upstream_servers"]["echo"]
    wrapper = pool.place.home / "server.sh"
    wrapper.write_text("#!/bin/sh\nexec sleep 1000\n")
    wrapper.chmod(0o700)
    entry["command"], entry["args"] = str(wrapper), []
    pool.place.config_file.write_text(json.dumps(document))
    kept = pool.place.state / "catalogue.json"
    from actors.upstream.kept import fingerprint, load, save
    from config.load import load_settings

    servers = load(kept)
    servers["echo"].connection = fingerprint(load_settings(pool.place).settings.proxy.upstream_servers["echo"])
    save(kept, servers)


async def test_a_read_is_repeated_after_a_death_and_a_write_is_not(pool: Pool) -> None:
    pool.configure("dying")
    marker = pool.place.home
    async with running(pool):
        await pool.until("dying__die_read")
        answer = await pool.call("dying", "die_read", {"once": str(marker / "r")})
        assert answer.retries == 1
        with pytest.raises(UpstreamDied, match="may have taken effect"):
            await pool.call("dying", "die_write", {"once": str(marker / "w")})
        assert (await pool.call("dying", "alive")).result is not None
        assert (await pool.state("dying")).restarts == 2


async def test_time_outs_name_the_server_and_cancel_there(pool: Pool) -> None:
    pool.configure(slow=pool.entry("slow", call_timeout_seconds=0.3))
    async with running(pool):
        await pool.until("slow__block")
        with pytest.raises(UpstreamTimeout, match=r"upstream slow did not answer block within 0\.3 s"):
            await pool.call("slow", "block")
        await eventually(lambda: recorded(pool.place.home / "slow.jsonl", "cancelled"))
        assert await pool.text("slow", "fast", {"n": 1}) == "fast 1"


async def test_an_answer_over_the_limit_is_a_bounded_error(pool: Pool) -> None:
    pool.place.config_file.write_text(
        json.dumps({"max_upstream_bytes": 1_000_000, "upstream_servers": {"flooding": pool.entry("flooding")}})
    )
    async with running(pool):
        await pool.until("flooding__flood")
        with pytest.raises(ResponseTooLarge, match="over the limit of 1000000 bytes"):
            await pool.call("flooding", "flood", {"bytes": 3_000_000})
        assert await pool.text("flooding", "alive") == "alive"


async def test_progress_arrives_in_order_before_the_result(pool: Pool) -> None:
    pool.configure("progress")
    async with running(pool):
        catalogue = await pool.until()
        tool = next(tool.tool for tool in catalogue.tools if tool.server == "progress")
        seen: list[Progress] = []
        await pool.call("progress", tool, {"steps": 5, "count": 5}, on_item=seen.append)
        steps = [json.loads(item.params) for item in seen]
        assert len(steps) >= 2
        assert [step["progress"] for step in steps] == sorted(step["progress"] for step in steps)
        assert all("progressToken" not in step for step in steps)


async def test_junk_is_skipped_and_counted(pool: Pool) -> None:
    pool.configure("dirty")
    async with running(pool):
        await pool.until("dirty__noisy")
        assert await pool.text("dirty", "noisy") == "clean"
        state = await pool.state("dirty")
        assert state.junk_lines >= 6
        assert state.stderr_bytes >= 5_000_000


async def test_a_slow_server_of_the_stateless_era_is_not_taken_for_an_old_one(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers the probe after the probe's time, and refuses the handshake that followed."""
    monkeypatch.setattr(era, "PROBE_SECONDS", 0.2)
    entry = pool.entry("stateless")
    script = "sleep 0.8; exec " + shlex.join([entry["command"], *entry["args"]])
    pool.configure(stateless={**entry, "command": "sh", "args": ["-c", script]})
    async with running(pool):
        await pool.until("stateless__echo")
        assert (await pool.state("stateless")).protocol_version == era.STATELESS_VERSION
