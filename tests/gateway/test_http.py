"""The gateway behind Streamable HTTP: many clients, both eras, and nobody without the token."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from gateway.http_app import MAX_SESSIONS
from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.http_gateway import HttpGateway, running
from tests.gateway.conftest import Connect
from tests.gateway.test_official import MODES, text_of

STATELESS = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def gateway(shared_home: Home) -> Iterator[HttpGateway]:
    """One gateway beside the cluster that the tests of this folder share."""
    found = HttpGateway(shared_home)
    yield found
    assert found.stop() == 0


class RawClient:
    """Speaks Streamable HTTP by hand. `session` begins with the handshake."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url
        self.headers = {"accept": ACCEPT, "content-type": "application/json"}

    async def post(self, method: str, params: object = None, id_: object = 1, **headers: str) -> httpx2.Response:
        frame = {"jsonrpc": "2.0", "method": method, **({} if id_ is None else {"id": id_})}
        if params is not None:
            frame["params"] = params
        return await self.http.post(self.url, content=json.dumps(frame), headers={**self.headers, **headers})

    async def initialize(self) -> None:
        answer = await self.post("initialize", INITIALIZE)
        assert answer.status_code == 200, answer.text
        self.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self.headers["mcp-protocol-version"] = answer.json()["result"]["protocolVersion"]
        assert (await self.post("notifications/initialized", id_=None)).status_code == 202

    async def until_listed(self, tool: str) -> None:
        """Waits until the tool is in the catalogue."""
        async with asyncio.timeout(20):
            while f'"{tool}"' not in (await self.post("tools/list")).text:
                await asyncio.sleep(0.02)

    async def stateless(self, method: str, params: dict[str, Any], **headers: str) -> httpx2.Response:
        routing = {"mcp-protocol-version": STATELESS, "mcp-method": method}
        if "name" in params:
            routing["mcp-name"] = params["name"]
        return await self.post(method, {**params, "_meta": ENVELOPE}, **{**routing, **headers})


@asynccontextmanager
async def raw_client(gateway: HttpGateway, **headers: str) -> AsyncIterator[RawClient]:
    async with gateway.http(**headers) as http:
        yield RawClient(http, gateway.url)


async def test_the_official_client_in_both_eras(connect: Connect, gateway: HttpGateway) -> None:
    await connect(ready=("time__get_current_time", "progress__steps"))
    for mode in MODES:
        async with (
            gateway.http() as http,
            Client(streamable_http_client(gateway.url, http_client=http), mode=mode) as one,
        ):
            names = {tool.name for tool in (await one.list_tools()).tools}
            assert {"time__convert_time", "stm_proxy_read_more"} <= names
            assert "+09:00" in text_of(await one.call_tool("time__get_current_time", {"timezone": "Asia/Seoul"}))
            steps: list[float] = []

            async def on_progress(
                progress: float, total: float | None, message: str | None, into: list[float] = steps
            ) -> None:
                into.append(progress)

            done = await one.call_tool("progress__steps", {"count": 3}, progress_callback=on_progress)
            assert (text_of(done), steps) == ("done", [1, 2, 3]), mode


async def test_many_clients_do_not_meet(connect: Connect, gateway: HttpGateway) -> None:
    """All use the same ids."""
    await connect(ready=("fx__echo",))

    async def one(number: int) -> None:
        async with raw_client(gateway) as client:
            if number % 2:
                await client.initialize()
                send = client.post
            else:
                send = client.stateless  # type: ignore[assignment]
            for turn in range(5):
                text = f"{number}-{turn}"
                answer = await send("tools/call", {"name": "fx__echo", "arguments": {"text": text}})
                assert body(answer)["id"] == 1
                assert text in body(answer)["result"]["content"][0]["text"]

    await asyncio.gather(*(one(number) for number in range(20)))


async def test_bytes_stay_as_they_are(connect: Connect, gateway: HttpGateway) -> None:
    await connect(ready=("fx__echo",))
    async with raw_client(gateway) as client:
        await client.initialize()
        broken = b'{"id": 1.0e1'
        refused = await client.http.post(client.url, content=broken, headers=client.headers)
        assert body(refused)["error"]["code"] == -32700
        frame = (
            b'{"jsonrpc":"2.0","id":"\xed\x95\x9c","method":"tools/call","params":\n{"name":"fx__echo",'
            b'"arguments":{"b":1.10,"a":12345678901234567890123}}}'
        )
        answer = await client.http.post(client.url, content=frame, headers=client.headers)
        assert '{\\"b\\":1.10,\\"a\\":12345678901234567890123}' in answer.text.replace(": ", ":").replace(", ", ",")
        assert body(answer)["id"] == "한"


async def test_who_is_let_in(gateway: HttpGateway) -> None:
    assert gateway.token_file is not None
    assert gateway.token_file.stat().st_mode & 0o777 == 0o600
    async with raw_client(gateway) as client:
        cases: list[tuple[int, dict[str, str]]] = [
            (200, {}),
            (200, {"origin": "http://localhost:3000"}),
            (200, {"host": "localhost:8080"}),
            (401, {"authorization": "Bearer wrong"}),
            (401, {"authorization": gateway.token}),
            (401, {"authorization": ""}),
            (403, {"origin": "https://evil.example"}),
            (403, {"origin": "null"}),
            (403, {"origin": "http://6.6.6.6"}),
            (421, {"host": "evil.example"}),
            (415, {"content-type": "text/plain"}),
            (406, {"accept": "text/html"}),
        ]
        for status, headers in cases:
            answer = await client.post("initialize", INITIALIZE, **headers)
            assert answer.status_code == status, (headers, answer.text)
            assert gateway.token not in answer.text
        assert (await client.http.get(client.url)).status_code == 400
        assert (await client.http.put(client.url)).status_code == 405
        large = await client.post("initialize", {**INITIALIZE, "padding": "x" * 17_000_000})
        assert large.status_code == 413


async def test_sessions(gateway: HttpGateway) -> None:
    async with raw_client(gateway) as client:
        assert (await client.post("tools/list")).status_code == 400
        await client.initialize()
        assert body(await client.post("ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        unknown = await client.post("ping", **{"mcp-session-id": "no-such-session"})
        assert unknown.status_code == 404
        assert (await client.post("ping", **{"mcp-protocol-version": "1999-01-01"})).status_code == 400
        assert (await client.http.delete(client.url, headers=client.headers)).status_code == 204
        assert (await client.post("ping")).status_code == 404


async def test_clients_that_leave_without_a_goodbye(shared_home: Home) -> None:
    """The session that has been silent for longest makes room; one with an open stream does not."""
    with running(shared_home) as gateway:
        async with raw_client(gateway) as listening, raw_client(gateway) as silent, raw_client(gateway) as client:
            await listening.initialize()
            await silent.initialize()
            async with listening.http.stream("GET", listening.url, headers=listening.headers) as stream:
                assert stream.status_code == 200
                for _ in range(MAX_SESSIONS - 1):
                    assert (await client.post("initialize", INITIALIZE)).status_code == 200
                assert (await silent.post("ping")).status_code == 404
                assert (await listening.post("ping")).status_code == 200


async def test_headers_of_the_stateless_era_repeat_the_body(gateway: HttpGateway) -> None:
    async with raw_client(gateway) as client:
        found = await client.stateless("server/discover", {})
        assert found.json()["result"]["supportedVersions"] == [STATELESS]
        assert "mcp-session-id" not in found.headers
        for wrong in ({"mcp-method": "tools/list"}, {"mcp-protocol-version": "2025-11-25"}):
            answer = await client.stateless("server/discover", {}, **wrong)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020), wrong
        answer = await client.stateless("tools/call", {"name": "fx__echo"}, **{"mcp-name": "other"})
        assert answer.json()["error"]["code"] == -32020
        assert (await client.stateless("no/such", {})).status_code == 404
        gone = await client.stateless("initialize", INITIALIZE)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, -32601)
        bare = await client.post("tools/list", **{"mcp-protocol-version": STATELESS})
        assert (bare.status_code, bare.json()["error"]["code"]) == (400, -32602)


async def test_a_cancelled_request(connect: Connect, gateway: HttpGateway, shared_home: Home) -> None:
    """By a notification in one era, by closing the connection in the other; the server is told in both."""
    await connect(ready=("slow__block",))

    def seen(event: str) -> int:
        return len(shared_home.recorded("slow", event))

    async with raw_client(gateway) as client:
        await client.initialize()
        asked, cancelled = seen("request"), seen("cancelled")
        call = asyncio.create_task(client.post("tools/call", {"name": "slow__block", "arguments": {"key": "a"}}, id_=7))
        await eventually(lambda: seen("request") > asked)
        await client.post("notifications/cancelled", {"requestId": 7}, id_=None)
        assert (await call).text == ""
        await eventually(lambda: seen("cancelled") > cancelled)

        asked, cancelled = seen("request"), seen("cancelled")
        arguments = {"name": "slow__block", "arguments": {"key": "b"}}
        call = asyncio.create_task(client.stateless("tools/call", arguments))
        await eventually(lambda: seen("request") > asked)
        call.cancel()
        await eventually(lambda: seen("cancelled") > cancelled)


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_may_ask_its_client(connect: Connect, gateway: HttpGateway, mode: str) -> None:
    await connect(ready=("own__elicit",))

    async def elicit(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"ok": True})

    async with gateway.http() as http:
        transport = streamable_http_client(gateway.url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=elicit) as client:
            answers = [text_of(await client.call_tool("own__elicit", {"n": n})) for n in range(2)]
            assert [json.loads(answer)["content"] for answer in answers] == [{"ok": True}] * 2


async def test_servers_of_a_clients_own(home: Home) -> None:
    """Two sessions have one each, and it ends with its session. Stateless requests of one client meet the same one."""
    home.configure({"mine": home.upstream("dying", "mine", session="dedicated")})
    with running(home, "--private") as gateway:
        async with raw_client(gateway) as one, raw_client(gateway) as two:
            pids = []
            for client in (one, two):
                await client.initialize()
                await client.until_listed("mine__alive")
                pids += [text(await client.post("tools/call", {"name": "mine__alive"})) for _ in range(2)]
            assert pids[0] == pids[1] != pids[2] == pids[3]
            await one.http.delete(one.url, headers=one.headers)
            await eventually(lambda: not Path(f"/proc/{pids[0]}").exists())
            passing = {text(await two.stateless("tools/call", {"name": "mine__alive"})) for _ in range(3)}
            assert len(passing) == 1
            assert not passing & set(pids)


def body(answer: httpx2.Response) -> Any:
    """What a request was answered with, as JSON or as the last event of a stream."""
    if answer.headers["content-type"] == "application/json":
        return answer.json()
    events = [line.removeprefix("data: ") for line in answer.text.split("\n") if line.startswith("data: {")]
    return json.loads(events[-1])


def text(answer: httpx2.Response) -> str:
    found: str = body(answer)["result"]["content"][0]["text"]
    return found


async def test_news_reach_the_open_stream(home: Home) -> None:
    home.serve("echo")
    with running(home, "--private") as gateway:
        await _news(home, gateway)


async def _news(home: Home, gateway: HttpGateway) -> None:
    async with raw_client(gateway) as client:
        await client.initialize()
        await client.post("tools/list")
        headers = {**client.headers, "accept": "text/event-stream"}
        async with client.http.stream("GET", client.url, headers=headers) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            home.serve("echo", "mixed")
            async for line in stream.aiter_lines():
                if "notifications/tools/list_changed" in line:
                    break
            else:
                raise AssertionError("the stream ended")


async def test_a_stop_lets_calls_finish(home: Home) -> None:
    home.serve("slow")
    with running(home, "--no-auth") as gateway:
        assert gateway.token == ""
        async with raw_client(gateway) as client:
            await client.initialize()
            await client.until_listed("slow__block")
            call = asyncio.create_task(client.post("tools/call", {"name": "slow__block", "arguments": {}}))
            await eventually(lambda: any('"block"' in entry["params"] for entry in home.recorded("slow", "request")))
            gateway.process.send_signal(signal.SIGTERM)
            released = await asyncio.to_thread(home.mms, "call", "slow__release")
            assert released.returncode == 0, released.stderr
            assert "released" in (await call).text
        await asyncio.to_thread(gateway.process.wait, 20)
    await asyncio.to_thread(home.mms, "down")


def test_what_must_not_be_listened_on(home: Home) -> None:
    home.serve("echo")
    for words, code, says in (
        (("--http", "0.0.0.0:0", "--no-auth"), 1, "loopback"),
        (("--http", "127.0.0.1"), 2, "HOST:PORT"),
        (("--no-auth",), 2, "belong to --http"),
        (("--http", "192.0.2.1:80"), 1, "cannot listen on 192.0.2.1:80"),
    ):
        run = home.mms("gateway", *words, "--private")
        assert (run.returncode, says in run.stderr) == (code, True), run.stderr
    weak = home.mms("gateway", "--private", "--http", "127.0.0.1:0", MEMTOMEM_STM_HTTP_TOKEN="short")
    assert weak.returncode == 1
    assert "at least 16" in weak.stderr
