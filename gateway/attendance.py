"""What servers say of their own accord, on its way to one client: news, log messages, questions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from actors.upstream.library_messages import LOG_LEVELS, Attend, ServerMessage, lies_within
from bus import jsonrpc
from bus.errors import BusError
from gateway.eras import SUBSCRIPTION_KEY, without_nulls
from gateway.interim import for_handshake
from gateway.session import Listen, Place, Session
from gateway.upstream import Upstream

RETRY_SECONDS = 0.2
TOOLS_CHANGED = "notifications/tools/list_changed"
PROMPTS_CHANGED = "notifications/prompts/list_changed"
RESOURCES_CHANGED = "notifications/resources/list_changed"
_UPDATED = "notifications/resources/updated"
_MESSAGE = "notifications/message"
_ELICITED = "notifications/elicitation/complete"
_CANCELLED = "notifications/cancelled"


class Attendance:
    """Attends for one client until it is cancelled, over restarts of the pool.

    Args:
        public_uri: the URI by which clients know a resource of a server.
    """

    def __init__(self, session: Session, upstream: Upstream, public_uri: Callable[[str, str], str]) -> None:
        self._session = session
        self._upstream = upstream
        self._public_uri = public_uri
        self._asking: dict[int, asyncio.Future[bytes]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        session = self._session
        while True:
            attend = Attend(
                session=session.name,
                cwd=session.cwd,
                log_level=session.level,
                subscriptions=tuple(session.followed),
            )
            with contextlib.suppress(BusError):
                async for message in self._upstream.bus.watch(attend):
                    self._hear(message)
            await asyncio.sleep(RETRY_SECONDS)

    def _hear(self, message: ServerMessage) -> None:
        try:
            self._take(message)
        except msgspec.MsgspecError:  # params of another shape
            if message.number:
                self._spawn(self._upstream.refuse(self._session, message.number, message.method))

    def _take(self, message: ServerMessage) -> None:
        if self._session.draining:
            return
        if message.number:
            self._question(message)
        elif message.method == _UPDATED:
            self._updated(message)
        elif message.method == _MESSAGE:
            self._log_message(message)
        elif message.method == _ELICITED:
            if self._session.initialized:  # the other era knows by the client's own return
                self._session.send(jsonrpc.notification(_ELICITED, message.params))
        else:
            changed(self._session, message.method)

    def _question(self, message: ServerMessage) -> None:
        """A server asks, or takes its question back."""
        session = self._session
        if message.method == _CANCELLED:
            session.parking.take_back(message.number)
            asking = self._asking.pop(message.number, None)
            if asking is not None:
                asking.cancel()
        elif session.parking.ask(message):
            return
        elif session.initialized:
            params = for_handshake(message.method, message.params)
            reply = session.ask(message.method, params, lambda told: self._progressed(message.number, told))
            self._asking[message.number] = reply
            reply.add_done_callback(lambda _: self._asking.pop(message.number, None))
            self._spawn(self._upstream.answer(session, message.number, reply))
        else:
            self._spawn(self._upstream.refuse(session, message.number, message.method))

    def _progressed(self, number: int, params: bytes) -> None:
        self._spawn(self._upstream.progressed(self._session, number, params))

    def _updated(self, message: ServerMessage) -> None:
        session = self._session
        params = without_nulls(message.params)
        uri = jsonrpc.string(params.get("uri", msgspec.Raw(b'""')))
        place = (message.server, uri)
        if _follows(session.subscribed, place):
            known = session.subscribed.get(place) or self._public_uri(*place)
            session.send(jsonrpc.notification(_UPDATED, jsonrpc.encode({**_plain(params), "uri": known})))
        for id_, listen in session.listens.items():
            if _follows(listen.resources, place):
                known = listen.resources.get(place) or self._public_uri(*place)
                stamped = {**_plain(params), "_meta": stamp(id_), "uri": known}
                session.send(jsonrpc.notification(_UPDATED, jsonrpc.encode(stamped)))

    def _log_message(self, message: ServerMessage) -> None:
        """To a client that has shaken hands, or to one with an open request that asks for messages."""
        session = self._session
        params = without_nulls(message.params)
        if not session.initialized:
            level = jsonrpc.value(params.get("level", msgspec.Raw(b'""')))
            if level not in LOG_LEVELS or not any(
                LOG_LEVELS.index(level) >= LOG_LEVELS.index(least) for least in session.told.values()
            ):
                return
        session.send(jsonrpc.notification(_MESSAGE, jsonrpc.encode(_plain(params))))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def changed(session: Session, method: str) -> None:
    """Tells a client once that a list which it has asked for is another one now, and each of its subscriptions."""
    if method in session.listed:
        session.listed.discard(method)  # one notice is enough until it lists again
        session.send(jsonrpc.notification(method))
    for id_, listen in session.listens.items():
        if method in listen.changes:
            session.send(jsonrpc.notification(method, jsonrpc.encode({"_meta": stamp(id_)})))


def stamp(id_: bytes) -> dict[str, msgspec.Raw]:
    """The `_meta` that says which subscription a notification belongs to; the id keeps its JSON type."""
    return {SUBSCRIPTION_KEY: msgspec.Raw(id_)}


def acknowledged(id_: bytes, listen: Listen) -> bytes:
    """The first frame of a subscription: what of its filter is honoured."""
    honoured: dict[str, object] = {key: True for key, method in CHANGES.items() if method in listen.changes}
    if listen.resources:
        honoured["resourceSubscriptions"] = list(listen.resources.values())
    params = jsonrpc.encode({"_meta": stamp(id_), "notifications": honoured})
    return jsonrpc.notification("notifications/subscriptions/acknowledged", params)


CHANGES = {
    "toolsListChanged": TOOLS_CHANGED,
    "promptsListChanged": PROMPTS_CHANGED,
    "resourcesListChanged": RESOURCES_CHANGED,
}
"""Keys of a subscription's filter, and the notifications that they ask for."""


def _follows(resources: Iterable[Place], place: Place) -> bool:
    """Whether a change is told to those who follow these."""
    server, uri = place
    return any(name == server and lies_within(uri, followed) for name, followed in resources)


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in params.items() if key != "_meta"}


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    """An answer that does not arrive is one to a server that is gone."""
    with contextlib.suppress(BusError, asyncio.CancelledError):
        await work
