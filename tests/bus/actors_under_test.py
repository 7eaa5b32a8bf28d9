"""A small actor with every kind of handler, used in-process and as a process of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from bus.actor import Actor, Context, handles, streams
from bus.errors import Refused
from bus.message import Blob, Item, Reply, Request


class Echoed(Reply, frozen=True, kw_only=True):
    text: str
    blob: Blob | None = None
    pid: int = 0


class Step(Item, frozen=True, kw_only=True):
    number: int


class Echo(Request[Echoed], frozen=True, kw_only=True):
    actor = "probe"
    reply = Echoed

    text: str
    blob: Blob | None = None


class EchoAgain(Echo, frozen=True, kw_only=True):
    idempotent = True


class Sleep(Request[Echoed], frozen=True, kw_only=True):
    actor = "probe"
    reply = Echoed

    seconds: float


class Steps(Request[Echoed], frozen=True, kw_only=True):
    actor = "probe"
    reply = Echoed
    item = Step

    count: int


class Fail(Request[Echoed], frozen=True, kw_only=True):
    actor = "probe"
    reply = Echoed

    how: str


class Note(Request[None], frozen=True, kw_only=True):
    actor = "probe"

    text: str


class Count(Request[Echoed], frozen=True, kw_only=True):
    actor = "probe"
    reply = Echoed

    up_to: int


class Unheard(Request[Echoed], frozen=True, kw_only=True):
    actor = "probe"
    reply = Echoed


class Probe(Actor):
    name = "probe"

    def __init__(self, place: object, *, concurrency: int = 4, mailbox: int = 4) -> None:
        super().__init__(place, concurrency=concurrency, mailbox=mailbox)  # type: ignore[arg-type]
        self.notes: list[str] = []
        self.cancelled = 0
        self.started = 0
        self.streams_closed = 0

    @handles(Echo)
    async def echo(self, request: Echo, context: Context) -> Echoed:
        return Echoed(text=request.text, blob=request.blob, pid=os.getpid())

    @handles(EchoAgain)
    async def echo_again(self, request: EchoAgain, context: Context) -> Echoed:
        return Echoed(text=request.text, pid=os.getpid())

    @handles(Sleep)
    async def sleep(self, request: Sleep, context: Context) -> Echoed:
        self.started += 1
        try:
            await asyncio.sleep(request.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Echoed(text="slept")

    @handles(Steps)
    async def steps(self, request: Steps, context: Context) -> Echoed:
        for number in range(request.count):
            context.emit(Step(number=number))
        return Echoed(text=context.trace_id)

    @handles(Fail)
    async def fail(self, request: Fail, context: Context) -> Echoed:
        if request.how == "typed":
            raise Refused("that is not possible")
        raise ValueError("secret=hunter2")

    @handles(Note)
    async def note(self, request: Note, context: Context) -> None:
        self.notes.append(request.text)

    @streams(Count)
    async def count(self, request: Count, context: Context) -> AsyncIterator[Echoed]:
        try:
            for number in range(request.up_to):
                yield Echoed(text=str(number))
            if request.up_to > 100:
                await asyncio.Event().wait()
        finally:
            self.streams_closed += 1
