"""Servers behind HTTP whose answers are cut, odd or late."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from actors.upstream import http_peer
from actors.upstream.messages import UpstreamDied, UpstreamInvalid
from tests.actors.upstream.test_pool import Pool, pool, running  # noqa: F401
from tests.eventually import eventually
from tests.fixtures.raw_http import Exchange, raw_http


def event(exchange: Exchange, text: str = "", id_: str = "", retry: int | None = None, lead: str = "") -> bytes:
    """One event: an answer with `text`, or nothing but an id."""
    data = exchange.response({"content": [{"type": "text", "text": text}]}).decode() if text else ""
    lines = [f"id: {id_}"] if id_ else []
    lines += [f"retry: {retry}"] if retry is not None else []
    return ("\n".join([*lines, f"data: {lead}{data}"]) + "\n\n").encode()


async def test_a_call_whose_stream_cannot_be_resumed_is_not_made_again(pool: Pool) -> None:  # noqa: F811
    async def write(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.send(event(exchange, id_="1", retry=0))
        await server.stop()

    async with raw_http(write=write) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__write")
            with pytest.raises(UpstreamDied, match="may have taken effect"):
                await pool.call("raw", "write")
            await server.start()
            assert server.count("write") == 1


async def test_a_long_call_may_be_resumed_often(pool: Pool) -> None:  # noqa: F811
    """Servers that do not want to hold connections open close them again and again while they work."""
    calls: list[Exchange] = []

    async def read(exchange: Exchange) -> None:
        calls.append(exchange)
        await exchange.stream()
        await exchange.send(event(exchange, id_="0", retry=0))

    async def resume(exchange: Exchange) -> None:
        last = exchange.headers.get("last-event-id")
        if last is None:
            await exchange.answer(405)
            return
        await exchange.stream()
        text = "at last" if last == "9" else ""
        await exchange.send(event(calls[0], text, id_=str(int(last) + 1), retry=0))

    async with raw_http(read=read, GET=resume) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            assert await pool.text("raw", "read") == "at last"
            assert server.count("read") == 1


async def test_a_stream_that_ends_at_once_is_not_opened_again_and_again(pool: Pool) -> None:  # noqa: F811
    async def ends(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.send(b"retry: 0\nid: 1\ndata:\n\n")

    async def read(exchange: Exchange) -> None:
        await exchange.text("read")

    async with raw_http(read=read, GET=ends) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            await eventually(lambda: server.count("GET") >= 2)
            for _ in range(50):
                await pool.text("raw", "read")
            assert server.count("GET") < 10


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
@pytest.mark.parametrize("lead", ["  \ndata: ", "\ufeff"])
async def test_white_space_around_an_answer(pool: Pool, transport: str, lead: str) -> None:  # noqa: F811
    """White space alone is nothing; before an answer it does not matter."""
    streams: list[Exchange] = []

    async def read(exchange: Exchange) -> None:
        stream = exchange
        if transport == "sse":
            stream = streams[0]
            await exchange.answer(202)
        else:
            await exchange.stream()
        await stream.send(b"data:  \n\n" + event(exchange, "read", lead=lead))

    async def listen(exchange: Exchange) -> None:
        if transport != "sse":
            await exchange.answer(405)
            return
        streams.append(exchange)
        await exchange.stream()
        await exchange.send(b"event: endpoint\ndata: /mcp\n\n")
        await asyncio.Event().wait()

    async def on_stream(exchange: Exchange) -> None:
        if transport != "sse":
            await server.plain(exchange)
            return
        result: dict[str, object] = {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}
        if exchange.rpc == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw"}}
        await exchange.answer(202)
        await streams[0].send(b"data: " + exchange.response(result) + b"\n\n")

    async def refuse(exchange: Exchange) -> None:
        await exchange.answer(400)

    handlers = {"read": read, "GET": listen, "initialize": on_stream, "tools/list": on_stream}
    handlers["server/discover"] = refuse
    async with raw_http(**handlers) as server:
        pool.configure(raw=server.entry(transport))
        async with running(pool):
            await pool.until("raw__read")
            assert await pool.text("raw", "read") == "read"


async def test_an_unanswered_notification_holds_nothing_up(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_peer, "NOTICE_SECONDS", 0.1)

    async def never(exchange: Exchange) -> None:
        await asyncio.Event().wait()

    async def read(exchange: Exchange) -> None:
        await exchange.text("read")

    async with raw_http(read=read) as server:
        server.handlers["notifications/initialized"] = never
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            assert await pool.text("raw", "read") == "read"


@pytest.mark.parametrize(
    "after, said",
    [
        ("120", "wants to be left alone for 120 s"),
        ("Wed, 21 Oct 2015 07:28:00 GMT", "HTTP 429"),
        ("soon", "HTTP 429"),
        ("9" * 5_000, "HTTP 429"),
    ],
)
async def test_a_server_that_wants_to_be_left_alone(pool: Pool, after: str, said: str) -> None:  # noqa: F811
    async def read(exchange: Exchange) -> None:
        await exchange.answer(429, retry_after=after)

    async with raw_http(read=read) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            with pytest.raises(UpstreamInvalid, match=said):
                await pool.call("raw", "read")


async def test_a_server_that_wants_to_be_left_alone_is_not_connected_to_meanwhile(pool: Pool) -> None:  # noqa: F811
    async def busy(exchange: Exchange) -> None:
        await exchange.answer(503, retry_after="120")

    async def broken(exchange: Exchange) -> None:
        await exchange.answer(500)

    async with raw_http(initialize=busy) as one, raw_http(initialize=broken) as other:
        quick = {"reconnect_delay_seconds": 0.01, "max_reconnect_delay_seconds": 0.01}
        pool.configure(one=one.entry(**quick), other={**other.entry(**quick), "prefix": "other"})
        async with running(pool):
            await eventually(lambda: one.count("initialize"))
            asked = other.count("initialize")
            await eventually(lambda: other.count("initialize") > asked + 5)
            assert one.count("initialize") == 1
            assert "left alone for 120 s" in (await pool.state("one")).error


async def test_a_server_that_wants_to_be_left_alone_is_so_for_the_whole_time(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However the waits of others are spread."""
    monkeypatch.setattr(random, "uniform", lambda low, _high: low)
    loop = asyncio.get_running_loop()
    asked: list[float] = []

    async def busy(exchange: Exchange) -> None:
        asked.append(loop.time())
        await exchange.answer(503, retry_after="1")

    async with raw_http(initialize=busy) as server:
        pool.configure(raw=server.entry(reconnect_delay_seconds=0.01, max_reconnect_delay_seconds=0.01))
        async with running(pool):
            await eventually(lambda: len(asked) >= 2)
            assert asked[1] - asked[0] >= 1.0


async def test_a_stream_that_the_server_ends_after_a_while_is_opened_for_ever(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when it wants a longer pause than the stream lasted."""
    monkeypatch.setattr(http_peer, "RETRY_SECONDS", 0.02)

    async def lasts(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.send(b"retry: 200\nid: 1\ndata:\n\n")
        await asyncio.sleep(0.1)

    async with raw_http(GET=lasts) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await eventually(lambda: server.count("GET") > http_peer.MAX_REOPENS + 2)


async def test_a_resumed_stream_that_is_none_is_said_to_be(pool: Pool) -> None:  # noqa: F811
    async def write(exchange: Exchange) -> None:
        await exchange.stream()
        await exchange.send(event(exchange, id_="1", retry=0))

    async def page(exchange: Exchange) -> None:
        await exchange.answer(200, b"<html>", content_type="text/html")

    async with raw_http(write=write, GET=page) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__write")
            with pytest.raises(UpstreamDied, match="may have taken effect"):
                await pool.call("raw", "write")


async def test_a_session_that_is_refused_in_words_is_begun_anew(pool: Pool) -> None:  # noqa: F811
    """Many servers answer 400, where the protocol wants 404, when they have been restarted."""
    forgot = False

    async def begin(exchange: Exchange) -> None:
        nonlocal forgot
        forgot = False
        await server.plain(exchange)

    async def read(exchange: Exchange) -> None:
        if not forgot:
            await exchange.text("read")
            return
        error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
        await exchange.answer(400, body, content_type="application/json")

    async with raw_http(read=read, initialize=begin) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            forgot = True
            assert await pool.text("raw", "read") == "read"
            assert server.count("initialize") == 2


async def test_arguments_named_after_sessions_may_be_refused(pool: Pool) -> None:  # noqa: F811
    """It is the call that is wrong, and the server's words are for whoever made it."""

    async def read(exchange: Exchange) -> None:
        error = {"code": -32602, "message": "Invalid params: session_id is required"}
        body = json.dumps({"jsonrpc": "2.0", "id": exchange.frame["id"], "error": error}).encode()
        await exchange.answer(400, body, content_type="application/json")

    async with raw_http(read=read) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            error = (await pool.call("raw", "read")).error
            assert error is not None and "session_id is required" in json.loads(error.data)["message"]
            assert server.count("initialize") == 1


async def test_answers_in_a_batch(pool: Pool) -> None:  # noqa: F811
    """A server of 2025-03-26 may say several things at once."""

    async def read(exchange: Exchange) -> None:
        log = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
        answer = exchange.response({"content": [{"type": "text", "text": "read"}]})
        await exchange.answer(200, b"[" + log + b", 5, " + answer + b"]", content_type="application/json")

    async with raw_http(read=read) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            assert await pool.text("raw", "read") == "read"
            assert (await pool.state("raw")).junk_lines == 1


@pytest.mark.parametrize("cut", [False, True])
async def test_a_subscription_that_ends_at_once_costs_no_call(pool: Pool, cut: bool) -> None:  # noqa: F811
    """What was missed meanwhile is looked for when it has begun again."""
    tools = ["read"]

    async def discover(exchange: Exchange) -> None:
        capabilities = {"tools": {"listChanged": True}}
        await exchange.result({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})

    async def listed(exchange: Exchange) -> None:
        found = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
        await exchange.result({"resultType": "complete", "tools": found})

    async def listen(exchange: Exchange) -> None:
        if cut:
            await exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n: \n")
        else:
            await exchange.stream()

    async def read(exchange: Exchange) -> None:
        await exchange.text("read")

    async with raw_http(read=read) as server:
        server.handlers |= {"server/discover": discover, "tools/list": listed, "subscriptions/listen": listen}
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            tools.append("more")
            await pool.until("raw__more")
            assert await pool.text("raw", "read") == "read"
            assert server.count("server/discover") == 1


async def test_a_refusal_in_the_words_of_the_protocol_is_passed_on(pool: Pool) -> None:  # noqa: F811
    """Whatever its status is; in a session, 404 means that the session is gone."""

    async def refuse(exchange: Exchange) -> None:
        error = {"code": -32042, "message": "not today", "data": {"k": 1}}
        body = json.dumps({"jsonrpc": "2.0", "id": exchange.frame["id"], "error": error}, indent=1).encode()
        await exchange.answer(404, body, content_type="application/json; charset=utf-8")

    async with raw_http(read=refuse) as server:

        async def begin(exchange: Exchange) -> None:
            about = {"serverInfo": {"name": "raw"}, "capabilities": {"tools": {}}}
            await exchange.result({"protocolVersion": "2025-06-18", **about})

        server.handlers["initialize"] = begin
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            error = (await pool.call("raw", "read")).error
            assert error is not None and json.loads(error.data)["data"] == {"k": 1}


@pytest.mark.parametrize("ends", [False, True])
async def test_a_status_is_told_when_its_body_never_ends(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    ends: bool,
) -> None:
    monkeypatch.setattr(http_peer, "NOTICE_SECONDS", 0.1)

    async def read(exchange: Exchange) -> None:
        await exchange.send(b"HTTP/1.1 500 Oh\r\ncontent-length: 99\r\n\r\n<html>")
        if not ends:
            await asyncio.Event().wait()

    async with raw_http(read=read) as server:
        pool.configure(raw=server.entry())
        async with running(pool):
            await pool.until("raw__read")
            with pytest.raises(UpstreamInvalid, match="HTTP 500"):
                await pool.call("raw", "read")
