"""The telemetry actor: takes events, keeps them, answers questions about them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

import duckdb
import msgspec

from actors.telemetry import schema
from actors.telemetry.export import Exports, close
from actors.telemetry.journal import Journal
from actors.telemetry.keeper import Keeper
from actors.telemetry.messages import (
    Event,
    FaultEvent,
    FindCalls,
    GetSelectionStats,
    GetStats,
    GetTelemetryHealth,
    GetTrace,
    LabelSelection,
    Query,
    Record,
    SelectionStats,
    Stats,
    Table,
    TelemetryHealth,
)
from actors.telemetry.query import Interrupt, Result, run_read_only
from actors.telemetry.selection_log import MARKS, SelectionLog
from actors.telemetry.selection_stats import summary
from actors.telemetry.stats import report
from actors.telemetry.traces import find_calls, trace
from actors.telemetry.warehouse import Warehouse
from bus.actor import Actor, Context, handles
from bus.errors import BusError, DeadlineExceeded, StateError
from bus.message import Blob
from config.export import exports
from config.place import Place
from config.schema import Settings
from config.watch import ConfigWatcher

LOAD_SECONDS = 1.0
"""Events reach the store at most about this long after the record, sooner when somebody asks."""
RETRY_SECONDS = 10.0
"""Between attempts while the store fails for a reason that will not pass by itself."""
MAX_PRODUCERS = 64
EXPORT_REPORT_SECONDS = 1.0
"""How often it is looked whether an export has dropped something."""

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class TelemetryActor(Actor):
    """One thread owns the record, another the store, so that a long query never keeps an event from being taken."""

    name = "telemetry"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._home = place
        self._database = place.state / "analytics.duckdb"
        self._record_thread = ThreadPoolExecutor(1, "record")
        self._store_thread = ThreadPoolExecutor(1, "store")
        self._news = asyncio.Event()
        self._dropped: dict[str, int] = {}
        self._exports = Exports()
        self._unwanted: tuple[bytes, ...] = ()
        self._journal: Journal
        self._keeper: Keeper
        self._warehouse: Warehouse
        self._selections: SelectionLog

    async def setup(self) -> None:
        watcher = await asyncio.to_thread(ConfigWatcher, self._home, log=self.log)
        settings = watcher.current.settings
        self._unwanted = unwanted(settings)
        self._selections = SelectionLog(settings.proxy.selection_telemetry, self._home.state / "selection_log.jsonl")
        events = self._home.state / "events"
        self._journal = Journal(events, keep_days=settings.telemetry.retention_days)
        await self._on(self._record_thread, self._journal.open)
        if self._journal.torn:
            self.log.warning("torn_line_closed", directory=str(events))
        self._warehouse = Warehouse(self._database, events / "loading.tmp", retention_days=retention_days(settings))
        self._keeper = Keeper(self._journal, self._warehouse)
        self._news.set()
        await self._use_exports(settings)
        self.spawn(self._load_forever(), name="load")
        self.spawn(self._report_exports(), name="exports")
        self.spawn(self._follow_settings(watcher), name="settings")

    async def teardown(self) -> None:
        lost = await asyncio.to_thread(self._exports.close)
        if lost:
            self.log.warning("spans_lost_at_stop", count=lost)
        if hasattr(self, "_keeper"):
            await self._load()
        self._record_thread.shutdown()
        self._store_thread.shutdown()
        if hasattr(self, "_journal"):
            self._journal.close()

    @handles(Record)
    async def record(self, request: Record, context: Context) -> None:
        rejected = await self._on(self._record_thread, self._take, request.lines.data)
        if rejected:
            self.log.warning("lines_rejected", producer=request.producer, count=rejected)
        if request.dropped:
            known = request.producer in self._dropped or len(self._dropped) < MAX_PRODUCERS
            producer = request.producer if known else "others"
            self._dropped[producer] = self._dropped.get(producer, 0) + request.dropped
            fault = FaultEvent(component=request.producer or "unknown", what="events_dropped", count=request.dropped)
            await self._append(fault)
        self._news.set()

    @handles(Query)
    async def query(self, request: Query, context: Context) -> Table:
        await self._load()
        stop = _Stop()
        run = partial(
            run_read_only,
            self._database,
            request.sql,
            max_rows=request.max_rows,
            timeout_seconds=request.timeout_seconds,
            started=stop.arm,
        )
        try:
            found: Result = await self._read(run)
        except asyncio.CancelledError:
            stop()
            raise
        return Table(
            columns=found.columns,
            types=found.types,
            rows=Blob(found.rows),
            truncated=found.truncated,
            pending=await self._pending(),
        )

    @handles(GetStats)
    async def stats(self, request: GetStats, context: Context) -> Stats:
        return await self._report(
            partial(
                report,
                self._database,
                request.report,
                since=request.since,
                until=request.until,
                tool=request.tool,
                server=request.server,
                by=request.by,
                limit=request.limit,
            )
        )

    @handles(FindCalls)
    async def find_calls(self, request: FindCalls, context: Context) -> Stats:
        return await self._report(
            partial(
                find_calls,
                self._database,
                since=request.since,
                until=request.until,
                tool=request.tool,
                server=request.server,
                failed=request.failed,
                limit=request.limit,
            )
        )

    @handles(GetTrace)
    async def trace(self, request: GetTrace, context: Context) -> Stats:
        return await self._report(partial(trace, self._database, request.trace_id))

    @handles(GetTelemetryHealth)
    async def health(self, request: GetTelemetryHealth, context: Context) -> TelemetryHealth:
        return TelemetryHealth(
            appended=self._journal.appended,
            loaded=self._keeper.loaded,
            pending=await self._pending(),
            rejected=self._journal.rejected + self._keeper.unreadable,
            dropped_by_producers=dict(self._dropped),
            store=self._keeper.store,
            store_error=self._keeper.store_error,
            journal_bytes=self._journal.size,
            exports=self._exports.health(),
        )

    @handles(GetSelectionStats)
    async def selection_stats(self, request: GetSelectionStats, context: Context) -> SelectionStats:
        selections = self._selections
        # The counters first, so that the log holds at least what they say was written.
        counted = SelectionStats(
            enabled=selections.settings.enabled,
            path=str(selections.path),
            written=selections.written,
            sampled_out=selections.sampled_out,
            redacted=selections.redacted,
            write_errors=selections.write_errors,
        )
        try:
            found = await asyncio.to_thread(summary, selections.path)
        except OSError as error:
            raise StateError(f"the selection log {selections.path} cannot be read: {error.strerror}") from None
        backups = await asyncio.to_thread(lambda: tuple(path.name for path in selections.backups))
        return msgspec.structs.replace(counted, log=Blob(msgspec.json.encode(found)), backups=backups)

    @handles(LabelSelection)
    async def label_selection(self, request: LabelSelection, context: Context) -> None:
        ranker = await asyncio.to_thread(self._selections.ranker_of, request.selection_id)
        write = partial(
            self._selections.label,
            request.selection_id,
            ranker,
            user_corrected=request.user_corrected,
            operator_override=request.operator_override,
        )
        await self._on(self._record_thread, write)

    def _take(self, data: bytes) -> int:
        """Appends each line of a batch to the log it belongs to; returns how many are no events."""
        lines = data.split(b"\n")
        if any(mark in data for mark in self._unwanted):
            lines = [line for line in lines if not line.startswith(self._unwanted)]
            data = b"\n".join(lines)
        if not any(mark in data for mark in MARKS):
            rejected = self._journal.append(data)
            self._exports.offer(lines)
            return rejected
        screened = self._selections.screen(line for line in lines if line.startswith(MARKS))
        others = [line for line in lines if not line.startswith(MARKS)]
        # The record first: a batch that it does not take is sent again, and then everything of it is new here too.
        rejected = self._journal.append(b"\n".join(others + screened.lines))
        self._selections.write(screened)
        self._exports.offer(others)
        return rejected + screened.rejected

    async def _follow_settings(self, watcher: ConfigWatcher) -> None:
        async for loaded in watcher:
            self._selections.settings = loaded.settings.proxy.selection_telemetry
            self._unwanted = unwanted(loaded.settings)
            self._journal.keep(loaded.settings.telemetry.retention_days)
            self._warehouse.keep(retention_days(loaded.settings))
            await self._use_exports(loaded.settings)

    async def _use_exports(self, settings: Settings) -> None:
        """Starts, changes and ends exports as the settings want it."""
        wanted = await asyncio.to_thread(exports, settings, os.environ)
        for export in wanted:
            if export.problem is not None:
                self.log.warning("export_off", export=export.name, reason=export.problem.message)
        await asyncio.to_thread(close, self._exports.use(wanted))

    async def _report_exports(self) -> None:
        """What exports drop becomes faults in the record."""
        while True:
            await asyncio.sleep(EXPORT_REPORT_SECONDS)
            for fault in self._exports.faults():
                self.log.warning(fault.what, component=fault.component, count=fault.count, detail=fault.detail)
                await self._append(fault)
                self._news.set()

    async def _load_forever(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            await self._load()
            hopeless = self._keeper.store in ("newer", "failed")
            await asyncio.sleep(RETRY_SECONDS if hopeless else LOAD_SECONDS)
            if self._keeper.store != "ready":
                self._news.set()

    async def _load(self) -> None:
        before = self._keeper.store
        await self._on(self._store_thread, self._keeper.load)
        if self._keeper.store != before:
            self.log.warning("store_state", store=self._keeper.store, error=self._keeper.store_error)
        await self._report_faults()
        await self._on(self._record_thread, self._journal.retire)

    async def _report(self, make: Callable[[], dict[str, Any]]) -> Stats:
        """What `make` finds in the store, brought up to date before."""
        await self._load()
        found = await self._read(make)
        return Stats(data=Blob(msgspec.json.encode(found)), pending=await self._pending())

    async def _read(self, work: Callable[[], T]) -> T:
        found = await self._on(self._store_thread, self._keeper.read, work)
        await self._report_faults()
        return found

    async def _report_faults(self) -> None:
        while self._keeper.faults:
            fault = self._keeper.faults.pop()
            self.log.error("fault", what=fault.what, detail=fault.detail)
            await self._append(fault)
            self._news.set()

    async def _append(self, event: Event) -> None:
        try:
            await self._on(self._record_thread, self._journal.append, msgspec.json.encode(event))
        except BusError as error:
            self.log.error("own_event_lost", error=error.message)

    async def _pending(self) -> int:
        return await asyncio.to_thread(self._keeper.pending)

    async def _on(self, thread: ThreadPoolExecutor, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        return await asyncio.get_running_loop().run_in_executor(thread, work, *arguments)


class _Stop:
    """Ends a query whose caller has left."""

    def __init__(self) -> None:
        self._interrupt: Interrupt | None = None
        self._stopped = False

    def arm(self, interrupt: Interrupt) -> None:
        self._interrupt = interrupt
        if self._stopped:
            raise DeadlineExceeded("the caller left before the query began")

    def __call__(self) -> None:
        self._stopped = True
        if self._interrupt is not None:
            with contextlib.suppress(duckdb.Error):  # it has just ended by itself
                self._interrupt()


def unwanted(settings: Settings) -> tuple[bytes, ...]:
    """How lines begin that are not to be recorded."""
    return () if settings.proxy.progressive_reads.enabled else (b'{"kind":"progressive_reads"',)


def retention_days(settings: Settings) -> dict[str, float]:
    """How long each kind stays in the store, in days; 0 = for ever."""
    days: dict[str, float] = dict.fromkeys(schema.KINDS, settings.telemetry.retention_days)
    for kind in ("surfacing", "opportunity", "feedback"):
        days[kind] = settings.surfacing.stats_retention_days
    days["compression_feedback"] = settings.proxy.compression_feedback.retention_days
    days["progressive_reads"] = settings.proxy.progressive_reads.retention_days
    return days
