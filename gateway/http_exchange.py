"""From one stream of frames per client to the many of HTTP: each request has a reply of its own, and what belongs to
none goes to the client's GET stream. A reply whose connection has broken can be taken up again (`Last-Event-ID`)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import msgspec

from actors.upstream.library_messages import LOG_LEVELS
from bus import jsonrpc
from gateway.attendance import CHANGES
from gateway.http_outlet import Outlet, Shelf

MAX_KEPT = 32
"""Finished replies of one client that are kept for its coming back."""
BACKLOG = 128
"""Frames that belong to no request, kept for a GET stream that is not open at the moment."""
_STANDING = "0"
_LOGGER = "memtomem-bus"
_WARNING = LOG_LEVELS.index("warning")
_LONGEST_NUMBER = 18


class Exchange(Outlet):
    """One request of the stateless era: every frame on its account goes to its own response."""

    def send(self, frame: bytes) -> None:
        if jsonrpc.parse(frame)[0].method is msgspec.UNSET:
            self.end(frame)
        else:
            self.put(frame)


class Client:
    """A client of the handshake era: sends each frame to the response it belongs to.

    Args:
        shelf: keeps finished replies of all clients.
        level: the least level of log messages that the client wants; empty for all.

    Attributes:
        seen: `time.monotonic()` of its last sign of life.
        standing: what belongs to no request, for the GET stream.
    """

    def __init__(self, shelf: Shelf, level: Callable[[], str] = str) -> None:
        self.seen = time.monotonic()
        self.standing = Outlet(_STANDING, BACKLOG, self._missed_news)
        self._level = level
        self._shelf = shelf
        self._names = map(str, itertools.count(1))
        self._open: dict[bytes, Outlet] = {}
        self._tokens: dict[bytes, Outlet] = {}
        self._named: dict[str, Outlet] = {}
        self._kept: dict[Outlet, None] = {}

    @property
    def busy(self) -> bool:
        return bool(self._open) or self.standing.readers > 0

    def expect(self, id_: bytes, token: bytes) -> Outlet | None:
        """The outlet of a request; `None` when its id is in use.

        Args:
            token: JSON of its progress token, empty for none.
        """
        if id_ in self._open:
            return None
        outlet = Outlet(next(self._names), missed=self._missed)
        outlet.readers = 1
        self._open[id_] = self._named[outlet.name] = outlet
        if token:
            self._tokens[token] = outlet
        return outlet

    def finish(self, id_: bytes, token: bytes) -> None:
        """The request is over, answered or not."""
        outlet = self._open.pop(id_, None)
        if outlet is None:
            return
        outlet.end()
        if self._tokens.get(token) is outlet:
            del self._tokens[token]
        if not outlet.readers and outlet.name in self._named:
            self._keep(outlet)

    def leave(self, outlet: Outlet) -> None:
        """The response has ended, or its connection has broken; the client may come back for the rest."""
        self.seen = time.monotonic()
        outlet.readers -= 1
        if outlet.over and not outlet.readers and outlet.name in self._named:
            self._keep(outlet)

    def drop(self, outlet: Outlet) -> None:
        """Nobody will come back: the client knows of no event."""
        self.seen = time.monotonic()
        outlet.readers -= 1
        self._forget(outlet)

    def find(self, event: str) -> tuple[Outlet, int] | None:
        """The outlet that an event was sent by, and the event's number; `None` when nothing comes after it, or what
        does is no longer kept."""
        name, _, text = event.rpartition("-")
        outlet = self.standing if name == _STANDING else self._named.get(name)
        number = int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else 0
        return (outlet, number) if outlet is not None and outlet.has_more(number) else None

    def send(self, frame: bytes) -> None:
        found = jsonrpc.parse(frame)[0]
        if found.method is msgspec.UNSET:
            outlet = self._open.get(b"" if found.id is msgspec.UNSET else bytes(found.id))
            if outlet is not None:
                outlet.end(frame)
            return
        outlet = None
        if found.method == "notifications/progress" and found.params is not msgspec.UNSET:
            outlet = self._tokens.get(bytes(jsonrpc.members(found.params)["progressToken"]))
        elif found.id is not msgspec.UNSET:  # a question to the client: to the newest of its requests that are open
            outlet = next((reply for reply in reversed(self._open.values()) if reply.readers and not reply.over), None)
        (self.standing if outlet is None or outlet.over else outlet).put(frame)

    def close(self) -> None:
        self.standing.end()
        for outlet in list(self._named.values()):
            outlet.end()
            self._forget(outlet)

    def _missed(self, count: int) -> list[bytes]:
        """Tells that messages have been dropped, if the client wants such messages."""
        level = self._level()
        if level and LOG_LEVELS.index(level) > _WARNING:
            return []
        said = f"{count} message{' has' if count == 1 else 's have'} been dropped: the client was away for too long"
        params = {"level": "warning", "logger": _LOGGER, "data": said}
        return [jsonrpc.notification("notifications/message", jsonrpc.encode(params))]

    def _missed_news(self, count: int) -> list[bytes]:
        """The same of those that belong to no request. A change of a list may be among them, and is told only once."""
        return [*self._missed(count), *(jsonrpc.notification(method) for method in CHANGES.values())]

    def _keep(self, outlet: Outlet) -> None:
        self._kept[outlet] = None
        self._shelf.put(outlet, self._forget)
        if len(self._kept) > MAX_KEPT:
            self._forget(next(iter(self._kept)))

    def _forget(self, outlet: Outlet) -> None:
        self._named.pop(outlet.name, None)
        self._kept.pop(outlet, None)
        self._shelf.take(outlet)
