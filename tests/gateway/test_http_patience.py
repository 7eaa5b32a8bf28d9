"""Clients that never finish what they have begun to say, over real connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from gateway.http_patience import PatientProtocol
from tests.eventually import eventually

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"


class _Hasty(PatientProtocol):
    HEAD_SECONDS = 0.1
    BODY_SECONDS = 0.1


class _Calm(PatientProtocol):
    HEAD_SECONDS = 60.0
    BODY_SECONDS = 60.0


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = Request(scope, receive)
    try:
        body = b"" if request.url.path == "/refused" else await request.body()
    except ClientDisconnect:
        return
    await PlainTextResponse(body or b"refused")(scope, receive, send)


@asynccontextmanager
async def _serving(protocol: type[PatientProtocol]) -> AsyncIterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(_echo, http=protocol, lifespan="off", log_config=None, timeout_keep_alive=1)
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve([listener]))
        await eventually(lambda: server.started)
        yield listener.getsockname()[1]
        server.should_exit = True
        await task


async def _ended(port: int, *parts: bytes) -> bytes:
    """All that is said on a connection until the server ends it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
    async with asyncio.timeout(20):
        said = await reader.read()
    writer.close()
    return said


async def test_who_does_not_finish_is_left() -> None:
    async with _serving(_Hasty) as port:
        assert await _ended(port) == b""
        assert await _ended(port, b"POST / HT") == b""
        assert await _ended(port, HEAD) == b""
        assert await _ended(port, HEAD, b"bod") == b""
        refused = await _ended(port, HEAD.replace(b"POST /", b"POST /refused"), b"b")
        assert refused.startswith(b"HTTP/1.1 200 OK")
        second = await _ended(port, HEAD + b"body", b"POST / HT")
        assert second.endswith(b"body")
        pipelined = await _ended(port, HEAD + b"body" + HEAD + b"bod")
        assert pipelined.endswith(b"body")


async def test_who_finishes_may_stay() -> None:
    """A limit that has been kept is over: none is left behind."""
    made: list[_Calm] = []

    class Protocol(_Calm):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            made.append(self)

    async with _serving(Protocol) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            for byte in HEAD + b"body":
                writer.write(bytes([byte]))
                await writer.drain()
            async with asyncio.timeout(20):
                await reader.readuntil(b"\r\n\r\nbody")
            assert [one.waits for one in made] == [False]
        writer.close()
