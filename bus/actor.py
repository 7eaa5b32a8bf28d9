"""An actor: one mailbox, handlers, deadlines, cancellation, bounded concurrency, a life cycle.

Messages are classified as they arrive, so that a cancel or a ping never waits behind work. What may not start at once
waits in a bounded mailbox; past its bound the answer is `Busy`.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import zmq

from bus import envelope
from bus.build import build_id
from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import BusError, Busy, DeadlineExceeded, HandlerFailed, ProtocolError, Stopping, UnknownOperation
from bus.log import Log
from bus.message import Item, Reply, Request
from bus.outbox import Outbox
from bus.status import ActorStatus, GetStatus
from bus.tasks import end
from bus.wire import Wire, configure

F = TypeVar("F", bound=Callable[..., Any])

MAX_WATCHES = 1_024
DRAIN_SECONDS = 5.0
LAST_EVENTS_SECONDS = 1.0
"""Time to hand over the last events; telemetry is stopped last."""
LAST_REPLIES_SECONDS = 0.1
"""Time for the replies of drained work to leave an actor that stops. The socket's linger alone does not do it: libzmq
drops what its thread has not taken up yet when the socket is closed (measured: 1 in 20 on a busy machine)."""
KEEPALIVE_SECONDS = 2.0
"""How often callers with open work are probed, so that the work of one that was killed is cancelled."""

_Key = tuple[bytes, int]


def handles(request: type[Request[Any]]) -> Callable[[F], F]:
    """Marks `async def method(self, request, context) -> reply` as the handler of an ask or tell."""

    def mark(method: F) -> F:
        method.handles = request  # type: ignore[attr-defined]
        return method

    return mark


def streams(request: type[Request[Any]]) -> Callable[[F], F]:
    """Marks an async generator `method(self, request, context)` as the handler of a watch."""

    def mark(method: F) -> F:
        method.streams = request  # type: ignore[attr-defined]
        return method

    return mark


class Place(Protocol):
    """What an actor must know of where its cluster lives (`config.place.Place`).

    Attributes:
        runtime: directory of the sockets; `None` when all actors live in this process.
    """

    @property
    def runtime(self) -> Path | None: ...
    @property
    def logs(self) -> Path: ...
    @property
    def locks(self) -> Path: ...
    @property
    def groups(self) -> Path: ...
    def prepare(self) -> None: ...


class Context:
    """What a handler knows about the message it works on."""

    __slots__ = ("_actor", "_deadline", "_identity", "_number", "sender", "trace_id")

    def __init__(self, actor: Actor, work: _Work) -> None:
        self._actor = actor
        self._identity = work.identity
        self._number: int = work.header[envelope.ID]
        self.trace_id: str = work.header.get(envelope.TRACE, "")
        self.sender: str = work.header.get(envelope.SENDER, "")
        left = work.header.get(envelope.DEADLINE_MS)
        self._deadline = None if left is None else work.arrived + left / 1000

    def remaining(self) -> float | None:
        """Seconds until the caller's deadline; `None` for a watch."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def emit(self, item: Item | Reply) -> None:
        """Sends an item ahead of the reply."""
        self._actor.send(self._identity, envelope.ITEM, {envelope.ID: self._number}, item)


class _Work:
    """A message that is waiting or being worked on."""

    __slots__ = ("arrived", "expired", "frames", "header", "identity", "kind", "task", "timer")

    def __init__(self, identity: bytes, kind: int, header: dict[str, Any], frames: list[bytes]) -> None:
        self.arrived = time.monotonic()  # a message's time runs while it waits
        self.identity = identity
        self.kind = kind
        self.header = header
        self.frames = frames
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.expired = False

    def expire(self) -> None:
        self.expired = True
        if self.task is not None:
            self.task.cancel()


class Actor:
    """Base of every actor.

    Args:
        place: where its socket is bound, its peers are found and its log is written.
        concurrency: handlers at work at the same time.
        mailbox: messages that may wait beyond that.
    """

    name: str
    _handlers: ClassVar[dict[str, tuple[type[Request[Any]], str]]]
    _streams: ClassVar[dict[str, tuple[type[Request[Any]], str]]]

    def __init__(self, place: Place, *, concurrency: int = 64, mailbox: int = 1024) -> None:
        self.place: Place = place
        self.runtime = Runtime(place.runtime)
        self.log = Log(self.name, None)
        self.incarnation = secrets.token_hex(4)
        self.bus: Bus
        self.events: Outbox
        self._concurrency = concurrency
        self._mailbox = mailbox
        self._ready = False
        self._draining = False
        self._started = time.time()
        self._running: dict[_Key, _Work] = {}
        self._watches: dict[_Key, _Work] = {}
        self._waiting: deque[_Work] = deque()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._counts = {"handled": 0, "failed": 0, "refused": 0}
        self._idle = asyncio.Event()
        self._socket: zmq.Socket[bytes]
        self._wire: Wire

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._handlers = {GetStatus.__name__: (GetStatus, "_status")}
        cls._streams = {}
        for name, member in inspect.getmembers(cls, inspect.isfunction):
            for mark, table in (("handles", cls._handlers), ("streams", cls._streams)):
                request = getattr(member, mark, None)
                if request is not None:
                    table[request.__name__] = (request, name)

    async def setup(self) -> None:
        """Opens state and starts background work; runs before the actor says that it is ready."""

    async def teardown(self) -> None:
        """Flushes and closes state; runs after the work in flight has drained."""

    def spawn(self, work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
        """Runs background work until the actor stops; a failure is logged, not silent."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._task_done)
        return task

    def reopen_log(self) -> None:
        """Starts logging to the place, once its directories exist."""
        self.log = Log(self.name, self.place.logs)

    async def start(self) -> None:
        """Binds the socket, then `setup`. Messages that arrive meanwhile wait in the mailbox."""
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        configure(socket)
        socket.router_mandatory = True  # a reply to a caller that left is an error to notice, not to lose
        socket.router_handover = True  # a caller that comes back under its identity replaces its dead connection
        address = self.runtime.address(self.name)
        umask = os.umask(0o077)  # the socket file's mode follows the umask, and connecting needs write permission
        try:
            socket.bind(address)
        finally:
            os.umask(umask)
        self.bus = Bus(self.runtime, self.name)
        self.events = Outbox(self.bus)
        self._socket = socket
        self._wire = Wire(socket, self._on_message)
        try:
            await self.setup()
        except BaseException:
            await self._close()
            raise
        self.spawn(self._probe_callers(), name="probe-callers")
        self._ready = True
        self._start_waiting()

    async def stop(self, drain: float = DRAIN_SECONDS) -> None:
        """Refuses new work, lets the work in flight finish within `drain` seconds, then closes."""
        self._draining = True
        for work in list(self._watches.values()):
            if work.task is not None:
                work.task.cancel()
        busy = bool(self._running or self._waiting)
        if busy:
            self._idle.clear()
            try:
                await asyncio.wait_for(self._idle.wait(), drain)
            except TimeoutError:
                self.log.warning("drain_timeout", running=len(self._running), waiting=len(self._waiting))
        for work in self._waiting:
            self._send_error(work, Stopping(f"{self.name} is stopping"))
        self._waiting.clear()
        if busy:
            await asyncio.sleep(LAST_REPLIES_SECONDS)
        await self._close()

    def send(self, identity: bytes, kind: int, header: dict[str, Any], body: Any = None) -> bool:
        """Sends a message to a caller; false when it has gone or does not read."""
        try:
            self._wire.send([identity, *envelope.pack(kind, header, body)])
        except zmq.ZMQError as error:
            if error.errno == zmq.EHOSTUNREACH:
                self._caller_left(identity)
            elif error.errno != zmq.EAGAIN:
                raise
            return False
        return True

    async def _close(self) -> None:
        open_work = [work.task for work in (*self._running.values(), *self._watches.values()) if work.task]
        await end((*open_work, *self._tasks))
        try:
            await self.teardown()
            await self.events.close(LAST_EVENTS_SECONDS)
        finally:
            if self.runtime.directory is None:
                self._socket.unbind(self.runtime.address(self.name))  # an inproc name is free at once only so
            self._wire.close()
            self.bus.close()

    def _task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.error("background_task_failed", task=task.get_name(), error=repr(error), exc_info=error)

    def _on_message(self, frames: list[bytes]) -> None:
        identity = frames.pop(0)
        try:
            kind, header = envelope.unpack(frames)
        except ProtocolError as error:
            self.log.warning("unreadable_message", error=error.message)
            # Without a readable id the caller cannot match an answer, but id 0 makes a client of another version fail.
            self.send(
                identity,
                envelope.ERROR,
                {envelope.ID: 0, envelope.CODE: error.code, envelope.MESSAGE: error.message},
            )
            return
        number = header[envelope.ID]
        if kind == envelope.PING:
            answer = {
                envelope.ID: number,
                envelope.INCARNATION: self.incarnation,
                envelope.PROCESS: os.getpid(),
            }
            self.send(identity, envelope.PONG, answer | {envelope.BUILD: build_id(), envelope.READY: self._ready})
        elif kind == envelope.CANCEL:
            self._cancel(identity, number)
        elif kind in (envelope.ASK, envelope.TELL, envelope.WATCH):
            self._accept(_Work(identity, kind, header, frames))

    def _accept(self, work: _Work) -> None:
        if work.header.get(envelope.OPERATION) == GetStatus.__name__:
            self._begin(work)  # an actor that is busy or starting must still be able to say so
        elif self._draining:
            self._send_error(work, Stopping(f"{self.name} is stopping"))
        elif work.kind == envelope.WATCH and len(self._watches) >= MAX_WATCHES:
            self._refuse(work)
        elif self._ready and (work.kind == envelope.WATCH or len(self._running) < self._concurrency):
            self._begin(work)
        elif len(self._waiting) < self._mailbox:
            self._waiting.append(work)
        else:
            self._refuse(work)

    def _refuse(self, work: _Work) -> None:
        self._counts["refused"] += 1
        self._send_error(work, Busy(f"the mailbox of {self.name} is full ({self._mailbox} waiting); try again"))

    def _start_waiting(self) -> None:
        if not self._ready:
            return  # a question for the status has been answered during `setup`
        while self._waiting and len(self._running) < self._concurrency:
            self._begin(self._waiting.popleft())
        if not self._running and not self._waiting:
            self._idle.set()

    def _begin(self, work: _Work) -> None:
        key = (work.identity, work.header[envelope.ID])
        watch = work.kind == envelope.WATCH
        context = Context(self, work)
        table = self._streams if watch else self._handlers
        entry = table.get(work.header.get(envelope.OPERATION, ""))
        loop = asyncio.get_running_loop()
        try:
            if entry is None:
                raise UnknownOperation(f"{self.name} has no operation {work.header.get(envelope.OPERATION)!r}")
            contract, method = entry
            request = envelope.body(contract, work.frames)
        except BusError as error:
            self._counts["failed"] += 1
            self._send_error(work, error)
            return
        work.frames = []
        left = context.remaining()
        if left is not None:
            work.timer = loop.call_later(left, work.expire)
        run = self._stream(work, method, request, context) if watch else self._handle(work, method, request, context)
        (self._watches if watch else self._running)[key] = work
        work.task = loop.create_task(run)
        work.task.add_done_callback(lambda _: self._finished(key, watch))

    def _finished(self, key: _Key, watch: bool) -> None:
        work = (self._watches if watch else self._running).pop(key, None)
        if work is not None and work.timer is not None:
            work.timer.cancel()
        if not watch:
            self._start_waiting()

    async def _handle(self, work: _Work, method: str, request: Any, context: Context) -> None:
        try:
            reply = await getattr(self, method)(request, context)
        except asyncio.CancelledError:
            if work.expired:
                name = work.header.get(envelope.OPERATION)
                self._send_error(work, DeadlineExceeded(f"{self.name} had no time left for {name}"))
            raise
        except BusError as error:
            self._counts["failed"] += 1
            self._send_error(work, error)
        except Exception as error:
            self._counts["failed"] += 1
            self._unexpected(work, error)
        else:
            self._counts["handled"] += 1
            self.send(work.identity, envelope.REPLY, {envelope.ID: work.header[envelope.ID]}, reply)

    async def _stream(self, work: _Work, method: str, request: Any, context: Context) -> None:
        items: AsyncGenerator[Any, None] = getattr(self, method)(request, context)
        try:
            async for item in items:
                context.emit(item)
            self.send(work.identity, envelope.END, {envelope.ID: work.header[envelope.ID]})
        except asyncio.CancelledError:
            if self._draining:
                self._send_error(work, Stopping(f"{self.name} is stopping"))
            raise
        except BusError as error:
            self._send_error(work, error)
        except Exception as error:
            self._unexpected(work, error)
        finally:
            await items.aclose()

    def _unexpected(self, work: _Work, error: Exception) -> None:
        operation = work.header.get(envelope.OPERATION)
        self.log.error(
            "handler_failed",
            operation=operation,
            error=repr(error),
            exc_info=error,
            trace_id=work.header.get(envelope.TRACE, ""),
        )
        self._send_error(
            work,
            HandlerFailed(f"{self.name} failed on {operation} ({type(error).__name__}); see `mms logs {self.name}`"),
        )

    def _send_error(self, work: _Work, error: BusError) -> None:
        header = {
            envelope.ID: work.header[envelope.ID],
            envelope.CODE: error.code,
            envelope.MESSAGE: error.message,
            envelope.TRACE: error.trace_id or work.header.get(envelope.TRACE, ""),
        }
        self.send(work.identity, envelope.ERROR, header)

    def _cancel(self, identity: bytes, number: int) -> None:
        key = (identity, number)
        work = self._running.get(key) or self._watches.get(key)
        if work is not None:
            if work.task is not None:
                work.task.cancel()
            return
        self._waiting = deque(w for w in self._waiting if (w.identity, w.header[envelope.ID]) != key)

    def _caller_left(self, identity: bytes) -> None:
        for work in (*self._running.values(), *self._watches.values()):
            if work.identity == identity and work.task is not None:
                work.task.cancel()
        self._waiting = deque(w for w in self._waiting if w.identity != identity)

    async def _probe_callers(self) -> None:
        while True:
            await asyncio.sleep(KEEPALIVE_SECONDS)
            for identity in {work.identity for work in (*self._running.values(), *self._watches.values())}:
                self.send(identity, envelope.PONG, {envelope.ID: 0})

    async def _status(self, request: GetStatus, context: Context) -> ActorStatus:
        return ActorStatus(
            actor=self.name,
            pid=os.getpid(),
            build=build_id(),
            incarnation=self.incarnation,
            started=self._started,
            rss_bytes=resident_bytes(),
            running=len(self._running) - 1,
            waiting=len(self._waiting),
            watches=len(self._watches),
            **self._counts,
        )


def resident_bytes() -> int:
    """Resident memory of this process; its peak where the system does not tell (macOS)."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
