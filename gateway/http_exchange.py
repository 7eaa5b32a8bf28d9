"""From one stream of frames per client to the many of HTTP: each request has a reply of its own, and what belongs to
none goes to the client's GET stream."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator

import msgspec

from bus import jsonrpc

MAX_WAITING = 1_024
"""Notifications that wait for a client to read; the oldest are dropped."""
BACKLOG = 64
"""Frames kept for a GET stream that is not open at the moment."""
KEEP_ALIVE_SECONDS = 15.0
"""Silence after which a stream says that it is alive, for the proxies between."""


class Outlet:
    """Frames on their way to one HTTP response."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque(maxlen=MAX_WAITING)
        self._last: bytes | None = None
        self._over = False
        self._news = asyncio.Event()

    @property
    def over(self) -> bool:
        return self._over

    @property
    def answered(self) -> bytes | None:
        """The last frame, once it is there."""
        return self._last

    def put(self, frame: bytes) -> None:
        self._frames.append(frame)
        self._news.set()

    def end(self, frame: bytes | None = None) -> None:
        """The last frame, if there is one."""
        if not self._over:
            self._over, self._last = True, frame
            self._news.set()

    async def first(self, seconds: float) -> None:
        """Waits until there is something to send, `seconds` at most."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    def reply(self) -> bytes | None:
        """The answer, when it is all that there is to send."""
        return self._last if self._over and not self._frames else None

    async def end_of_it(self) -> None:
        """Waits for the last frame."""
        while not self._over:
            self._news.clear()
            await self._news.wait()

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Everything, as server-sent events."""
        while True:
            self._news.clear()
            while self._frames:
                yield _event(self._frames.popleft())
            if self._over:
                if self._last is not None:
                    yield _event(self._last)
                return
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                yield b": alive\n\n"


class Exchange(Outlet):
    """One request of the stateless era: every frame on its account goes to its own response."""

    def send(self, frame: bytes) -> None:
        if jsonrpc.parse(frame)[0].method is msgspec.UNSET:
            self.end(frame)
        else:
            self.put(frame)


class Client:
    """A client of the handshake era: sends each frame to the response it belongs to.

    Attributes:
        seen: `time.monotonic()` of its last sign of life.
    """

    def __init__(self) -> None:
        self.seen = time.monotonic()
        self.stream: Outlet | None = None
        self._replies: dict[bytes, Outlet] = {}
        self._tokens: dict[bytes, Outlet] = {}
        self._backlog: deque[bytes] = deque(maxlen=BACKLOG)

    @property
    def busy(self) -> bool:
        return bool(self._replies) or self.stream is not None

    def expect(self, id_: bytes, token: bytes) -> Outlet | None:
        """The outlet of a request; `None` when its id is in use.

        Args:
            token: JSON of its progress token, empty for none.
        """
        if id_ in self._replies:
            return None
        outlet = Outlet()
        self._replies[id_] = outlet
        if token:
            self._tokens[token] = outlet
        return outlet

    def forget(self, id_: bytes, token: bytes) -> None:
        """The request is over, answered or not."""
        self.seen = time.monotonic()
        outlet = self._replies.pop(id_, None)
        if outlet is not None:
            outlet.end()
            if self._tokens.get(token) is outlet:
                del self._tokens[token]

    def listen(self) -> Outlet:
        """Opens the GET stream; an older one ends."""
        if self.stream is not None:
            self.stream.end()
        self.stream = Outlet()
        while self._backlog:
            self.stream.put(self._backlog.popleft())
        return self.stream

    def deaf(self, stream: Outlet) -> None:
        """The GET stream was closed by the client."""
        self.seen = time.monotonic()
        if self.stream is stream:
            self.stream = None

    def send(self, frame: bytes) -> None:
        found = jsonrpc.parse(frame)[0]
        if found.method is msgspec.UNSET:
            outlet = self._replies.get(b"" if found.id is msgspec.UNSET else bytes(found.id))
            if outlet is not None:
                outlet.end(frame)
            return
        outlet = None
        if found.method == "notifications/progress" and found.params is not msgspec.UNSET:
            outlet = self._tokens.get(bytes(jsonrpc.members(found.params)["progressToken"]))
        elif found.id is not msgspec.UNSET:  # a question to the client: to the newest of its requests that are open
            outlet = next((reply for reply in reversed(self._replies.values()) if not reply.over), None)
        outlet = outlet or self.stream
        if outlet is not None and not outlet.over:
            outlet.put(frame)
        else:
            self._backlog.append(frame)

    def close(self) -> None:
        for outlet in (*self._replies.values(), *([self.stream] if self.stream is not None else [])):
            outlet.end()


def _event(frame: bytes) -> bytes:
    return b"event: message\ndata: " + frame.rstrip(b"\n") + b"\n\n"
