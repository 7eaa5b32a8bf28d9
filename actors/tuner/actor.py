"""The tuner actor: takes feedback and streams what follows from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

import msgspec

from actors.surfacer.messages import Boost, GetShown, ShownEvent
from actors.telemetry.messages import CompressionFeedbackEvent, FaultEvent, FeedbackEvent, GetStats, TuningEvent
from actors.tuner import feedback
from actors.tuner.messages import (
    KINDS,
    AcceptRecommendation,
    GetRecommendations,
    RateSurfacing,
    Recommendations,
    Recorded,
    ReportCompression,
    Tuning,
    WatchTuning,
)
from actors.tuner.observe import follow_ups, observe, pin
from actors.tuner.recommend import FollowUps, recommend
from actors.tuner.screen import screen
from actors.tuner.store import FeedbackStore, Tool
from bus.actor import Actor, Context, handles, streams
from bus.errors import BusError, Refused
from config.place import Place
from config.schema_surfacing import SurfacingSettings
from config.watch import ConfigWatcher

SURFACER_SECONDS = 5.0
"""More than a missing surfacer is waited for, so that its absence is told as such and not as a deadline."""
BOOST_SECONDS = 10.0
TELEMETRY_SECONDS = 8.0
TOLD_SECONDS = 0.5
"""A rating is in its store by then; so long it waits to be in the record of events as well."""
PRUNE_SECONDS = 6 * 3600.0
MAX_MISSING_CHARS = 2_000
MAX_SCREENED_CHARS = 20_000
"""Of a longer text only the beginning is looked at; what is kept is much shorter."""
MAX_NAME_CHARS = 200

T = TypeVar("T")


class TunerActor(Actor):
    """Owns `feedback.db`; everything that touches it runs in one thread."""

    name = "tuner"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._home = place
        self._thread = ThreadPoolExecutor(1, "feedback")
        self._changed = asyncio.Event()
        self._tuning = Tuning()
        self._reported_aside = ""
        self._store: FeedbackStore
        self._watcher: ConfigWatcher

    @property
    def _settings(self) -> SurfacingSettings:
        return self._watcher.current.settings.surfacing

    async def setup(self) -> None:
        self._watcher = await asyncio.to_thread(ConfigWatcher, self._home, log=self.log)
        settings = self._watcher.current.settings
        self._store = await self._in_thread(
            partial(
                FeedbackStore,
                self._home.state / "feedback.db",
                rating_days=settings.surfacing.stats_retention_days,
                report_days=settings.proxy.compression_feedback.retention_days,
            )
        )
        self._tuning = await self._with_store(lambda store: feedback.tuning(store, self._settings))
        self.spawn(self._prune_now_and_then(), name="prune")
        self.spawn(self._follow_settings(), name="settings")

    async def teardown(self) -> None:
        self._thread.shutdown()
        if hasattr(self, "_store"):
            self._store.close()

    @handles(RateSurfacing)
    async def rate(self, request: RateSurfacing, context: Context) -> Recorded:
        trace_id = request.trace_id or context.trace_id
        shown = await self.bus.ask(
            GetShown(surfacing_id=request.surfacing_id), timeout=SURFACER_SECONDS, trace_id=trace_id
        )
        ratings, refusal = _ratings_by_memory(request, shown)
        if refusal:
            return Recorded(ok=False, text=refusal)
        trace_id = shown.trace_id or trace_id  # a rating belongs to the call that the memories were shown with
        # What is stored is also told: a caller that leaves now must not end the work half-way.
        await asyncio.shield(self.spawn(self._record(request.surfacing_id, shown, ratings, trace_id), name="rating"))
        return Recorded(ok=True, text=_thanks(request.surfacing_id, ratings), recorded=len(ratings))

    @handles(ReportCompression)
    async def report(self, request: ReportCompression, context: Context) -> Recorded:
        if not self._watcher.current.settings.proxy.compression_feedback.enabled:
            return Recorded(ok=False, text="Not recorded: compression_feedback.enabled is false in the configuration.")
        missing = screen(request.missing[:MAX_SCREENED_CHARS]).strip()[:MAX_MISSING_CHARS]
        if not missing:
            return Recorded(ok=False, text="Not recorded: `missing` is empty; say which information was lost.")
        if request.kind not in KINDS:
            return Recorded(ok=False, text=f"Not recorded: this kind is not known; use one of {', '.join(KINDS)}.")
        server, tool, category = (
            screen(text[:MAX_SCREENED_CHARS])[:MAX_NAME_CHARS] for text in (request.server, request.tool, request.kind)
        )
        event = CompressionFeedbackEvent(
            server=server,
            tool=tool,
            category=category,
            missing=missing,
            trace_id=request.trace_id or context.trace_id,
        )
        await asyncio.shield(self.spawn(self._keep_report(event), name="report"))
        return Recorded(ok=True, text=f"Recorded: information lost from {server}/{tool} ({category}).", recorded=1)

    @handles(GetRecommendations)
    async def recommendations(self, request: GetRecommendations, context: Context) -> Recommendations:
        since = datetime.now(UTC) - timedelta(hours=request.since_hours)
        ratings, reports, tuned = await self._with_store(
            lambda store: (store.open_ratings(since), store.open_reports(since), store.thresholds())
        )
        follow_ups = await self._follow_ups(since, context.trace_id)
        tools = sorted({*ratings, *reports, *(follow_ups or {})})
        if request.tool is not None:
            tools = [tool for tool in tools if request.tool in (tool.key, tool.tool)]
        settings = self._watcher.current.settings
        observed = [
            observe(
                tool,
                settings,
                ratings=ratings.get(tool),
                tuned=tuned.get(tool.key),
                reports=reports.get(tool),
                follow_ups=(follow_ups or {}).get(tool),
            )
            for tool in tools
        ]
        items = recommend(observed, settings.surfacing)
        return Recommendations(items=items, considered=len(tools), without_follow_ups=follow_ups is None)

    @handles(AcceptRecommendation)
    async def accept(self, request: AcceptRecommendation, context: Context) -> None:
        if request.min_score is not None and not 0 <= request.min_score <= 1:
            raise Refused("min_score is a relevance from 0 to 1")
        await asyncio.shield(self.spawn(self._take_over(request, context.trace_id), name="accept"))

    @streams(WatchTuning)
    async def watch(self, request: WatchTuning, context: Context) -> AsyncIterator[Tuning]:
        while True:
            change, current = self._changed, self._tuning
            yield current
            await change.wait()

    async def _record(self, surfacing_id: str, shown: ShownEvent, ratings: dict[str, str], trace_id: str) -> None:
        tool, settings = Tool(shown.server, shown.tool), self._settings
        outcome = await self._with_store(
            lambda store: feedback.rate(store, surfacing_id, tool, ratings, settings, self._pinned)
        )
        for memory in outcome.changed:
            self.events.add(
                FeedbackEvent(
                    surfacing_id=surfacing_id,
                    memory_id=memory,
                    rating=ratings[memory],
                    server=tool.server,
                    tool=tool.tool,
                    trace_id=trace_id,
                )
            )
        for step in outcome.steps:
            self.events.add(
                TuningEvent(tool=step.tool, old=step.old, new=step.new, reason=step.reason, trace_id=trace_id)
            )
            self.log.info("threshold_tuned", tool=step.tool, old=step.old, new=step.new, reason=step.reason)
        if outcome.boosts:
            self.spawn(self._boost(surfacing_id, outcome.boosts, trace_id), name="boost")
        if outcome.changed:
            await self._publish()
            await self.events.flush(TOLD_SECONDS)

    async def _take_over(self, request: AcceptRecommendation, trace_id: str) -> None:
        tool, new = Tool(request.server, request.tool), request.min_score

        def work(store: FeedbackStore) -> float:
            old = store.thresholds().get(tool.key, self._settings.min_score)
            if request.about == "budget":
                store.answer_reports(tool)
            else:
                store.close_block(tool)
            if new is not None:
                store.set_threshold(tool.key, new)
            return old

        old = await self._with_store(work)
        if new is not None and new != old:
            reason = "a recommendation was accepted"
            self.events.add(TuningEvent(tool=tool.key, old=old, new=new, reason=reason, trace_id=trace_id))
            self.log.info("threshold_tuned", tool=tool.key, old=old, new=new, reason=reason)
            await self._publish()

    async def _follow_ups(self, since: datetime, trace_id: str) -> dict[Tool, FollowUps] | None:
        """How shortened responses were read; `None` while telemetry does not answer."""
        request = GetStats(report="progressive", since=since.isoformat())
        try:
            stats = await self.bus.ask(request, timeout=TELEMETRY_SECONDS, trace_id=trace_id)
        except BusError as error:
            self.log.warning("follow_ups_unknown", error=error.message, trace_id=trace_id)
            return None
        servers = self._watcher.current.settings.proxy.upstream_servers
        return follow_ups(msgspec.json.decode(stats.data.data)["tools"], servers)

    async def _keep_report(self, event: CompressionFeedbackEvent) -> None:
        await self._with_store(
            lambda store: store.report(event.server, event.tool, event.category, event.missing, event.trace_id)
        )
        self.events.add(event)
        await self.events.flush(TOLD_SECONDS)

    async def _publish(self) -> None:
        found = await self._with_store(lambda store: feedback.tuning(store, self._settings))
        if found != self._tuning:
            self._tuning = found
            # Each change has an event of its own, so that no watcher can miss one by being slow.
            self._changed.set()
            self._changed = asyncio.Event()

    async def _boost(self, surfacing_id: str, memory_ids: tuple[str, ...], trace_id: str) -> None:
        request = Boost(surfacing_id=surfacing_id, memory_ids=memory_ids)
        try:
            await self.bus.ask(request, timeout=BOOST_SECONDS, trace_id=trace_id)
        except BusError as error:
            self.log.warning("boost_failed", surfacing_id=surfacing_id, error=error.message, trace_id=trace_id)

    async def _prune_now_and_then(self) -> None:
        while True:
            await self._with_store(FeedbackStore.prune)
            await self._publish()
            await asyncio.sleep(PRUNE_SECONDS)

    async def _follow_settings(self) -> None:
        async for _ in self._watcher:
            await self._publish()

    def _pinned(self, tool: Tool) -> bool:
        return pin(tool, self._watcher.current.settings) is not None

    async def _with_store(self, work: Callable[[FeedbackStore], T]) -> T:
        found = await self._in_thread(partial(self._store.run, work))
        if self._store.set_aside != self._reported_aside:
            self._reported_aside = self._store.set_aside
            detail = f"feedback.db was corrupt; it was kept as {self._reported_aside} and begins anew"
            self.log.error("store_set_aside", detail=detail)
            self.events.add(FaultEvent(component="tuner", what="store_set_aside", detail=detail))
        return found

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _ratings_by_memory(request: RateSurfacing, shown: ShownEvent) -> tuple[dict[str, str], str]:
    """The rating of each memory, a rating of the whole event spread over its memories; or why there is none."""
    name = request.surfacing_id[:64]
    if not shown.found:
        return {}, f"Not recorded: the surfacing_id {name!r} is not known; use the one in a surfaced-memories block."
    unknown = [rating.memory_id[:64] for rating in request.ratings if rating.memory_id not in ("", *shown.memory_ids)]
    if unknown:
        return {}, f"Not recorded: {unknown[0]!r} is not a memory of {name!r}; it has {', '.join(shown.memory_ids)}."
    ratings: dict[str, str] = {}
    for rating in sorted(request.ratings, key=lambda rating: rating.memory_id != ""):
        ratings |= dict.fromkeys([rating.memory_id] if rating.memory_id else shown.memory_ids, rating.rating)
    if not ratings:
        return {}, "Not recorded: there is no rating; give helpful, partially_helpful, not_relevant or already_known."
    return ratings, ""


def _thanks(surfacing_id: str, ratings: dict[str, str]) -> str:
    counts = {rating: list(ratings.values()).count(rating) for rating in dict.fromkeys(ratings.values())}
    told = ", ".join(f"{count} {rating}" for rating, count in counts.items())
    return f"Recorded for {surfacing_id}: {told}."
