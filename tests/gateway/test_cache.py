"""One answer of a server serves every client, budget and query."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.eventually import eventually_blocking
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.fixtures.servers.good import long_text
from tests.gateway.test_shortening import key_in, read_all

LENGTH = 40_000


@contextlib.asynccontextmanager
async def client(home: Home, *ready: str, **env: Any) -> AsyncIterator[McpClient]:
    found = await home.gateway(**env)
    try:
        await found.handshake()
        await found.tools_with(*ready)
        yield found
        assert found.faults == []
    finally:
        await found.close()


@pytest.fixture
def cluster(home: Home) -> Home:
    """A home whose background cluster is stopped by `mms down` at the end of each test."""
    home.configure({"mixed": home.upstream("mixed", cache=True), "reading": home.upstream("reading")})
    return home


def cached(home: Home) -> int:
    found: dict[str, Any] = json.loads(home.mms("cache", "stats", "--json").stdout)
    return int(found["entries"])


def calls(home: Home, server: str) -> int:
    return sum(request["method"] == "tools/call" for request in home.recorded(server, "request"))


async def test_clients_with_other_budgets_and_queries_share_an_answer(cluster: Home) -> None:
    arguments = {"chars": LENGTH}
    async with client(cluster, "mixed__long") as one:
        first = (await one.call("mixed__long", arguments)).text
        eventually_blocking(lambda: cached(cluster) == 1)
        assert (await one.call("mixed__long", arguments)).text == first, "the same call gives the same bytes"
        async with client(cluster, "mixed__long", MEMTOMEM_STM_PROXY__DEFAULT_MAX_RESULT_CHARS="3000") as other:
            second = (await other.call("mixed__long", arguments | {"_context_query": "paragraph 77"})).text
            assert len(second) <= 3_000 < len(first) <= 16_000
            assert await read_all(other, key_in(second)) == long_text(LENGTH)
    assert calls(cluster, "mixed") == 1
    cluster.mms("down")


@pytest.mark.slow
async def test_the_cache_survives_the_cluster_and_can_be_cleared(cluster: Home) -> None:
    async with client(cluster, "reading__read") as one:
        assert (await one.call("reading__read")).text == "read 1"
        eventually_blocking(lambda: cached(cluster) == 1)
    assert cluster.mms("restart").returncode == 0
    async with client(cluster, "reading__read") as one:
        assert (await one.call("reading__read")).text == "read 1"
        assert calls(cluster, "reading") == 1
        assert cluster.mms("cache", "clear").stderr == "1 cached answer forgotten.\n"
        assert (await one.call("reading__read")).text == "read 1", "of the new server process"
        assert calls(cluster, "reading") == 2
    cluster.mms("down")
