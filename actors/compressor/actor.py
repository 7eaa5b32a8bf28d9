"""The compressor actor: messages in, messages out; the work itself is in plain functions beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from actors.compressor.compress import Issue, Plan, plan
from actors.compressor.entry import Entry
from actors.compressor.llm import Summaries
from actors.compressor.llm_api import NoSummary
from actors.compressor.messages import (
    Compress,
    Compressed,
    GetRecallStats,
    GetSummaryStats,
    Page,
    ReadMore,
    RecallStats,
    SelectChunks,
    SummaryStats,
)
from actors.compressor.read import read_more, select_chunks, unknown
from actors.compressor.recall import MAX_BYTES, MAX_ENTRIES, Recall
from actors.compressor.siblings import sweep
from actors.compressor.strategies.task import Draft, Task
from actors.telemetry.messages import FaultEvent
from bus.actor import Actor, Context, handles
from bus.errors import StateError
from bus.lock import owner_of
from bus.replicas import replica
from config.place import Place
from config.policy import tool_policy
from config.watch import ConfigWatcher

WORKERS = 2
NICENESS = 15
"""Compressing a long log must not delay the processes that other calls wait for."""
CONCURRENCY = 32
RESERVE_SECONDS = 3.0
"""Kept of a call's time for shortening without a model."""

T = TypeVar("T")


class CompressorActor(Actor):
    """Two threads compress, one owns the store, the loop only passes messages.

    Args:
        number: which replica it is; the first has the plain name.
    """

    name = "compressor"

    def __init__(self, place: Place, number: int = 1) -> None:
        self.name = replica(CompressorActor.name, number)
        super().__init__(place, concurrency=CONCURRENCY)
        self._home = place
        self._number = number
        self._workers = ThreadPoolExecutor(WORKERS, "compress")
        self._store_thread = ThreadPoolExecutor(1, "recall")
        self._opened: Recall | None = None
        self._summaries: Summaries
        self._watcher: ConfigWatcher
        self._reported = ""

    async def setup(self) -> None:
        self._watcher = await asyncio.to_thread(ConfigWatcher, self._home, log=self.log)
        replicas = max(self._number, self._watcher.current.settings.bus.compressor_replicas)
        self._opened = await self._stored(lambda: self._open(replicas))
        self._summaries = Summaries(self._worked, self._stored, self._opened)
        self.spawn(self._follow_configuration(), name="follow-configuration")
        self._report_set_aside()
        if self._opened.key_fault:
            self._fault("key_repaired", self._opened.key_fault)

    async def teardown(self) -> None:
        if self._opened is not None:
            await self._summaries.close()
            await self._stored(self._opened.close)
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._store_thread.shutdown(wait=True)

    @handles(Compress)
    async def compress(self, request: Compress, context: Context) -> Compressed:
        if request.policy.strategy == "llm_summary":
            made = await self._summarised(request, context)
        else:
            made = await self._worked(lambda: plan(request, self._issue()))
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
            entries=held.entries,
            bytes=held.bytes,
            in_memory=held.in_memory,
            set_aside=self._store.set_aside,
            key_fault=self._store.key_fault,
        )

    @handles(GetSummaryStats)
    async def summary_stats(self, request: GetSummaryStats, context: Context) -> SummaryStats:
        return self._summaries.stats()

    @property
    def _store(self) -> Recall:
        assert self._opened is not None, "messages are handled after setup only"
        return self._opened

    def _open(self, replicas: int) -> Recall:
        """The store; the replicas share its bounds, and the first clears away what those that are no more have left."""
        if self._number == 1:
            locks = self._home.locks

            def is_owned(number: int) -> bool:
                return bool(owner_of(locks / f"{replica(CompressorActor.name, number)}.lock"))

            for path in sweep(self._home.state, replicas, is_owned, time.time()):
                self.log.info("recall_file_removed", path=str(path))
        share = MAX_ENTRIES // replicas, MAX_BYTES // replicas
        return Recall(self._home.state, max_entries=share[0], max_bytes=share[1], number=self._number)

    def _issue(self) -> Issue:
        return lru_cache(maxsize=None)(self._store.ticket)

    async def _summarised(self, request: Compress, context: Context) -> Plan:
        """The plan with summaries of what is too long. Planned twice: to see what must be summarised, and with that."""
        issue = self._issue()
        wanted: list[Task] = []

        def note(task: Task) -> Draft:
            wanted.append(task)
            return Draft("…")

        made = await self._worked(lambda: plan(request, issue, note))
        if not wanted:
            return made
        left = context.remaining()
        seconds = min(request.llm_seconds, request.llm_seconds if left is None else left - RESERVE_SECONDS)
        settings = tool_policy(self._watcher.current.settings, request.server, request.tool).llm
        found = await self._summaries.summarise(
            wanted, settings, seconds, lambda task: issue(task.raw, task.ttl).memory_only
        )
        for one in found:
            if isinstance(one, NoSummary):
                detail = f"{settings.provider} {settings.model}: {one.detail}"
                self._fault("llm_fallback", detail, request.trace_id)
        answers = dict(zip(wanted, found, strict=True))

        def answer(task: Task) -> Draft | str:
            one = answers[task]
            return one.reason if isinstance(one, NoSummary) else one

        return await self._worked(lambda: plan(request, issue, answer))

    async def _follow_configuration(self) -> None:
        async for _ in self._watcher:
            if self._watcher.error:
                self.log.warning("config_unusable", error=self._watcher.error)

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
