"""Cached calls through the upstream actor, with a server that says how often each tool has run."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.upstream.cache import Caching
from actors.upstream.cache_store import CacheStore
from actors.upstream.cached_calls import CachedCalls, CallOf, Relay
from actors.upstream.messages import (
    CacheStats,
    CallResult,
    ClearCache,
    GetCacheStats,
    Progress,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from bus.errors import DeadlineExceeded, Refused
from bus.message import Blob
from config.place import Place
from config.schema_upstream import UpstreamSettings
from tests.actors.upstream.test_pool import Pool, running
from tests.fixtures.upstreams import recorded

ALL = ("r__read", "r__write", "r__both", "r__silent", "r__held")
TOKEN = "ghp_" + "a1B2" * 10


class Reading(Pool):
    """A pool with the one server, called `r`."""

    def serve(self, settings: dict[str, Any] | None = None, /, **keys: Any) -> None:
        """Writes the configuration: the block `cache`, and keys of the server."""
        entry = self.entry("reading") | {"prefix": "r"} | keys
        document = {"enabled": True, "cache": settings or {}, "upstream_servers": {"r": entry}}
        self.place.config_file.write_text(json.dumps(document))

    def ran(self, tool: str) -> int:
        """How many calls of a tool the server has been sent."""
        requests = recorded(self.place.home / "reading.jsonl", "request")
        calls = [json.loads(request["params"]) for request in requests if request["method"] == "tools/call"]
        return sum(params["name"] == tool for params in calls)

    async def said(self, tool: str, arguments: object = None) -> str:
        return await self.text("r", tool, arguments)

    async def stats(self) -> CacheStats:
        return await self.bus.ask(GetCacheStats(), timeout=10)

    async def stored(self, entries: int) -> None:
        """Waits until the cache holds so many entries: an answer is stored after it was given."""
        async with asyncio.timeout(20):
            while (await self.stats()).entries != entries:
                await asyncio.sleep(0.01)


@pytest.fixture
def pool(place: Place) -> Reading:
    return Reading(place)


async def test_a_read_is_made_once_and_its_answer_is_the_very_bytes(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        first = await pool.call("r", "read", {"a": 1, "b": [1.0, {"x": None}]})
        await pool.stored(1)
        second = await pool.call("r", "read", {"b": [1.0, {"x": None}], "a": 1})
        assert (first.cached, second.cached) == (False, True)
        assert first.result == second.result
        assert (await pool.call("r", "read", {"a": 1.0, "b": [1.0, {"x": None}]})).cached is False
        stats = await pool.stats()
        assert (stats.hits, stats.misses, stats.error) == (1, 2, "")
        await pool.stored(2)
        assert (await pool.stats()).by_tool == (("r", "read", 2),)


async def test_the_cache_survives_a_restart(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        assert await pool.said("read") == "read 1"
        await pool.stored(1)
    again = Reading(pool.place)
    async with running(again):
        await again.until(*ALL)
        assert (await again.call("r", "read")).cached is True
        assert (await again.stats()).entries == 1
    assert (pool.place.state / "cache.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("settings", "keys", "cached"),
    [
        ({}, {}, {"read", "say"}),
        ({"tool_annotation_policy": "conservative"}, {}, {"read", "say", "silent"}),
        ({"tool_annotation_policy": "ignore"}, {}, {"read", "say", "silent", "write", "both"}),
        ({}, {"cache": True}, {"read", "say", "silent"}),
        ({}, {"tool_overrides": {"silent": {"cache": True}, "read": {"cache": False}}}, {"say", "silent"}),
        ({}, {"cache": False, "tool_overrides": {"say": {"cache": True}}}, {"say"}),
        ({}, {"cache_ttl_seconds": 0, "tool_overrides": {"say": {"cache_ttl_seconds": 60}}}, {"say"}),
        ({"default_ttl_seconds": None}, {}, {"read", "say"}),
        ({"default_ttl_seconds": 0}, {"cache": True}, set()),
        ({"enabled": False}, {"cache": True}, set()),
    ],
)
async def test_annotations_and_configuration_decide_what_is_cached(
    pool: Reading, settings: dict[str, Any], keys: dict[str, Any], cached: set[str]
) -> None:
    pool.serve(settings, **keys)
    async with running(pool):
        await pool.until(*ALL)
        tools = ("write", "both", "read", "say", "silent")  # writers first: they drop what is cached
        for tool in tools:
            await pool.call("r", tool, {"text": "x"})
        await pool.stored(len(cached))
        again = {tool for tool in reversed(tools) if (await pool.call("r", tool, {"text": "x"})).cached}
        assert again == cached


async def test_errors_are_never_kept(pool: Reading) -> None:
    pool.serve({"tool_annotation_policy": "ignore"})
    async with running(pool):
        await pool.until(*ALL)
        assert [await pool.said("fail") for _ in range(3)] == ["fail 1", "fail 2", "fail 3"]
        errors = [(await pool.call("r", "refuse")).error for _ in range(3)]
        assert [json.loads(error.data)["message"] for error in errors if error] == ["refuse 1", "refuse 2", "refuse 3"]
        await pool.said("read")
        await pool.stored(1)


@pytest.mark.parametrize("padding", [0, 100_000])
async def test_what_looks_like_a_credential_is_never_kept(pool: Reading, padding: int) -> None:
    pool.serve()
    secret = json.dumps({"log": json.dumps({"out": f"{'word ' * (padding // 5)}\n{TOKEN}"})})
    plain = secret.replace(TOKEN, "harmless")
    async with running(pool):
        await pool.until(*ALL)
        for number in (1, 2):
            assert await pool.said("say", {"text": secret}) == f"{secret} {number}"
        await pool.said("say", {"text": plain})
        await pool.stored(1)
        assert (await pool.stats()).sensitive == 2
    data = b"".join(path.read_bytes() for path in pool.place.state.glob("cache.db*"))
    assert b"harmless" in data
    assert TOKEN.encode() not in data


async def test_nothing_of_the_connection_stands_in_the_file(pool: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMS_TEST_SECRET", "open-sesame-1")
    pool.serve(env={"WHO": "${MMS_TEST_SECRET}"})
    async with running(pool):
        await pool.until(*ALL)
        assert await pool.said("env", {"name": "WHO"}) == "open-sesame-1"
        await pool.said("read", {"argument": "open-sesame-2"})
        await pool.stored(2)
        await pool.bus.ask(ClearCache(tool="env"), timeout=10)
        await pool.stored(1)
    data = b"".join(path.read_bytes() for path in pool.place.state.glob("cache.db*"))
    assert b"open-sesame-2" not in data


async def test_another_value_of_a_variable_is_another_connection(
    pool: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.serve(env={"WHO": "${MMS_TEST_WHO}"})
    for who, cached in (("ann", False), ("bob", False), ("ann", True)):
        monkeypatch.setenv("MMS_TEST_WHO", who)
        again = Reading(pool.place)
        async with running(again):
            await again.until(*ALL)
            answer = await again.call("r", "env", {"name": "WHO"})
            assert answer.result is not None
            assert json.loads(answer.result.data)["content"][0]["text"] == who
            assert answer.cached is cached
            await again.stored(1 if who == "ann" and not cached else 2)


@dataclass
class Configured:
    """A server as the cache sees it."""

    settings: UpstreamSettings


@pytest.mark.parametrize("changes", [True, False])
async def test_an_answer_of_a_connection_that_changed_meanwhile_is_not_kept(tmp_path: Path, changes: bool) -> None:
    store = CacheStore(tmp_path / "cache.db", print)
    calls = CachedCalls(store, lambda server, tool: Caching(60))
    await calls.open()
    served = Configured(UpstreamSettings(prefix="r", command="x", env={"WHO": "ann"}))
    call = CallOf(served, "r", "read", b"{}", Caching(60), writes=False)

    async def fetch(deadline: float, relay: Relay | None) -> CallResult:
        if changes:
            served.settings = UpstreamSettings(prefix="r", command="x", env={"WHO": "bob"})
        return CallResult(result=Blob(b'{"content":[]}'))

    deadline = asyncio.get_running_loop().time() + 20
    assert not (await calls.call(call, deadline, None, fetch)).cached
    await asyncio.sleep(0)  # where a small answer is stored
    assert len(store) == (not changes)
    assert (await calls.call(call, deadline, None, fetch)).cached is not changes
    await calls.close()


async def test_a_tool_that_begins_to_write_loses_its_entries(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        assert await pool.said("read") == "read 1"
        await pool.said("say", {"text": "x"})
        await pool.stored(2)
        await pool.said("turn", {"annotations": {"readOnlyHint": True, "destructiveHint": True}})
        await pool.stored(1)
        assert await pool.said("read") == "read 2"
        await pool.said("turn", {"annotations": {"readOnlyHint": True}})
        async with asyncio.timeout(20):
            while not (await pool.call("r", "read")).cached:
                await asyncio.sleep(0.01)
        connection = sqlite3.connect(pool.place.state / "cache.db")
        assert dict(connection.execute("SELECT tool, count(*) FROM responses GROUP BY 1").fetchall()).keys() <= {
            "read",
            "say",
        }
        connection.close()


async def test_a_tool_that_the_configuration_takes_out_loses_its_entries(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        await pool.said("read")
        await pool.said("say", {"text": "x"})
        await pool.stored(2)
        pool.serve(tool_overrides={"read": {"cache": False}})
        await pool.stored(1)
        assert await pool.said("read") == "read 2"
        assert (await pool.call("r", "say", {"text": "x"})).cached is True


async def test_a_write_drops_what_was_read_from_its_server(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        assert await pool.said("read") == "read 1"
        await pool.stored(1)
        assert await pool.said("write") == "write 1"
        assert await pool.said("read") == "read 2"
        await pool.stored(1)
        await pool.said("silent")
        assert (await pool.call("r", "read")).cached is True


async def test_a_read_that_was_under_way_when_a_write_ended_is_not_kept(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        held = asyncio.create_task(pool.said("held"))
        async with asyncio.timeout(20):
            while not pool.ran("held"):
                await asyncio.sleep(0.01)
        await pool.said("write")
        await pool.said("release")
        assert await held == "held 1"
        await pool.said("read")
        await pool.stored(1)
        assert (await pool.stats()).by_tool == (("r", "read", 1),)


async def until_shared(pool: Reading, count: int) -> None:
    async with asyncio.timeout(20):
        while (await pool.stats()).shared < count or not pool.ran("held"):
            await asyncio.sleep(0.01)


async def test_identical_reads_at_the_same_time_are_made_once(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        calls = [asyncio.create_task(pool.said("held", {"x": 1})) for _ in range(20)]
        other = asyncio.create_task(pool.said("held", {"x": 2}))
        await until_shared(pool, 19)
        async with asyncio.timeout(20):
            while pool.ran("held") < 2:
                await asyncio.sleep(0.01)
        assert await pool.said("release") == "2"
        assert len({await call for call in calls}) == 1
        assert await other != await calls[0]
        assert pool.ran("held") == 2


async def test_a_leader_that_leaves_does_not_fail_those_who_wait_with_it(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        leader = asyncio.create_task(pool.said("held"))
        async with asyncio.timeout(20):
            while not pool.ran("held"):
                await asyncio.sleep(0.01)
        followers = [asyncio.create_task(pool.said("held")) for _ in range(3)]
        await until_shared(pool, 3)
        leader.cancel()
        await asyncio.gather(leader, return_exceptions=True)
        assert await pool.said("release") == "1"
        assert [await follower for follower in followers] == ["held 1"] * 3
        assert not recorded(pool.place.home / "reading.jsonl", "cancelled")


async def test_when_everybody_has_left_the_server_is_told(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        calls = [asyncio.create_task(pool.said("held")) for _ in range(3)]
        await until_shared(pool, 2)
        for call in calls:
            call.cancel()
        async with asyncio.timeout(20):
            while not recorded(pool.place.home / "reading.jsonl", "cancelled"):
                await asyncio.sleep(0.01)
        later = asyncio.create_task(pool.said("held"))
        async with asyncio.timeout(20):
            while pool.ran("held") < 2:
                await asyncio.sleep(0.01)
        await pool.said("release")
        assert await later == "held 1"


async def test_each_caller_keeps_its_own_deadline(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        short = asyncio.create_task(pool.call("r", "held", timeout=1.5))
        async with asyncio.timeout(20):
            while not pool.ran("held"):
                await asyncio.sleep(0.01)
        long = asyncio.create_task(pool.said("held"))
        await until_shared(pool, 1)
        with pytest.raises((UpstreamTimeout, DeadlineExceeded)):  # whichever clock is first
            await short
        await pool.said("release")
        assert await long == "held 1"
        assert pool.ran("held") == 1


async def test_a_follower_outlives_the_time_limit_of_the_call_it_joined(pool: Reading) -> None:
    pool.serve(call_timeout_seconds=2)
    async with running(pool):
        await pool.until(*ALL)
        leader = asyncio.create_task(pool.call("r", "held"))
        async with asyncio.timeout(20):
            while not pool.ran("held"):
                await asyncio.sleep(0.01)
        follower = asyncio.create_task(pool.said("held"))
        await until_shared(pool, 1)
        with pytest.raises(UpstreamTimeout):
            await leader
        async with asyncio.timeout(20):
            while pool.ran("held") < 2:
                await asyncio.sleep(0.01)
        await pool.said("release")
        assert await follower == "held 1"


async def test_everybody_who_wants_progress_is_told(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        silent = asyncio.create_task(pool.said("held"))
        async with asyncio.timeout(20):
            while not pool.ran("held"):
                await asyncio.sleep(0.01)
        seen: list[Progress] = []
        told = asyncio.create_task(pool.call("r", "held", on_item=seen.append))
        async with asyncio.timeout(20):
            while not seen:
                await asyncio.sleep(0.01)
        await pool.said("release")
        await silent
        answer: CallResult = await told
        assert answer.result is not None
        assert json.loads(seen[0].params)["message"] == "waiting"


async def test_clearing_has_a_scope_and_counts(pool: Reading) -> None:
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        for number in range(3):
            await pool.said("read", {"n": number})
        await pool.said("say", {"text": "x"})
        await pool.stored(4)
        with pytest.raises(Refused, match="there is no server rr; did you mean r"):
            await pool.bus.ask(ClearCache(server="rr"), timeout=10)
        with pytest.raises(Refused, match="server r has no tool raed; did you mean read"):
            await pool.bus.ask(ClearCache(server="r", tool="raed"), timeout=10)
        with pytest.raises(Refused, match="no server has a tool nothing_of_the_kind;"):
            await pool.bus.ask(ClearCache(tool="nothing_of_the_kind"), timeout=10)
        assert (await pool.bus.ask(ClearCache(server="r", tool="read"), timeout=10)).entries == 3
        assert await pool.said("read", {"n": 0}) == "read 4"
        await pool.stored(2)
        assert (await pool.bus.ask(ClearCache(), timeout=10)).entries == 2
        connection = sqlite3.connect(pool.place.state / "cache.db")
        assert connection.execute("SELECT count(*) FROM responses").fetchone() == (0,)
        connection.close()


async def test_a_corrupt_file_costs_no_call(pool: Reading) -> None:
    (pool.place.state / "cache.db").write_bytes(b"junk" * 5_000)
    pool.serve()
    async with running(pool):
        await pool.until(*ALL)
        assert await pool.said("read") == "read 1"
        await pool.stored(1)
        assert (await pool.call("r", "read")).cached
        assert os.path.exists((await pool.stats()).set_aside)


async def test_a_server_that_does_not_come_back_is_answered_for(pool: Reading) -> None:
    entry = pool.entry("reading")
    program = pool.place.home / "server.sh"
    program.write_text(f"#!/bin/sh\nexec {shlex.join([entry['command'], *entry['args']])}\n")
    program.chmod(0o700)
    pool.serve(command=str(program), args=[])
    async with running(pool):
        await pool.until(*ALL)
        assert await pool.said("read") == "read 1"
        await pool.stored(1)
        program.write_text("#!/bin/sh\nexit 1\n")
        os.kill((await pool.state("r")).pid, 9)
        async with asyncio.timeout(20):
            while (await pool.state("r")).state != "failed":
                await asyncio.sleep(0.01)
        assert (await pool.call("r", "read")).cached is True
        with pytest.raises(UpstreamUnavailable):
            await pool.call("r", "silent")


async def test_a_call_under_way_when_its_server_is_removed_ends_and_says_why(pool: Reading) -> None:
    pool.serve(env={"WHO": "ann"})
    async with running(pool):
        await pool.until(*ALL)
        held = asyncio.create_task(pool.call("r", "held"))
        async with asyncio.timeout(20):
            while not pool.ran("held"):
                await asyncio.sleep(0.01)
        pool.configure()
        with pytest.raises(UpstreamUnavailable, match="configuration has changed"):
            await asyncio.wait_for(held, 10)
