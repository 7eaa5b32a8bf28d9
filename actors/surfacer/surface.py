"""One call's way through surfacing: gates, query, search, relevance, choice, rendering, record.

Exactly one outcome per call: a block, or the first reason in the specification's order.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from actors.surfacer.cache import Cached, Key
from actors.surfacer.choose import addresses_agent, choose, without_twins
from actors.surfacer.gates import Sessions
from actors.surfacer.messages import Prepare, Surface, Surfaced
from actors.surfacer.query import Query, extract
from actors.surfacer.relevance import Scored, score
from actors.surfacer.render import render
from actors.surfacer.searching import Search, Searches
from actors.surfacer.store import Event, Store
from actors.tuner.messages import Tuning
from bus.errors import BusError, DeadlineExceeded, StateError
from bus.message import Blob
from config.credentials import is_credential
from config.schema_surfacing import ContextToolSettings, SurfacingSettings
from config.surfacing_gate import context_tool, static_reason

LARGEST_ARGUMENTS = 262_144
"""Bytes; larger arguments are contents, not questions, and are not looked into."""
REPLY_SECONDS = 0.02
"""Kept back of the caller's time for the way home."""
MOST_PREPARED = 128
"""Results kept for calls that are still on their way."""
MOST_AHEAD = 32
"""Searches at once; beyond it none goes ahead of its call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended, for the caller and for telemetry.

    Attributes:
        reply: what the caller gets.
        shown: the memories in the block (or the ones withheld by the hold-out).
        surfacing_id: also for withheld ones.
        scale: the LTM's name for its scores.
    """

    reply: Surfaced
    query_digest: str = ""
    shown: tuple[Scored, ...] = ()
    surfacing_id: str = ""
    scale: str = ""


@dataclass(frozen=True, slots=True)
class _Question:
    """What a call asks the LTM, or the reason why it asks nothing."""

    reason: str
    query: Query | None = None
    tool: ContextToolSettings | None = None
    key: Key = ("", "")


class Surfacer:
    """The state of surfacing: sessions, searches, tuning, counters.

    Args:
        store: what was shown.
        on_disk: runs a function that blocks on the disk elsewhere and waits for it.
        on_breaker_open: called when the breaker opens.
        on_store_failure: called with the message when the store could not be used.

    Attributes:
        counters: outcomes since start by reason, `surfaced` for a block.
    """

    def __init__(
        self,
        settings: SurfacingSettings,
        store: Store,
        on_disk: Callable[[Callable[[], Any]], Awaitable[Any]],
        *,
        on_breaker_open: Callable[[], None],
        on_store_failure: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.searches = Searches(settings, on_breaker_open=on_breaker_open, clock=clock)
        self.counters: Counter[str] = Counter()
        self._prepared: OrderedDict[str, tuple[Key, Search]] = OrderedDict()
        self._store = store
        self._on_disk = on_disk
        self._on_store_failure = on_store_failure
        self._sessions = Sessions(clock)
        self._tuning = Tuning()
        self._showing = asyncio.Lock()

    def configure(self, settings: SurfacingSettings) -> None:
        """Takes over changed settings; sessions, breaker state and cached results stay."""
        self.settings = settings
        self.searches.configure(settings)

    def tune(self, tuning: Tuning) -> None:
        """Takes over what feedback has changed; memories rated negative anew leave the cached results."""
        before = self._tuning.invalidated
        self.searches.cache.invalidate(m for m, times in tuning.invalidated.items() if times > before.get(m, 0))
        self._tuning = tuning

    def min_score(self, request: Surface, tool: ContextToolSettings | None) -> float:
        """The active threshold of a tool: its pin, else the tuned value, else the configured one."""
        if tool is not None and tool.min_score is not None:
            return tool.min_score
        return self._tuning.min_scores.get(f"{request.server}__{request.tool}", self.settings.min_score)

    async def surface(self, request: Surface, remaining: float | None) -> Outcome:
        """Handles one call and counts how it ended.

        Args:
            remaining: seconds left of the caller's deadline, if it has one.
        """
        try:
            outcome = await self._surface(request, remaining)
        except asyncio.CancelledError:
            self.counters["cancelled"] += 1
            raise
        self.counters[outcome.reply.reason or "surfaced"] += 1
        return outcome

    async def prepare(self, request: Prepare) -> None:
        """Searches ahead of a call's answer, unless a gate says already that there will be no memories.

        Returns when the search is over. The call that follows finds it under `request.id`; when this is cancelled
        before, the search ends too.
        """
        asked = self._question(request, 0)
        if asked.query is None or self.searches.cache.get(asked.key) is not None:
            return
        search = self.searches.running(asked.key)
        if search is None:
            if self.searches.count >= MOST_AHEAD or self.searches.refusal():
                return
            if self._session_reason(request.session, asked.query):
                return
            self._sessions.spend(request.session)
            search = self.searches.begin(asked.key, asked.query.search_text)
        self._prepared[request.id] = asked.key, search
        if len(self._prepared) > MOST_PREPARED:
            self._prepared.popitem(last=False)
        try:
            await search.result(None)
        except BusError:
            return  # whoever surfaces meets the same error, and counts it
        except asyncio.CancelledError:
            self._prepared.pop(request.id, None)
            raise

    async def _surface(self, request: Surface, remaining: float | None) -> Outcome:
        settings = self.settings
        asked = self._question(request, request.response_chars)
        query, key = asked.query, asked.key
        prepared = self._prepared.pop(request.prepared, None)
        if query is None:
            return _nothing(asked.reason)
        search = prepared[1] if prepared is not None and prepared[0] == key else None
        cached = self.searches.cache.get(key)
        reason = self._session_reason(
            request.session, query, is_paid=search is not None, continues=request.continues
        ) or ("" if cached or search else self.searches.refusal())
        if reason or request.is_error:
            return _nothing(reason or "upstream_error", query)
        self._sessions.remember(request.session, query.words)
        limit = settings.timeout_seconds
        if remaining is not None:
            limit = min(limit, remaining - REPLY_SECONDS)
        patience = limit
        if request.patience_ms:
            least = request.patience_ms / 1000
            patience = min(limit, self.searches.patience.seconds(least) if settings.search_wait_seconds else least)
        started = time.monotonic()
        deadline = asyncio.get_running_loop().time() + limit
        ltm_ms = 0.0
        try:
            if cached is None:
                search = search or self.searches.running(key)
                if search is None:
                    self._sessions.spend(request.session)
                    search = self.searches.begin(key, query.search_text)
                cached = await search.result(None if patience >= settings.timeout_seconds else patience)
                ltm_ms = (time.monotonic() - started) * 1000
            # One at a time, so that two calls of a session never show the same memory.
            async with asyncio.timeout_at(deadline), self._showing:
                return await self._choose(request, asked.tool, query, cached, ltm_ms)
        except (TimeoutError, DeadlineExceeded):
            return _nothing("timeout", query, (time.monotonic() - started) * 1000)
        except StateError as error:
            # What cannot be written down cannot be rated, and would be shown again and again.
            self._on_store_failure(error.message)
            return _nothing("empty_render", query, ltm_ms)
        except BusError:
            return _nothing("ltm_unavailable", query, (time.monotonic() - started) * 1000)

    def _question(self, request: Surface | Prepare, response_chars: int) -> _Question:
        """The gates that need no session and no LTM, and the query; a preparation does not know the length yet."""
        settings = self.settings
        reason = static_reason(
            settings,
            server=request.server,
            tool=request.tool,
            advertised=request.advertised,
            declared_writer=request.declared_writer,
            upstream_enabled=True,
            response_chars=response_chars,
            has_context_query=isinstance(request, Prepare) or bool(request.context_query.strip()),
        )
        if reason:
            return _Question(reason)
        tool = context_tool(settings, server=request.server, tool=request.tool, advertised=request.advertised)
        query = extract(
            server=request.server,
            tool=request.tool,
            arguments=decode_arguments(request.arguments),
            context_query=request.context_query,
            template=(tool.query_template or "") if tool else "",
            min_tokens=settings.min_query_tokens,
        )
        if query is None:
            return _Question("no_query")
        if is_credential(query.raw):
            return _Question("sensitive_query")
        namespace = (tool.namespace if tool else None) or settings.default_namespace or ""
        return _Question("", query, tool, (query.digest, namespace))

    def _session_reason(self, session: str, query: Query, *, is_paid: bool = False, continues: bool = False) -> str:
        """What the session's own past forbids.

        Args:
            is_paid: the search was counted when it was prepared.
            continues: it is about a response that has been surfaced already.
        """
        settings = self.settings
        if not continues and self._sessions.is_repeated(session, query.words, settings.cooldown_seconds):
            return "gate_cooldown"
        if not is_paid and self._sessions.is_limited(session, settings.max_surfacings_per_minute):
            return "gate_rate_limit"
        return ""

    async def _choose(
        self, request: Surface, tool: ContextToolSettings | None, query: Query, cached: Cached, ltm_ms: float
    ) -> Outcome:
        settings = self.settings
        min_score = self.min_score(request, tool)
        pinned = [m for m in cached.found.memories if m.pinned and not addresses_agent(m)]
        home = frozenset({settings.default_namespace.casefold()}) if settings.default_namespace else frozenset()
        scored = score(query, [m for m in cached.found.memories if not m.pinned], home)
        passing = [found for found in scored if found.relevance >= min_score]
        reason = "" if passing else "no_results_score"
        if passing:
            passing, reason = await self._unseen(request, passing, cached)
        harmless = [found for found in passing if not addresses_agent(found.memory)]
        if not harmless and not pinned:
            return _nothing(reason or "empty_render", query, ltm_ms)
        most = request.max_results or settings.max_results
        if tool is not None and tool.max_results is not None:
            most = min(most, tool.max_results)
        chosen = choose(harmless, most)
        surfacing_id = secrets.token_hex(6)
        if chosen and request.holdout and random.random() < settings.holdout_rate:  # noqa: S311 (an experiment's coin)
            return Outcome(
                Surfaced(reason="withheld", ltm_ms=ltm_ms),
                query.digest,
                tuple(chosen),
                surfacing_id,
                cached.found.scale,
            )
        rendered = render(
            surfacing_id,
            pinned,
            chosen,
            min_score=min_score,
            max_chars=request.max_injection_chars or settings.max_injection_chars,
            preview_chars=min(settings.preview_max_chars, settings.result_content_max_chars),
            header=settings.section_header,
            asks_for_rating=settings.feedback_enabled,
        )
        if rendered is None:
            return _nothing("empty_render", query, ltm_ms)
        block, fitted = rendered
        ids = [found.memory.id for found in fitted]
        if fitted:
            text = query.text if settings.persist_query_text else query.digest
            trace_id = request.trace_id
            event = Event(surfacing_id, request.session, request.server, request.tool, trace_id, text)
            await self._on_disk(lambda: self._store.record(event, ids))
        return Outcome(
            Surfaced(
                block=Blob.of(block),
                surfacing_id=surfacing_id if fitted else "",
                memory_ids=tuple(ids),
                ltm_ms=ltm_ms,
            ),
            query.digest,
            tuple(fitted),
            surfacing_id,
            cached.found.scale,
        )

    async def _unseen(self, request: Surface, passing: list[Scored], cached: Cached) -> tuple[list[Scored], str]:
        """What is left of `passing` after dedup, demotion and invalidation, or the reason why nothing is."""
        settings = self.settings
        ids = [found.memory.id for found in passing]
        seen: set[str] = await self._on_disk(
            lambda: self._store.already_shown(ids, request.session, settings.dedup_ttl_seconds)
        )
        left = without_twins(
            [found for found in passing if found.memory.id not in seen],
            [found for found in passing if found.memory.id in seen],
        )
        if not left:
            return [], "no_results_dedup"
        if settings.feedback_demotion_enabled:
            left = [found for found in left if found.memory.id not in self._tuning.demoted]
        if not left:
            return [], "no_results_demoted"
        left = [found for found in left if found.memory.id not in cached.invalidated]
        return left, "" if left else "no_results_invalidated"


def decode_arguments(arguments: Blob) -> Mapping[str, Any]:
    """The arguments object; empty when it is too large, too deep, or no JSON object."""
    if len(arguments) > LARGEST_ARGUMENTS:
        return {}
    try:
        decoded = msgspec.json.decode(arguments.data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    return decoded if isinstance(decoded, dict) else {}


def shape_of(arguments: Mapping[str, Any]) -> str:
    """Counts only, never keys or values: `args=3 strings=2 numbers=1 lists=0 objects=0 chars=57`."""
    values: Sequence[Any] = list(arguments.values())
    counts = {
        "args": len(values),
        "strings": sum(isinstance(v, str) for v in values),
        "numbers": sum(isinstance(v, int | float) for v in values),
        "lists": sum(isinstance(v, list) for v in values),
        "objects": sum(isinstance(v, dict) for v in values),
        "chars": sum(len(v) for v in values if isinstance(v, str)),
    }
    return " ".join(f"{name}={number}" for name, number in counts.items())


def _nothing(reason: str, query: Query | None = None, ltm_ms: float = 0.0) -> Outcome:
    return Outcome(Surfaced(reason=reason, ltm_ms=ltm_ms), query.digest if query else "")
