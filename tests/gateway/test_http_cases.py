"""What holds on a pipe holds over HTTP: bytes, errors, cancellation; and what headers must repeat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.http_gateway import HttpGateway
from tests.fixtures.servers.good import NUMBERS, PIXEL, SMALL, long_text
from tests.gateway.conftest import Connect
from tests.gateway.test_calls import call_ids, cancelled
from tests.gateway.test_fidelity import ARGUMENTS
from tests.gateway.test_http import ENVELOPE, RawClient, body, raw_client, text

ERAS = ["handshake", "stateless"]


@pytest.fixture(scope="module")
def gateway(shared_home: Home) -> Iterator[HttpGateway]:
    found = HttpGateway(shared_home)
    yield found
    assert found.stop() == 0


class Caller:
    """Calls tools in one era."""

    def __init__(self, client: RawClient, era: str) -> None:
        self.client = client
        self.stateless = era == "stateless"

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, id_: int = 1) -> httpx2.Response:
        params = {"name": tool, "arguments": arguments or {}}
        if not self.stateless:
            return await self.client.post("tools/call", params, id_=id_)
        return await self.client.stateless("tools/call", params)

    async def call_raw(self, tool: str, arguments: bytes) -> httpx2.Response:
        """`arguments` as they are."""
        meta, headers = b"", dict(self.client.headers)
        if self.stateless:
            meta = b',"_meta":' + httpx2.Request("POST", "http://x", json=ENVELOPE).content
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
        params = b'{"name":"%s","arguments":%s%s}' % (tool.encode(), arguments, meta)
        frame = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}' % params
        return await self.client.http.post(self.client.url, content=frame, headers=headers)


@asynccontextmanager
async def calling(gateway: HttpGateway, era: str) -> AsyncIterator[Caller]:
    async with raw_client(gateway) as client:
        if era == "handshake":
            await client.initialize()
        yield Caller(client, era)


@pytest.mark.parametrize("era", ERAS)
async def test_numbers_and_small_objects_stay_as_they_are(connect: Connect, gateway: HttpGateway, era: str) -> None:
    await connect()
    async with calling(gateway, era) as client:
        for tool, wanted in (("fx__numbers", NUMBERS), ("fx__small", SMALL)):
            answer = await client.call(tool)
            assert text(answer) == wanted
            assert f'"structuredContent":{wanted}' in answer.text
        answer = await client.call_raw("fx__echo", ARGUMENTS)
        assert text(answer).encode() == ARGUMENTS
        on_one_line = ARGUMENTS if client.stateless else ARGUMENTS.replace("\u2028".encode(), b"\\u2028")
        assert b'"structuredContent":' + on_one_line in answer.content


@pytest.mark.parametrize("era", ERAS)
async def test_an_error_envelope_is_untouched_and_not_cached(connect: Connect, gateway: HttpGateway, era: str) -> None:
    await connect(ready=("failing__envelope",))
    async with calling(gateway, era) as client:
        for _ in range(5):  # more than the breaker would bear, if tool errors counted
            answer = await client.call("failing__envelope")
            result = body(answer)["result"]
            assert result["isError"] is True
            assert result["content"][0]["data"] == PIXEL
            assert result["content"][1]["text"] == long_text()
            assert '"structuredContent":{"reason":"quota","left":0}' in answer.text
            assert result["_meta"]["vendor/trace"] == "t-2"
        assert text(await client.call("failing__fine")) == "fine"


@pytest.mark.parametrize("era", ERAS)
async def test_a_cancelled_call_beside_fast_ones(
    connect: Connect, gateway: HttpGateway, shared_home: Home, era: str
) -> None:
    """The server sees its own id cancelled; nobody else waits; no late answer comes."""
    await connect(ready=("slow__block",))
    key = f"http-{era}"
    async with calling(gateway, era) as client:
        slow = asyncio.create_task(client.call("slow__block", {"key": key}, id_=7))
        await eventually(lambda: call_ids(shared_home, "slow", key))
        fast = await asyncio.gather(*(client.call("slow__fast", {"n": n}, id_=100 + n) for n in range(20)))
        assert [text(answer) for answer in fast] == [f"fast {n}" for n in range(20)]
        assert not slow.done()
        if era == "handshake":
            await client.client.post("notifications/cancelled", {"requestId": 7}, id_=None)
        else:
            slow.cancel()
        (upstream_id,) = call_ids(shared_home, "slow", key)
        await eventually(lambda: upstream_id in cancelled(shared_home, "slow"))
        await client.call("slow__release", id_=8)
        if era == "handshake":
            assert '"result"' not in (await slow).text


async def test_headers_repeat_the_arguments_that_a_tool_wants_there(connect: Connect, gateway: HttpGateway) -> None:
    await connect(ready=("both_shared__regional",))
    arguments = {"region": "서울", "count": 3}
    right = {"mcp-param-region": "=?base64?7ISc7Jq4?=", "mcp-param-count": "3"}
    async with raw_client(gateway) as client:

        async def call(given: dict[str, Any], headers: dict[str, str]) -> httpx2.Response:
            return await client.stateless(
                "tools/call", {"name": "both_shared__regional", "arguments": given}, **headers
            )

        assert '"count":3' in text(await call(arguments, right)).replace(" ", "")
        assert text(await call({}, {})) == "{}"
        wrong: list[tuple[dict[str, Any], dict[str, str]]] = [
            (arguments, {}),
            (arguments, {**right, "mcp-param-count": "4"}),
            (arguments, {**right, "mcp-param-region": "=?base64?7ISc7Jq!?="}),
            (arguments, {"mcp-param-count": "3"}),
            ({}, right),
        ]
        for given, headers in wrong:
            answer = await call(given, headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020), headers
            assert answer.json()["id"] == 1
        await client.initialize()  # the other era knows nothing of it
        params = {"name": "both_shared__regional", "arguments": arguments}
        assert '"count": 3' in text(await client.post("tools/call", params))


async def test_a_head_request_is_refused_and_not_left_open(connect: Connect, gateway: HttpGateway) -> None:
    async with raw_client(gateway) as client:
        await client.initialize()
        answer = await client.http.head(client.url, headers=client.headers)
        assert answer.status_code == 405
        assert answer.headers["allow"] == "GET, POST, DELETE"
        assert (await client.post("ping")).status_code == 200
