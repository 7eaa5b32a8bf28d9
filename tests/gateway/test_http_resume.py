"""A client of the handshake era whose connection breaks gets the rest (`Last-Event-ID`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from gateway.http_outlet import MAX_WAITING
from tests.fixtures.home import Home
from tests.fixtures.http_gateway import HttpGateway
from tests.gateway.conftest import Connect
from tests.gateway.test_http import INITIALIZE, RawClient, body, raw_client

PATIENCE_SECONDS = 20.0


@pytest.fixture(scope="module")
def gateway(shared_home: Home) -> Iterator[HttpGateway]:
    found = HttpGateway(shared_home)
    yield found
    assert found.stop() == 0


@asynccontextmanager
async def client_of(gateway: HttpGateway, version: str = "2025-11-25") -> AsyncIterator[RawClient]:
    async with raw_client(gateway) as client:
        answer = await client.post("initialize", {**INITIALIZE, "protocolVersion": version})
        client.headers |= {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": version}
        await client.post("notifications/initialized", id_=None)
        yield client


async def events(answer: httpx2.Response) -> AsyncIterator[tuple[str, Any]]:
    """The id and the data of each event; `None` for an event without data."""
    id_ = ""
    async for line in answer.aiter_lines():
        if line.startswith("id: "):
            id_ = line[4:]
        elif line.startswith("data: "):
            yield id_, json.loads(line[6:]) if line[6:] else None


def resumed(client: RawClient, last: str = "") -> Any:
    headers = {**client.headers, "accept": "text/event-stream", **({"last-event-id": last} if last else {})}
    return client.http.stream("GET", client.url, headers=headers)


def calling(client: RawClient, tool: str, token: str) -> Any:
    params = {"name": tool, "arguments": {}, "_meta": {"progressToken": token}}
    frame = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params}
    return client.http.stream("POST", client.url, content=json.dumps(frame), headers=client.headers)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
async def test_an_answer_outlives_its_connection(connect: Connect, gateway: HttpGateway, version: str) -> None:
    await connect(ready=("progress__gated",))
    async with client_of(gateway, version) as client, asyncio.timeout(PATIENCE_SECONDS):
        async with calling(client, "progress__gated", "t") as stream:
            found = events(stream)
            first, data = await anext(found)
            if version == "2025-11-25":  # clients before do not know an event without data
                assert data is None
                first, data = await anext(found)
            assert data["params"]["progressToken"] == "t"
        assert "gone" not in str(body(await client.post("tools/call", {"name": "progress__go"}, id_=6)))
        async with resumed(client, first) as stream:
            rest = [data async for _, data in events(stream)]
        assert [data["id"] for data in rest] == [5]
        assert rest[0]["result"]["content"][0]["text"] == "gone"


async def test_the_whole_of_a_stream_again(connect: Connect, gateway: HttpGateway) -> None:
    """Also after its end: who knows how much of it has arrived?"""
    await connect(ready=("progress__steps",))
    async with client_of(gateway) as client, asyncio.timeout(PATIENCE_SECONDS):
        params = {"name": "progress__steps", "arguments": {"count": 3}, "_meta": {"progressToken": "t"}}
        answer = await client.post("tools/call", params, id_=5)
        first = answer.text.partition("id: ")[2].partition("\n")[0]
        last = answer.text.rpartition("id: ")[2].partition("\n")[0]
        for _ in range(2):
            async with resumed(client, first) as stream:
                again = [data async for _, data in events(stream)]
            assert [data.get("id") for data in again] == [None, None, None, 5]
        for gone in (last, "999-1", "nonsense"):
            async with resumed(client, gone) as stream:
                assert stream.status_code == 410
        async with client_of(gateway) as other, resumed(other, first) as stream:
            assert stream.status_code == 410  # it is another's


async def test_whoever_comes_back_too_late_is_told_what_it_has_missed(connect: Connect, gateway: HttpGateway) -> None:
    await connect(ready=("progress__steps",))
    async with client_of(gateway) as client, asyncio.timeout(2 * PATIENCE_SECONDS):
        params = {"name": "progress__steps", "arguments": {"count": MAX_WAITING + 9}, "_meta": {"progressToken": "t"}}
        answer = await client.post("tools/call", params, id_=5)
        first = answer.text.partition("id: ")[2].partition("\n")[0]
        async with resumed(client, first) as stream:
            told, *rest = [data async for _, data in events(stream)]
        assert (told["method"], told["params"]["level"]) == ("notifications/message", "warning")
        assert told["params"]["data"].startswith("10 messages have been dropped")
        assert (len(rest), rest[-1]["id"]) == (MAX_WAITING, 5)


async def test_news_wait_for_the_client(home: Home) -> None:
    """What was said while no stream was open comes with the next one; what a broken one has lost, when asked for."""
    home.serve("echo")
    gateway = HttpGateway(home, "--private")
    try:
        async with client_of(gateway) as client, asyncio.timeout(PATIENCE_SECONDS):
            await client.until_listed("echo__echo")
            async with resumed(client) as stream:
                found = events(stream)
                first, data = await anext(found)
                assert data is None
            home.serve("echo", "mixed")
            await client.until_listed("mixed__mixed")
            async with resumed(client) as stream:
                assert [data async for _, data in upto_news(stream)][-1]["method"] == "notifications/tools/list_changed"
            async with resumed(client, first) as stream:
                assert [data async for _, data in upto_news(stream)][-1]["method"] == "notifications/tools/list_changed"
    finally:
        assert gateway.stop() == 0


async def upto_news(stream: httpx2.Response) -> AsyncIterator[tuple[str, Any]]:
    async for id_, data in events(stream):
        yield id_, data
        if data is not None and data.get("method") == "notifications/tools/list_changed":
            return


async def test_a_cancelled_call_leaves_nothing(connect: Connect, gateway: HttpGateway) -> None:
    await connect(ready=("progress__gated",))
    async with client_of(gateway) as client, asyncio.timeout(PATIENCE_SECONDS):
        async with calling(client, "progress__gated", "t") as stream:
            found = events(stream)
            await anext(found)
            last, _ = await anext(found)
            await client.post("notifications/cancelled", {"requestId": 5}, id_=None)
            assert [data async for _, data in found] == []
        async with resumed(client, last) as stream:
            assert stream.status_code == 410
