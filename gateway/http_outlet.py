"""The events of one HTTP response, and how long they are kept for a client whose connection has broken."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence

MAX_WAITING = 1_024
"""Events of a request that wait for its client to read, or to come back."""
MAX_SHELF_BYTES = 64 * 1024 * 1024
"""Finished replies of all clients of a gateway together."""
KEEP_ALIVE_SECONDS = 15.0
"""Silence after which a stream says that it is alive, for the proxies between."""
RETRY_MILLISECONDS = 1_000
"""How long a client is asked to wait before it comes back."""

_LINE_ENDS = [(chr(code).encode(), b"\\u%04x" % code) for code in (0x85, 0x2028, 0x2029)]


class Outlet:
    """Frames on their way to one HTTP response, and to those that take it up again.

    Args:
        name: leads the ids of its events, unique within a session; empty: they have none, and go once they are sent.
        most: events that wait; of more, the oldest are dropped.
        missed: the frames that tell a reader of so many events that it will never get.

    Attributes:
        readers: responses that take its frames, or are about to; all but the last one end by themselves.
    """

    def __init__(
        self, name: str = "", most: int = MAX_WAITING, missed: Callable[[int], Sequence[bytes]] = lambda count: ()
    ) -> None:
        self.name = name
        self.readers = 0
        self._missed = missed
        self._events: deque[tuple[int, bytes]] = deque(maxlen=most)
        self._count = 0
        self._sent = 0
        self._reader = 0
        self._answer: bytes | None = None
        self._over = False
        self._news = asyncio.Event()

    @property
    def over(self) -> bool:
        return self._over

    @property
    def answer(self) -> bytes | None:
        """The last frame, once it is there."""
        return self._answer

    def has_more(self, after: int) -> bool:
        """Whether anything comes, or may come, after an event; not after one that has not been sent."""
        return after < self._count or (after == self._count and not self._over)

    @property
    def size(self) -> int:
        """Bytes of what is kept."""
        return sum(len(frame) for _, frame in self._events)

    def put(self, frame: bytes) -> None:
        self._count += 1
        self._events.append((self._count, frame))
        self._news.set()

    def end(self, frame: bytes | None = None) -> None:
        """The last frame, if there is one."""
        if not self._over:
            if frame is not None:
                self.put(frame)
            self._over, self._answer = True, frame
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
        return self._answer if self._over and self._count == 1 else None

    async def end_of_it(self) -> None:
        """Waits for the last frame."""
        while not self._over:
            self._news.clear()
            await self._news.wait()

    async def events(self, after: int | None = None, *, primed: bool = False) -> AsyncGenerator[bytes, None]:
        """Everything from now on, as server-sent events. An older reader ends.

        Args:
            after: number of the last event that the client has got; `None`: whatever was not sent yet.
            primed: begins with an event without data, by whose id the client can come back.
        """
        self._reader += 1
        self._news.set()
        reader, position = self._reader, self._sent if after is None else after
        if primed:
            yield f"id: {self.name}-{position}\nretry: {RETRY_MILLISECONDS}\ndata: \n\n".encode()
        while reader == self._reader:
            self._news.clear()
            while reader == self._reader and position < self._count:
                lost = self._events[0][0] - position - 1
                if lost > 0:
                    position += lost
                    for frame in self._missed(lost):
                        yield self._event(position, frame)
                    continue  # more may have been dropped meanwhile
                position, frame = self._after(position)
                self._sent = max(self._sent, position)
                yield self._event(position, frame)
            if self._over or reader != self._reader:
                return
            try:
                async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                yield b": alive\n\n"

    def _after(self, position: int) -> tuple[int, bytes]:
        """The event that follows a number."""
        if not self.name:
            return self._events.popleft()
        return self._events[position + 1 - self._events[0][0]]

    def _event(self, number: int, frame: bytes) -> bytes:
        id_ = f"id: {self.name}-{number}\n".encode() if self.name else b""
        return id_ + b"event: message\ndata: " + _on_one_line(frame.rstrip(b"\n")) + b"\n\n"


def _on_one_line(frame: bytes) -> bytes:
    """The same JSON for readers of event streams that take more than a newline for the end of a line. In JSON these
    characters can only stand in strings."""
    for character, escape in _LINE_ENDS:
        if character in frame:
            frame = frame.replace(character, escape)
    return frame


class Shelf:
    """Finished replies that wait for their client to come back; the oldest go first.

    Args:
        max_bytes: of all of them.
    """

    def __init__(self, max_bytes: int = MAX_SHELF_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._outlets: dict[Outlet, tuple[int, Callable[[Outlet], None]]] = {}

    def put(self, outlet: Outlet, forget: Callable[[Outlet], None]) -> None:
        """Keeps an outlet, as the newest.

        Args:
            forget: called when it must go; takes it from the shelf.
        """
        self.take(outlet)
        size = outlet.size
        self._outlets[outlet] = size, forget
        self._bytes += size
        while self._bytes > self._max_bytes:
            oldest = next(iter(self._outlets))
            self._outlets[oldest][1](oldest)

    def take(self, outlet: Outlet) -> None:
        """Takes an outlet away, if it is there."""
        size, _ = self._outlets.pop(outlet, (0, None))
        self._bytes -= size
