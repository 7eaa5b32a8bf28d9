"""What is said on one connection beside calls: lists, subscriptions, log levels, news."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from actors.upstream.handshake import Session, list_pages
from actors.upstream.library_messages import Kind
from actors.upstream.link import Link
from actors.upstream.listening import Listening
from actors.upstream.messages import CallResult
from bus import jsonrpc
from bus.message import Blob
from bus.rpc import Rpc, RpcError

LISTS: dict[Kind, tuple[str, str, str]] = {
    "resources": ("resources/list", "resources", "resources"),
    "templates": ("resources/templates/list", "resourceTemplates", "resources"),
    "prompts": ("prompts/list", "prompts", "prompts"),
}
"""Method, member of its result, and the capability that promises it."""


class Conversation:
    """An open connection whose server has said what it can do.

    Args:
        server: its name.
        link: the clients behind it.
        on_gap: called when news of the server's tools may have been missed.
    """

    def __init__(self, server: str, peer: Rpc, session: Session, link: Link, on_gap: Callable[[], None]) -> None:
        self.peer = peer
        self.session = session
        self._server = server
        self._link = link
        self._on_gap = on_gap
        self._listening: Listening | None = None
        if session.dialect.stateless:  # before anything is listed, so that no change is missed
            self._listening = Listening(peer, session, lambda: link.subscribed(server), self._catch_up)
            self._listening.renew()

    @property
    def idle(self) -> bool:
        """Nothing is asked of the server, apart from telling the news."""
        listening = self._listening is not None and self._listening.open
        return self.peer.in_flight <= int(listening)

    async def try_list(self, kind: Kind, timeout: float, capabilities: bytes) -> tuple[list[bytes], list[str]]:
        """As `list`; one that cannot be used costs only itself."""
        try:
            return await self.list(kind, timeout, capabilities)
        except (RpcError, msgspec.MsgspecError) as error:
            return [], [f"its list of {kind} cannot be used: {error}"]

    async def list(self, kind: Kind, timeout: float, capabilities: bytes = b"") -> tuple[list[bytes], list[str]]:
        """The JSON of each entry, and oddities for people; nothing when the server does not promise any.

        Raises:
            as `handshake.list_pages`.
        """
        method, key, feature = LISTS[kind]
        if not self.session.offers(feature):
            return [], []
        return await list_pages(self.peer, method, key, timeout, self.session.dialect, capabilities)

    async def follow(self, uri: str, *, begin: bool, timeout: float) -> CallResult:
        """Makes the server report changes of a resource, or no longer.

        Raises:
            PeerUnavailable, DeadlineExceeded.
        """
        if self._listening is not None:
            self._listening.renew()
            return CallResult(result=Blob(b"{}"))
        if not self.session.offers("resources", "subscribe"):
            what = f"upstream {self._server} does not report changes of its resources"
            return CallResult(error=Blob(jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, what)))
        method = "resources/subscribe" if begin else "resources/unsubscribe"
        try:
            answer = await self.peer.request(method, jsonrpc.encode({"uri": uri}), timeout=timeout)
        except RpcError as error:
            return CallResult(error=Blob(error.raw or jsonrpc.error_object(jsonrpc.INTERNAL_ERROR, error.message)))
        return CallResult(result=Blob(answer))

    def unfollow(self, uri: str) -> None:
        """Nobody wants to hear of a resource any more."""
        if self._listening is not None:
            self._listening.renew()
        elif self.session.offers("resources", "subscribe"):
            self._start("resources/unsubscribe", {"uri": uri})

    def set_log_level(self) -> None:
        """Tells a server of the handshake era what its clients want to be told; requests of the other era say it."""
        level = self._link.log_level()
        if level and self.session.offers("logging") and not self.session.dialect.stateless:
            self._start("logging/setLevel", {"level": level})

    def welcome(self) -> None:
        """Gives a new connection what the clients want of it, and them the news."""
        self.set_log_level()
        if self._listening is None:  # else it has been told as it began
            self.follow_all()
        self.announce()

    def follow_all(self) -> None:
        """Subscribes to everything that somebody wants to hear of; twice does no harm."""
        if self._listening is not None:
            self._listening.renew()
        elif self.session.offers("resources", "subscribe"):
            for uri in self._link.subscribed(self._server):
                self._start("resources/subscribe", {"uri": uri})

    def announce(self) -> None:
        """Tells the clients that there are lists to look at."""
        for feature in ("resources", "prompts"):
            if self.session.offers(feature):
                self._link.said(self._server, f"notifications/{feature}/list_changed", b"{}")

    def close(self) -> None:
        if self._listening is not None:
            self._listening.close()

    def _catch_up(self) -> None:
        self._on_gap()
        self.announce()

    def _start(self, method: str, params: dict[str, object]) -> None:
        """Sends a request whose answer changes nothing."""
        if not self.peer.closed.is_set():
            _, future = self.peer.start(method, jsonrpc.encode(params))
            future.add_done_callback(_look_at)


def _look_at(done: asyncio.Future[bytes]) -> None:
    """Takes note of a failure, so that nobody else complains of it."""
    if not done.cancelled():
        done.exception()
