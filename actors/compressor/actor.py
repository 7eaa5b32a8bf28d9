"""The compressor actor: messages in, messages out; the work itself is in plain functions beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from actors.compressor.compress import Plan, plan
from actors.compressor.messages import (
    Compress,
    Compressed,
    GetRecallStats,
    Page,
    ReadMore,
    RecallStats,
    SelectChunks,
)
from actors.compressor.read import read_more, select_chunks, unknown
from actors.compressor.recall import Entry, Recall
from actors.telemetry.messages import FaultEvent
from bus.actor import Actor, Context, handles
from bus.errors import StateError
from config.place import Place

WORKERS = 2
NICENESS = 15
"""Compressing a long log must not delay the processes that other calls wait for."""
CONCURRENCY = 32

T = TypeVar("T")


class CompressorActor(Actor):
    """Two threads compress, one owns the store, the loop only passes messages."""

    name = "compressor"

    def __init__(self, place: Place) -> None:
        super().__init__(place, concurrency=CONCURRENCY)
        self._state = place.state
        self._workers = ThreadPoolExecutor(WORKERS, "compress")
        self._store_thread = ThreadPoolExecutor(1, "recall")
        self._opened: Recall | None = None
        self._reported = ""

    async def setup(self) -> None:
        self._opened = await self._stored(lambda: Recall(self._state))
        self._report_set_aside()

    async def teardown(self) -> None:
        if self._opened is not None:
            await self._stored(self._opened.close)
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._store_thread.shutdown(wait=True)

    @handles(Compress)
    async def compress(self, request: Compress, context: Context) -> Compressed:
        made = await self._worked(lambda: self._plan(request))
        if not made.originals:
            return made.reply
        try:
            await self._stored(lambda: self._store.put(made.originals, request.server, request.tool, request.trace_id))
        except StateError as error:
            self._fault("store_failed", error.message, request.trace_id)
            return made.whole
        self._report_set_aside()
        return made.reply

    @handles(ReadMore)
    async def read_more(self, request: ReadMore, context: Context) -> Page:
        entry = await self._entry(request.key)
        if entry is None:
            return unknown(request.key)
        return await self._worked(lambda: read_more(request, entry))

    @handles(SelectChunks)
    async def select_chunks(self, request: SelectChunks, context: Context) -> Page:
        entry = await self._entry(request.key)
        if entry is None:
            return unknown(request.key)
        return await self._worked(lambda: select_chunks(request, entry))

    @handles(GetRecallStats)
    async def recall_stats(self, request: GetRecallStats, context: Context) -> RecallStats:
        held = await self._stored(self._store.held)
        return RecallStats(
            entries=held.entries, bytes=held.bytes, in_memory=held.in_memory, set_aside=self._store.set_aside
        )

    @property
    def _store(self) -> Recall:
        assert self._opened is not None, "messages are handled after setup only"
        return self._opened

    def _plan(self, request: Compress) -> Plan:
        issue = lru_cache(maxsize=None)(self._store.ticket)
        return plan(request, issue)

    async def _entry(self, key: str) -> Entry | None:
        found = await self._stored(lambda: self._store.get(key))
        self._report_set_aside()
        return found

    async def _worked(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._workers, work)

    async def _stored(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._store_thread, work)

    def _report_set_aside(self) -> None:
        if self._store.set_aside != self._reported:
            self._reported = self._store.set_aside
            self._fault("store_set_aside", f"a corrupt recall store was moved to {self._reported}")

    def _fault(self, what: str, detail: str, trace_id: str = "") -> None:
        self.log.error(what, detail=detail, trace_id=trace_id)
        self.events.add(FaultEvent(component=self.name, what=what, detail=detail, trace_id=trace_id))
