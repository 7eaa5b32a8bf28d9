"""What a server of the stateless era reports by itself: one `subscriptions/listen` that follows what is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.upstream.era import STATELESS
from actors.upstream.handshake import Session
from bus import jsonrpc
from bus.errors import BusError, PeerUnavailable
from bus.rpc import Rpc

AGAIN_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
"""Wait before listening again when the server has ended the subscription; twice as long when it does so soon again."""
_CHANGES = (("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged"))


class Listening:
    """The open subscription on one connection.

    Args:
        uris: the resources whose changes are wanted now.
        on_gap: called when a subscription follows one that had ended: what was new in between has not been told.
    """

    def __init__(self, peer: Rpc, session: Session, uris: Callable[[], set[str]], on_gap: Callable[[], None]) -> None:
        self._peer = peer
        self._session = session
        self._uris = uris
        self._on_gap = on_gap
        self._number = 0
        self._future: asyncio.Future[bytes] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._pause = AGAIN_SECONDS
        self._began = 0.0

    @property
    def open(self) -> bool:
        """Whether the request is in flight, as it is for as long as the server tells its news."""
        return self._future is not None and not self._future.done()

    def renew(self) -> None:
        """Listens to what is wanted now. The new subscription begins before the old one ends, so nothing is missed."""
        wanted: dict[str, object] = {
            key: True for feature, key in _CHANGES if self._session.offers(feature, "listChanged")
        }
        uris = sorted(self._uris())
        if uris:
            wanted["resourceSubscriptions"] = uris
        old, self._number = self._number, 0
        if wanted:
            params = STATELESS.params(jsonrpc.encode({"notifications": wanted}))
            self._number, future = self._peer.start("subscriptions/listen", params)
            number = self._number
            self._future = future
            self._began = asyncio.get_running_loop().time()
            future.add_done_callback(lambda done: self._ended(number, done))
        if old:
            self._peer.cancel(old, "another subscription has taken its place")

    def close(self) -> None:
        if self._again is not None:
            self._again.cancel()

    def _ended(self, number: int, future: asyncio.Future[bytes]) -> None:
        if future.cancelled():
            return
        error = future.exception()  # looked at in any case, so that nobody else complains of it
        if number != self._number or self._peer.closed.is_set():
            return  # replaced, or the server is gone
        if error is not None and not isinstance(error, PeerUnavailable):
            return  # it does not do this
        loop = asyncio.get_running_loop()
        if loop.time() - self._began > LONGEST_PAUSE_SECONDS:
            self._pause = AGAIN_SECONDS
        self._again = loop.call_later(self._pause, self._listen_again)
        self._pause = min(self._pause * 2, LONGEST_PAUSE_SECONDS)

    def _listen_again(self) -> None:
        try:
            self.renew()
        except BusError:
            return  # the connection is closed; the next one listens anew
        self._on_gap()
