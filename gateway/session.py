"""One client, its requests, and what is open between it and the gateway."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from bus import jsonrpc
from bus.rpc import RpcError
from gateway.eras import CAPABILITIES_KEY, LOG_LEVEL_KEY, VERSION_KEY, askable
from gateway.interim import Parking

PROGRESS_GAP_SECONDS = 0.002
"""TypeScript clients lose progress that reaches them in the same read as the response."""

Place = tuple[str, str]
"""A server and the URI of one of its resources."""


@dataclass
class Listen:
    """One open `subscriptions/listen`.

    Attributes:
        changes: notifications that it wants, by method.
        resources: places of the resources it follows, with the URIs by which the client knows them.
    """

    changes: frozenset[str] = frozenset()
    resources: dict[Place, str] = field(default_factory=dict)
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Request:
    """One request: its id as it came, its method, params and era."""

    __slots__ = ("id", "meta", "method", "params", "started", "stateless")

    def __init__(self, id_: bytes, method: str, params: bytes, started: float) -> None:
        self.started = started
        self.id = id_
        self.method = method
        self.params = params
        self.meta: dict[str, msgspec.Raw] | None = None
        if b'"_meta"' in params:
            raw = jsonrpc.members(params).get("_meta")
            if raw is not None and bytes(raw)[:1] == b"{":
                self.meta = jsonrpc.members(raw)
        self.stateless = self.meta is not None and VERSION_KEY in self.meta

    @property
    def log_level(self) -> str:
        """The least level of log messages that it asks for; empty for none."""
        raw = (self.meta or {}).get(LOG_LEVEL_KEY)
        level = jsonrpc.value(raw) if raw is not None else ""
        return level if isinstance(level, str) else ""


class Session:
    """One connected client.

    Args:
        name: scope of rate limits, of what has been shown, and of servers of its own.
        send: writes one frame to the client.
        cwd: its working directory, where servers of its own run; empty = the home directory.

    Attributes:
        initialized: it has shaken hands: it may be asked and told things.
        version: of the protocol, as agreed on by then; empty before.
        capabilities: JSON of what it can be asked, by its handshake; empty for nothing.
        level: what `logging/setLevel` said last.
        listed: which lists it has asked for since the last notice of their change.
        followed: how many of its subscriptions want each resource.
        subscribed: resources of `resources/subscribe`, with the URIs by which the client knows them.
        told: levels of log messages that its open requests ask for, by request id.
        parking: calls that wait for the client's input.
    """

    def __init__(self, name: str, send: Callable[[bytes], None], cwd: str = "") -> None:
        self.name = name
        self.send = send
        self.cwd = cwd
        self.in_flight: dict[bytes, asyncio.Task[None]] = {}
        self.listens: dict[bytes, Listen] = {}
        self.listed_generation: str | None = None
        self.draining = False
        self.initialized = False
        self.version = ""
        self.capabilities = b""
        self.level = ""
        self.listed: set[str] = set()
        self.followed: dict[Place, int] = {}
        self.subscribed: dict[Place, str] = {}
        self.told: dict[bytes, str] = {}
        self.parking = Parking()
        self.attending: asyncio.Task[None] | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[bytes, asyncio.Future[bytes]] = {}
        self._hearing: dict[bytes, Callable[[bytes], None]] = {}

    def forget(self, id_: bytes, task: asyncio.Task[None]) -> None:
        """A request is over; an id that was reused meanwhile belongs to the later one."""
        if self.in_flight.get(id_) is task:
            del self.in_flight[id_]

    def reply(self, request: Request, frame: bytes) -> None:
        """Answers a request, in whose task this must be called. Its id is free by the time that the client reads it."""
        task = asyncio.current_task()
        if task is not None:
            self.forget(request.id, task)
        self.send(frame)

    def askable(self, request: Request) -> bytes:
        """JSON of what the client can be asked while this request is open; empty for nothing."""
        if not request.stateless:
            return self.capabilities
        return askable(bytes((request.meta or {}).get(CAPABILITIES_KEY, b"")))

    def level_for(self, request: Request) -> str:
        """The log messages that a request wants of a server that is told so with each request."""
        return request.log_level if request.stateless else self.level

    def ask(
        self, method: str, params: bytes | None, on_progress: Callable[[bytes], None] | None = None
    ) -> asyncio.Future[bytes]:
        """Sends a request to the client: the JSON of its result, or `RpcError`. Cancelling takes it back.

        Args:
            on_progress: takes the params of each progress notification, without the token, if `params` has one.
        """
        id_ = b'"mms-%d"' % next(self._numbers)
        if on_progress is not None and params is not None and b'"progressToken"' in params:
            self._hearing[id_] = on_progress
            params = _with_token(params, id_)  # servers choose theirs by themselves, and may choose the same
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asked[id_] = future
        future.add_done_callback(lambda done: self._settled(id_, done))
        self.send(jsonrpc.request(id_, method, params))
        return future

    def answered(self, id_: bytes, frame: jsonrpc.Frame) -> None:
        """Takes the client's answer to a request of ours."""
        future = self._asked.get(id_)
        if future is None or future.done():
            return
        if frame.error is not msgspec.UNSET and bytes(frame.error)[:1] == b"{":
            future.set_exception(RpcError("the client refused", raw=bytes(frame.error)))
        elif frame.result is not msgspec.UNSET and bytes(frame.result)[:1] == b"{":
            future.set_result(bytes(frame.result))
        else:
            future.set_exception(RpcError("the client answered with nothing"))

    def progressed(self, params: bytes) -> None:
        """Takes the client's word on its progress with a request of ours."""
        parts = jsonrpc.members(params)
        hear = self._hearing.get(bytes(parts.pop("progressToken", b"")))
        if hear is not None:
            hear(jsonrpc.encode(parts))

    def close(self) -> None:
        for future in list(self._asked.values()):
            future.cancel()
        for task in self.in_flight.values():
            task.cancel()
        if self.attending is not None:
            self.attending.cancel()

    def _settled(self, id_: bytes, future: asyncio.Future[bytes]) -> None:
        self._asked.pop(id_, None)
        self._hearing.pop(id_, None)
        if future.cancelled() and not self.draining:
            params = b'{"requestId":' + id_ + b',"reason":"the server no longer waits for it"}'
            self.send(jsonrpc.notification("notifications/cancelled", params))


def _with_token(params: bytes, token: bytes) -> bytes:
    """`params` with another progress token, if there is one."""
    parts = jsonrpc.members(params)
    meta = jsonrpc.members(parts.get("_meta", b"{}"))
    if "progressToken" not in meta:
        return params
    return jsonrpc.encode({**parts, "_meta": {**meta, "progressToken": msgspec.Raw(token)}})


class ProgressRelay:
    """Passes the progress of one call on, under the client's own token."""

    def __init__(self, session: Session, request: Request) -> None:
        raw = (request.meta or {}).get("progressToken")
        self._token = b"" if raw is None or not jsonrpc.is_valid_id(bytes(raw)) else bytes(raw)
        self._session = session
        self._last = 0.0

    @property
    def wanted(self) -> bool:
        return bool(self._token)

    def __call__(self, params: bytes) -> None:
        rest = params.strip()[1:]
        separator = b"" if rest.strip() == b"}" else b","
        frame = b'{"progressToken":' + self._token + separator + rest
        self._session.send(jsonrpc.notification("notifications/progress", frame))
        self._last = time.perf_counter()

    async def settle(self) -> None:
        """Keeps the response apart from a progress notification that has just left."""
        if self._last and time.perf_counter() - self._last < PROGRESS_GAP_SECONDS:
            await asyncio.sleep(PROGRESS_GAP_SECONDS)
