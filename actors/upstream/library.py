"""What the upstream actor answers apart from tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec

from actors.upstream.calling import Ask
from actors.upstream.library_messages import (
    AnswerServer,
    AskServer,
    Attend,
    ClientProgress,
    Library,
    ListLibrary,
    Offer,
    RootsChanged,
    ServerMessage,
    SetLogLevel,
    Subscribe,
)
from actors.upstream.messages import CallResult
from actors.upstream.pool import ANSWER_SECONDS, Pool
from actors.upstream.sessions import check_level
from bus.actor import Actor, Context, handles, streams
from bus.errors import BusError
from config.credentials import mask

LIST_SECONDS = 5.0
"""How long a list waits for a slow server before it goes without it."""


class LibraryActor(Actor):
    """Handlers for resources, prompts and completions, and for what servers say to clients."""

    _pool: Pool

    @handles(ListLibrary)
    async def list_library(self, request: ListLibrary, context: Context) -> Library:
        deadline = asyncio.get_running_loop().time() + min(LIST_SECONDS, context.remaining() or LIST_SECONDS)
        names = self._pool.names()
        asked = [self._offer(name, request, deadline - ANSWER_SECONDS) for name in names]
        return Library(offers=tuple(offer for offer in await asyncio.gather(*asked) if offer is not None))

    @handles(AskServer)
    async def ask_server(self, request: AskServer, context: Context) -> CallResult:
        ask = Ask(
            request.method,
            request.params.data,
            request.method,
            True,
            self._pool.deadline(request.server, context.remaining()),
            on_progress=context.emit if request.progress else None,
            capabilities=request.capabilities,
            log_level=request.log_level,
            handshake=request.handshake,
        )
        return await self._pool.ask(request.server, request.session, ask)

    @handles(Subscribe)
    async def subscribe(self, request: Subscribe, context: Context) -> CallResult:
        session = await self._pool.sessions.wait(request.session)
        deadline = self._pool.deadline(request.server, context.remaining())
        server = await self._pool.server_for(
            request.server, request.session, request.capabilities, handshake=request.handshake
        )
        entry = (request.server, request.uri)
        if request.on == (entry in session.subscriptions):
            return await server.follow(request.uri, begin=request.on, alone=False, deadline=deadline)
        if not request.on:
            session.subscriptions.discard(entry)
        alone = request.uri not in self._pool.subscribed(server, session)
        if request.on:
            session.subscriptions.add(entry)
        try:
            answer = await server.follow(request.uri, begin=request.on, alone=alone, deadline=deadline)
        except BaseException:  # cancelled, say: nobody has been told that it worked
            session.subscriptions.discard(entry)
            raise
        if answer.error is not None:
            session.subscriptions.discard(entry)
        return answer

    @streams(Attend)
    async def attend(self, request: Attend, context: Context) -> AsyncIterator[ServerMessage]:
        session = self._pool.open(request)
        queue = session.attend()
        try:
            while True:
                yield await queue.get()
        finally:
            session.leave(queue)
            if not session.attended:
                self._pool.close(session)

    @handles(AnswerServer)
    async def answer_server(self, request: AnswerServer, context: Context) -> None:
        session = self._pool.sessions.get(request.session)
        if session is not None:
            result, error = request.result, request.error
            session.answer(request.number, result.data if result else None, error.data if error else None)

    @handles(ClientProgress)
    async def client_progress(self, request: ClientProgress, context: Context) -> None:
        self._pool.client_progressed(request.session, request.number, request.params)

    @handles(SetLogLevel)
    async def set_log_level(self, request: SetLogLevel, context: Context) -> None:
        check_level(request.level)
        session = await self._pool.sessions.wait(request.session)
        session.level = request.level
        self._pool.log_level_changed(session)

    @handles(RootsChanged)
    async def roots_changed(self, request: RootsChanged, context: Context) -> None:
        self._pool.tell_own(request.session, "notifications/roots/list_changed")

    async def _offer(self, name: str, request: ListLibrary, deadline: float) -> Offer | None:
        """What one server lists; `None` when it has nothing to list, or does not answer."""
        try:
            async with asyncio.timeout_at(deadline):
                server = self._pool.lister(name, request.session)
                entries = await server.offered(request.kind, deadline, request.capabilities)
        except (BusError, TimeoutError, msgspec.MsgspecError) as error:
            self.log.info("upstream_not_listed", server=name, kind=request.kind, error=mask(str(error)))
            return None
        return Offer(server=name, prefix=server.settings.prefix, entries=tuple(entries)) if entries else None
