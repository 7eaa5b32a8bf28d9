"""Which era a server is of: asked once, remembered where asking costs something."""

from __future__ import annotations

import json

import pytest

from actors.upstream.back_channel import explained
from tests.actors.upstream.test_pool import Pool, pool, running
from tests.fixtures.official import python_server
from tests.fixtures.upstreams import recorded

__all__ = ["pool"]


def methods(pool: Pool, behaviour: str) -> list[str]:
    return [entry["method"] for entry in recorded(pool.place.home / f"{behaviour}.jsonl", "request")]


def starts(pool: Pool, behaviour: str) -> int:
    return len(recorded(pool.place.home / f"{behaviour}.jsonl", "start"))


async def test_a_server_is_asked_before_the_handshake(pool: Pool) -> None:
    pool.configure("echo", "stateless")
    async with running(pool):
        await pool.until("echo__echo", "stateless__echo")
        assert methods(pool, "echo")[:3] == ["server/discover", "initialize", "tools/list"]
        assert "initialize" not in methods(pool, "stateless")
        assert (await pool.state("echo")).protocol_version == "2025-11-25"
        assert (await pool.state("stateless")).protocol_version == "2026-07-28"
        assert await pool.text("stateless", "echo", {"a": 1}) == '{"a": 1}'


async def test_a_server_that_dies_when_asked_is_not_asked_again(pool: Pool) -> None:
    pool.configure("strict")
    async with running(pool):
        await pool.until("strict__alive")
        assert starts(pool, "strict") == 2
        assert (await pool.state("strict")).restarts == 0
    async with running(Pool(pool.place)):
        again = Pool(pool.place)
        assert await again.text("strict", "alive") == "alive"
        again.bus.close()
        assert starts(pool, "strict") == 3
        assert methods(pool, "strict").count("server/discover") == 1


async def test_official_servers_of_the_stateless_era(pool: Pool) -> None:
    pool.configure(time=python_server("time", "--local-timezone", "UTC"))
    async with running(pool):
        await pool.until("time__get_current_time")
        assert (await pool.state("time")).protocol_version == "2026-07-28"
        assert "+09:00" in await pool.text("time", "get_current_time", {"timezone": "Asia/Seoul"})


@pytest.mark.parametrize("tool", ["elicit", "sample", "roots"])
async def test_a_shared_server_is_told_why_nobody_can_be_asked(pool: Pool, tool: str) -> None:
    pool.configure("asking")
    async with running(pool):
        await pool.until(f"asking__{tool}")
        refusal = json.loads(await pool.text("asking", tool))
        assert refusal["code"] == -32601
        assert "`mms set asking session=dedicated`" in refusal["message"]


def test_only_a_failure_is_explained() -> None:
    words = b"this transport has no back-channel"
    found = b'{"content":[{"type":"text","text":"%s"}]}' % words
    failed = found[:-1] + b',"isError": true}'
    assert explained(found, "s", failed=False) == found
    assert b"(`mms set s session=dedicated`" in explained(failed, "s", failed=False)
    assert explained(b'{"code":-32600,"message":"no"}', "s", failed=True) == b'{"code":-32600,"message":"no"}'
