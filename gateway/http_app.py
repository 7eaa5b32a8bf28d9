"""Streamable HTTP: one address, POST for what the client says, GET for what nobody asked for, DELETE for goodbye.

A client of the handshake era has a session, named by `Mcp-Session-Id`. One of the stateless era has none: each of its
POSTs has a session while it is open, and an anchor of the same name keeps what belongs to the client in between.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from msgspec import UNSET
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from bus import jsonrpc
from gateway.eras import HANDSHAKE_VERSIONS, STATELESS_VERSION
from gateway.http_exchange import Client, Exchange
from gateway.http_guard import Denied, Guard
from gateway.http_outlet import Outlet, Shelf
from gateway.http_request import (
    VERSION_HEADER,
    Refused,
    accepted_types,
    check_parameters,
    check_routing,
    identity,
    is_stateless,
    progress_token,
    status_of,
    tool_name,
)
from gateway.protocol import Protocol
from gateway.session import Session

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_SESSIONS = 1_000
IDLE_SECONDS = 3_600.0
"""A session without requests and without a stream ends after this; its client is told so, and begins anew."""
STREAM_AFTER_SECONDS = 5.0
"""A reply that takes longer becomes a stream, so that something can be said meanwhile."""
RESUMABLE_AFTER_SECONDS = 1.0
"""The same for a client that can take up a broken stream again: only one that has begun can be."""
MAX_EVENT_BYTES = 512 * 1024
"""A larger answer that is there in time is sent as JSON: the official SDK refuses events of more than 1 MiB."""
PRIMED_FROM = "2025-11-25"
"""The version from which on clients take an event without data for what it is."""
SESSION_HEADER = "mcp-session-id"


@dataclass(frozen=True)
class Leave:
    """What is to be done when a response is over: one that the client may take up again, or one that it cannot."""

    broken: Callable[[], None]
    done: Callable[[], None]


class _Stream(StreamingResponse):
    """Server-sent events; calls `leave` when they are over, whoever ended them."""

    def __init__(
        self, events: AsyncGenerator[bytes, None], leave: Callable[[], None], headers: dict[str, str] | None = None
    ) -> None:
        headers = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no", **(headers or {})}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


class HttpEdge:
    """Serves the protocol to many clients.

    Args:
        name: of this gateway; leads the names of its sessions.
    """

    def __init__(self, name: str, protocol: Protocol, guard: Guard) -> None:
        self._name = name
        self._protocol = protocol
        self._guard = guard
        self._clients: dict[str, tuple[Client, Session]] = {}
        self._shelf = Shelf()
        self._passing: set[Session] = set()
        self._anchors: dict[str, tuple[Session, float]] = {}
        self.app = Starlette(routes=[Route(PATH, self._serve, methods=METHODS)])

    async def drain(self, seconds: float) -> None:
        """Lets requests finish, and ends every stream."""
        sessions = [*(session for _, session in self._clients.values()), *self._passing]
        for client, _ in self._clients.values():
            client.standing.end()
        await asyncio.gather(*(self._protocol.drain(session, seconds) for session in sessions))
        for id_ in list(self._clients):
            self._end(id_)
        for session, _ in self._anchors.values():
            self._protocol.close(session)

    async def _serve(self, request: Request) -> Response:
        try:
            self._guard.check(request.headers)
            self._expire()
            match request.method:
                case "POST":
                    return await self._post(request)
                case "DELETE":
                    id_ = self._session_id(request)
                    self._end(id_)
                    return Response(status_code=204)
                case "GET":
                    return self._listen(request)
                case _:  # HEAD, which the routing below lets through with GET: it would never get its end
                    return Response(status_code=405, headers={"allow": ", ".join(METHODS)})
        except Denied as denied:
            headers = {"www-authenticate": "Bearer"} if denied.status == 401 else None
            return Response(f"{denied}\n", denied.status, headers, "text/plain")
        except Refused as refused:
            return Response(refused.frame, refused.status, media_type="application/json")
        except ClientDisconnect:
            return Response(status_code=400)

    async def _post(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Denied(415, "the content type must be application/json")
        accepted_types(request)
        body = await _body(request)
        try:
            frame, body = jsonrpc.parse(body.strip().replace(b"\n", b" ").replace(b"\r", b" "))
        except jsonrpc.FrameError as error:
            raise Refused(400, error.code, error.message, id_=error.id) from None
        if frame.method is not UNSET and frame.method != "initialize" and is_stateless(frame, request):
            return await self._stateless(request, frame, body)
        return await self._handshake(request, frame, body)

    # The stateless era.

    async def _stateless(self, request: Request, frame: jsonrpc.Frame, body: bytes) -> Response:
        if frame.id is UNSET:
            return Response(status_code=202)  # closing a response is how a request is cancelled in this era
        check_routing(request, frame)
        if frame.method == "tools/call":
            await check_parameters(request, frame, self._protocol.input_schema(tool_name(frame)))
        exchange = Exchange()
        name = f"{self._name}-{identity(request, frame)}"
        self._anchor(name)
        session = Session(name, exchange.send)
        self._passing.add(session)
        self._protocol.open(session)
        self._protocol.handle(session, body)
        _when_over(session, bytes(frame.id), exchange.end)

        def leave() -> None:
            self._passing.discard(session)
            self._protocol.close(session)

        return await _reply(request, exchange, Leave(leave, leave), by_status=True)

    def _anchor(self, name: str) -> None:
        """Keeps servers of the client's own alive between its requests."""
        session, _ = self._anchors.pop(name, (None, 0.0))
        if session is None:
            session = Session(name, _drop)
            self._protocol.open(session)
        self._anchors[name] = session, time.monotonic()  # the latest stands last
        if len(self._anchors) > MAX_SESSIONS:
            self._protocol.close(self._anchors.pop(next(iter(self._anchors)))[0])

    # The handshake era.

    async def _handshake(self, request: Request, frame: jsonrpc.Frame, body: bytes) -> Response:
        headers = {}
        if frame.method == "initialize" and frame.id is not UNSET:
            if request.headers.get(VERSION_HEADER) == STATELESS_VERSION:
                message = f"{STATELESS_VERSION} has no initialize"
                raise Refused(404, jsonrpc.METHOD_NOT_FOUND, message, id_=bytes(frame.id))
            id_ = self._begin()
            headers[SESSION_HEADER] = id_
        else:
            id_ = self._session_id(request)
            version = request.headers.get(VERSION_HEADER)
            if version is not None and version not in HANDSHAKE_VERSIONS:
                raise Refused(400, jsonrpc.INVALID_REQUEST, f"unsupported {VERSION_HEADER}: {version}")
        client, session = self._clients[id_]
        client.seen = time.monotonic()
        if frame.method is UNSET or frame.id is UNSET:
            self._protocol.handle(session, body)
            return Response(status_code=202)
        request_id, token = bytes(frame.id), progress_token(frame)
        if not jsonrpc.is_valid_id(request_id):
            raise Refused(400, jsonrpc.INVALID_REQUEST, "the id must be a string or an integer")
        outlet = client.expect(request_id, token)
        if outlet is None:
            raise Refused(400, jsonrpc.INVALID_REQUEST, "a request with this id is still open", id_=request_id)
        self._protocol.handle(session, body)
        if request_id in session.in_flight:
            _when_over(session, request_id, lambda: client.finish(request_id, token))
        else:
            client.finish(request_id, token)  # answered at once, or no request that can be
        leave = Leave(lambda: client.leave(outlet), lambda: client.drop(outlet))
        return await _reply(request, outlet, leave, headers, primed=session.version >= PRIMED_FROM)

    def _listen(self, request: Request) -> Response:
        if "text/event-stream" not in accepted_types(request):
            raise Denied(406, "the client must accept text/event-stream")
        client, session = self._clients[self._session_id(request)]
        outlet, after = client.standing, None
        last = request.headers.get("last-event-id")
        if last:
            found = client.find(last)
            if found is None:
                raise Denied(410, "nothing follows this event, or it is no longer kept")
            outlet, after = found
        outlet.readers += 1
        primed = after is None and session.version >= PRIMED_FROM
        return _Stream(outlet.events(after, primed=primed), lambda: client.leave(outlet))

    def _begin(self) -> str:
        if len(self._clients) >= MAX_SESSIONS:
            self._make_room()
        id_ = secrets.token_urlsafe(24)
        client = Client(self._shelf, lambda: session.level)
        session = Session(f"{self._name}-{secrets.token_hex(4)}", client.send)
        self._clients[id_] = client, session
        self._protocol.open(session)
        return id_

    def _make_room(self) -> None:
        """Ends the session that has been silent for longest: many clients leave without a goodbye."""
        silent = [(client.seen, id_) for id_, (client, _) in self._clients.items() if not client.busy]
        if not silent:
            raise Refused(503, jsonrpc.INTERNAL_ERROR, f"{MAX_SESSIONS} sessions are in use; try again later")
        self._end(min(silent)[1])

    def _session_id(self, request: Request) -> str:
        id_ = request.headers.get(SESSION_HEADER)
        if id_ is None:
            raise Refused(400, jsonrpc.INVALID_REQUEST, f"{SESSION_HEADER} is missing; begin with initialize")
        if id_ not in self._clients:
            raise Refused(404, jsonrpc.INVALID_REQUEST, "no such session; begin anew with initialize")
        return id_

    def _end(self, id_: str) -> None:
        client, session = self._clients.pop(id_)
        self._protocol.close(session)
        client.close()

    def _expire(self) -> None:
        oldest = time.monotonic() - IDLE_SECONDS
        for id_, (client, _) in list(self._clients.items()):
            if client.seen < oldest and not client.busy:
                self._end(id_)
        for name, (session, seen) in list(self._anchors.items()):
            if seen >= oldest:
                break
            del self._anchors[name]
            self._protocol.close(session)


def _drop(frame: bytes) -> None:
    """A client of the stateless era cannot be told anything that belongs to none of its requests."""


def _when_over(session: Session, id_: bytes, end: Callable[[], None]) -> None:
    """Ends the reply also of a request that is never answered, a cancelled one say."""
    task = session.in_flight.get(id_)
    if task is not None:
        task.add_done_callback(lambda _: end())


async def _reply(
    request: Request,
    outlet: Outlet,
    leave: Leave,
    headers: dict[str, str] | None = None,
    *,
    by_status: bool = False,
    primed: bool = False,
) -> Response:
    """The response to a request: JSON when its answer comes soon and alone, else a stream.

    Args:
        by_status: errors have a status of their own.
        primed: a stream can be taken up again from its beginning, so it is preferred.
    """
    accepted = accepted_types(request)
    streams = "text/event-stream" in accepted
    gone = asyncio.get_running_loop().create_task(_gone(request))
    waiting = asyncio.get_running_loop().create_task(
        _settled(outlet, RESUMABLE_AFTER_SECONDS if primed else STREAM_AFTER_SECONDS, streams)
    )
    try:
        await asyncio.wait({gone, waiting}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        leave.done()
        raise
    finally:
        gone.cancel()
        waiting.cancel()
    answer = outlet.reply() if streams else outlet.answer
    as_stream = streams and ("application/json" not in accepted or (primed and len(answer or b"") <= MAX_EVENT_BYTES))
    if answer is not None and not as_stream:
        leave.done()
        status = status_of(answer) if by_status else 200
        return Response(answer.rstrip(b"\n"), status, headers, "application/json")
    if not streams:
        leave.done()
        return Response(status_code=202)
    return _Stream(outlet.events(primed=primed and outlet.has_more(0)), leave.broken, headers)


async def _settled(outlet: Outlet, seconds: float, streams: bool) -> None:
    if streams:
        await outlet.first(seconds)
    else:
        await outlet.end_of_it()


async def _gone(request: Request) -> None:
    """Waits until the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise Denied(413, f"the body is over {MAX_BODY_BYTES} bytes")
    return b"".join(parts)
