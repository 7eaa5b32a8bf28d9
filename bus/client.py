"""The calling side: `ask`, `tell` and `watch`, with deadline, cancellation and progress.

One `Bus` per process and event loop. It keeps one DEALER per actor, opened at the first use. A DEALER's socket monitor
tells at once when an actor's end has closed, so that whatever is in flight fails with `PeerRestarted` instead of
waiting for its deadline.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import zmq
import zmq.utils.monitor

from bus import envelope
from bus.endpoint import Runtime
from bus.errors import BusError, Busy, DeadlineExceeded, PeerRestarted, PeerUnavailable, from_wire
from bus.message import Reply, Request
from bus.wire import Wire, configure

R = TypeVar("R", bound=Reply | None)

CONNECT_WAIT_SECONDS = 2.0
"""How long an ask waits for an actor that is not there: as long as a restart takes."""
WATCH_QUEUE = 1_024
"""Items a watcher may be behind before its stream is ended with `Busy`."""
DEADLINE_GRACE_SECONDS = 0.25
"""An actor ends a handler at the deadline and says so; the caller gives that answer time to arrive."""

_MONITORED = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED


class _Waiting:
    """One message that has been sent and not yet answered."""

    __slots__ = ("future", "on_item", "queue", "request", "timer")

    def __init__(self, request: Request[Any]) -> None:
        self.request = request
        self.future: asyncio.Future[Any] | None = None
        self.queue: asyncio.Queue[Any] | None = None
        self.on_item: Callable[[Any], None] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def finish(self, outcome: Any) -> None:
        """Delivers the reply, or raises it if it is an error."""
        if self.timer is not None:
            self.timer.cancel()
        if self.queue is not None:
            self.queue.put_nowait(outcome)
        elif self.future is not None and not self.future.done():
            if isinstance(outcome, BaseException):
                self.future.set_exception(outcome)
            else:
                self.future.set_result(outcome)


class _END:
    """Marks the regular end of a stream."""


class _Peer:
    """The connection to one actor."""

    def __init__(self, bus: Bus, actor: str) -> None:
        self.actor = actor
        self._bus = bus
        self._numbers = itertools.count(1)
        self.waiting: dict[int, _Waiting] = {}
        self.connected = asyncio.Event()
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        configure(socket)
        self._monitor: Wire | None = None
        if bus.runtime.directory is None:
            self.connected.set()  # inproc has no monitor events; its actors end with this process
        else:
            socket.immediate = True  # what cannot be delivered now is refused, not kept for the next incarnation
            socket.reconnect_ivl = 20
            socket.reconnect_ivl_max = 200
            monitor: zmq.Socket[bytes] = socket.get_monitor_socket(_MONITORED)
            self._monitor = Wire(monitor, self._on_monitor)
        socket.connect(bus.runtime.address(actor))
        self._wire = Wire(socket, self._on_message)
        self._socket = socket

    def send(self, kind: int, waiting: _Waiting | None, header: dict[str, Any], body: Any = None) -> int:
        """Sends a message and returns its id.

        Raises:
            Busy: the queue towards the actor is full; PeerUnavailable: nobody is connected.
        """
        number = next(self._numbers)
        header[envelope.ID] = number
        frames = envelope.pack(kind, header, body)
        if waiting is not None:
            self.waiting[number] = waiting
        try:
            self._wire.send(frames)
        except zmq.Again:
            self.waiting.pop(number, None)
            if len(self.waiting) >= envelope.SEND_HIGH_WATER:
                raise Busy(f"the queue towards {self.actor} is full") from None
            # Too little is under way for a full queue, so nobody is connected; the monitor's word is still on its way.
            self.connected.clear()
            raise self._bus.unavailable(self.actor) from None
        return number

    def cancel(self, number: int) -> None:
        """Forgets a message and tells the actor to stop working on it."""
        waiting = self.waiting.pop(number, None)
        if waiting is None:
            return
        if waiting.timer is not None:
            waiting.timer.cancel()
        try:
            self._wire.send(envelope.pack(envelope.CANCEL, {envelope.ID: number}))
        except zmq.ZMQError:
            pass  # nobody there to cancel

    def expire(self, number: int) -> None:
        """The deadline has passed and the actor has not said so itself."""
        waiting = self.waiting.get(number)
        if waiting is None:
            return
        self.cancel(number)
        name = type(waiting.request).__name__
        waiting.finish(DeadlineExceeded(f"{self.actor} did not answer {name} in time"))

    def close(self) -> None:
        self._fail(PeerUnavailable(f"the connection to {self.actor} was closed"))
        if self._monitor is not None:
            self._socket.disable_monitor()
            self._monitor.close()
        self._wire.close()

    def _fail(self, error: BusError) -> None:
        waiting, self.waiting = self.waiting, {}
        for entry in waiting.values():
            entry.finish(type(error)(error.message))

    def _on_monitor(self, frames: list[bytes]) -> None:
        event = zmq.utils.monitor.parse_monitor_message(frames)["event"]
        if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
            self.connected.set()
        elif event == zmq.EVENT_DISCONNECTED:
            self.connected.clear()
            self._wire.drain()  # answers that arrived before the end count
            self._fail(PeerRestarted(f"{self.actor} went away while the request was in flight"))

    def _on_message(self, frames: list[bytes]) -> None:
        try:
            kind, header = envelope.unpack(frames)
        except BusError as error:
            self._fail(error)
            return
        number = header[envelope.ID]
        if number == 0 and kind == envelope.ERROR:  # the actor cannot read what we send
            self._fail(_error(header))
            return
        waiting = self.waiting.get(number)
        if waiting is None:
            return  # cancelled or expired meanwhile
        try:
            if kind == envelope.ITEM:
                self._on_item(number, waiting, frames)
                return
            self.waiting.pop(number, None)
            if kind == envelope.REPLY:
                waiting.finish(envelope.body(waiting.request.reply, frames))
            elif kind == envelope.END:
                waiting.finish(_END)
            elif kind == envelope.PONG:
                waiting.finish(header)
            else:
                waiting.finish(_error(header))
        except BusError as error:
            self.waiting.pop(number, None)
            waiting.finish(error)

    def _on_item(self, number: int, waiting: _Waiting, frames: list[bytes]) -> None:
        if waiting.queue is not None:
            if waiting.queue.qsize() >= WATCH_QUEUE:
                self.cancel(number)
                waiting.finish(Busy(f"a watch on {self.actor} is {WATCH_QUEUE} items behind"))
            else:
                waiting.queue.put_nowait(envelope.body(waiting.request.reply, frames))
        elif waiting.on_item is not None:
            waiting.on_item(envelope.body(waiting.request.item, frames))


def _error(header: dict[str, Any]) -> BusError:
    code, message = str(header.get(envelope.CODE, "")), str(header.get(envelope.MESSAGE, ""))
    return from_wire(code, message, str(header.get(envelope.TRACE, "")))


class Bus:
    """Talks to the actors of one cluster.

    Args:
        runtime: where they are.
        sender: who asks, as it appears in the actors' logs.
    """

    def __init__(self, runtime: Runtime, sender: str) -> None:
        self.runtime = runtime
        self.sender = sender
        self._peers: dict[str, _Peer] = {}
        self._closed = False

    async def ask(
        self,
        request: Request[R],
        *,
        timeout: float,
        trace_id: str = "",
        on_item: Callable[[Any], None] | None = None,
        wait: float = CONNECT_WAIT_SECONDS,
        actor: str = "",
        repeat: bool = True,
    ) -> R:
        """One request, one reply.

        Args:
            timeout: seconds until `DeadlineExceeded`; travels with the message and ends the handler too.
            on_item: called with each `Item` that precedes the reply.
            wait: seconds to wait for an actor that is not connected; 0 for a stage that the caller can do without.
            actor: for requests that every actor understands, and for one replica of several.
            repeat: false for a caller that would rather ask another replica.

        Raises:
            PeerUnavailable: nobody there within `wait`; PeerRestarted: it went away meanwhile (an idempotent request
                is sent once more first); Busy; DeadlineExceeded; and whatever the handler raised.
        """
        peer = self._peer(actor or request.actor)
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            reply: R = await self._once(peer, envelope.ASK, request, deadline, trace_id, on_item, wait)
            return reply
        except PeerRestarted:
            if not (repeat and request.idempotent) or self._closed:
                raise
        wait = max(wait, CONNECT_WAIT_SECONDS)
        repeated: R = await self._once(peer, envelope.ASK, request, deadline, trace_id, on_item, wait)
        return repeated

    async def tell(self, request: Request[None], *, timeout: float, trace_id: str = "") -> None:
        """Hands something over and returns once the actor has taken responsibility for it. Errors as for `ask`."""
        peer = self._peer(request.actor)
        deadline = asyncio.get_running_loop().time() + timeout
        await self._once(peer, envelope.TELL, request, deadline, trace_id, None, CONNECT_WAIT_SECONDS)

    async def watch(
        self, request: Request[R], *, wait: float = CONNECT_WAIT_SECONDS, actor: str = ""
    ) -> AsyncIterator[R]:
        """A stream of replies until it is left, or the actor ends it.

        Raises:
            PeerUnavailable, PeerRestarted: the caller may watch again; Busy: the caller is too slow.
        """
        peer = self._peer(actor or request.actor)
        await self._connected(peer, wait)
        waiting = _Waiting(request)
        waiting.queue = asyncio.Queue()
        number = peer.send(envelope.WATCH, waiting, self._header(peer, request, ""), request)
        try:
            while True:
                outcome = await waiting.queue.get()
                if outcome is _END:
                    return
                if isinstance(outcome, BusError):
                    raise outcome
                yield outcome
        finally:
            peer.cancel(number)

    async def ping(self, actor: str, *, timeout: float, wait: float = CONNECT_WAIT_SECONDS) -> dict[str, Any]:
        """The header of the actor's answer: incarnation, build, process id, and whether it is ready."""
        peer = self._peer(actor)
        request: Request[None] = Request()
        deadline = asyncio.get_running_loop().time() + timeout
        header: dict[str, Any] = await self._once(peer, envelope.PING, request, deadline, "", None, wait)
        return header

    def is_connected(self, actor: str) -> bool:
        """Whether the actor's end of the connection is open at this moment."""
        return self._peer(actor).connected.is_set()

    def unavailable(self, actor: str) -> PeerUnavailable:
        return PeerUnavailable(f"the actor {actor} is not running; `mms ps` shows the cluster")

    def close(self) -> None:
        """Closes every connection; what is in flight fails with `PeerUnavailable`."""
        self._closed = True
        for peer in self._peers.values():
            peer.close()
        self._peers.clear()

    def _peer(self, actor: str) -> _Peer:
        if self._closed:
            raise PeerUnavailable("this process has left the bus")
        peer = self._peers.get(actor)
        if peer is None:
            peer = self._peers[actor] = _Peer(self, actor)
        return peer

    def _header(self, peer: _Peer, request: Request[Any], trace_id: str) -> dict[str, Any]:
        return {
            envelope.TARGET: peer.actor,
            envelope.OPERATION: type(request).__name__,
            envelope.TRACE: trace_id,
            envelope.SENDER: self.sender,
        }

    async def _connected(self, peer: _Peer, wait: float) -> None:
        if peer.connected.is_set():
            return
        try:
            await asyncio.wait_for(peer.connected.wait(), max(wait, 0.001))
        except TimeoutError:
            raise self.unavailable(peer.actor) from None

    async def _once(
        self,
        peer: _Peer,
        kind: int,
        request: Request[Any],
        deadline: float,
        trace_id: str,
        on_item: Callable[[Any], None] | None,
        wait: float,
    ) -> Any:
        loop = asyncio.get_running_loop()
        give_up = min(loop.time() + wait, deadline)
        waiting = _Waiting(request)
        waiting.on_item = on_item
        waiting.future = loop.create_future()
        header = self._header(peer, request, trace_id)
        while True:
            if not peer.connected.is_set():
                await self._connected(peer, give_up - loop.time())
            left = deadline - loop.time()
            if left <= 0:
                raise DeadlineExceeded(f"no time was left to ask {peer.actor}")
            header[envelope.DEADLINE_MS] = int(left * 1000)
            try:
                number = peer.send(kind, waiting, header, None if kind == envelope.PING else request)
                break
            except PeerUnavailable:
                if loop.time() >= give_up or peer.connected.is_set():
                    raise
        waiting.timer = loop.call_later(left + DEADLINE_GRACE_SECONDS, peer.expire, number)
        try:
            return await waiting.future
        except asyncio.CancelledError:
            peer.cancel(number)
            raise
