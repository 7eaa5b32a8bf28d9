"""One call's way through surfacing: gates, query, search, relevance, choice, rendering, record.

Exactly one outcome per call: a block, or the first reason in the specification's order.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from actors.surfacer.cache import Cached, ResultCache
from actors.surfacer.choose import addresses_agent, choose, without_twins
from actors.surfacer.gates import Sessions
from actors.surfacer.ltm import Ltm
from actors.surfacer.messages import Surface, Surfaced
from actors.surfacer.query import Query, extract
from actors.surfacer.relevance import Scored, score
from actors.surfacer.render import render
from actors.surfacer.store import Event, Store
from actors.tuner.messages import Tuning
from bus.breaker import Breaker
from bus.errors import BusError, Busy, DeadlineExceeded, PeerUnavailable, StateError
from bus.message import Blob
from config.credentials import is_credential
from config.schema_surfacing import ContextToolSettings, SurfacingSettings
from config.surfacing_gate import context_tool, static_reason

LARGEST_ARGUMENTS = 262_144
"""Bytes; larger arguments are contents, not questions, and are not looked into."""
REPLY_SECONDS = 0.02
"""Kept back of the caller's time for the way home."""


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


class Surfacer:
    """The state of surfacing: sessions, breaker, result cache, tuning, counters.

    Args:
        store: what was shown.
        on_disk: runs a function that blocks on the disk elsewhere and waits for it.
        on_breaker_open: called when the breaker opens.
        on_store_failure: called with the message when the store could not be used.

    Attributes:
        ltm: the present connection; `None` while surfacing is off.
        counters: outcomes since start by reason, `surfaced` for a block.
        attempts / faults: searches that reached the LTM and say something about it, and those of them that failed;
            cancelled ones and those that met a busy LTM are left out.
        search_hints / last_hints: warnings that came with its answers, and with the last one.
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
        self.ltm: Ltm | None = None
        self.breaker = Breaker(settings.circuit_max_failures, settings.circuit_reset_seconds, clock)
        self.cache = ResultCache(clock)
        self.counters: Counter[str] = Counter()
        self.attempts = 0
        self.faults = 0
        self.search_hints = 0
        self.last_hints = 0
        self._store = store
        self._on_disk = on_disk
        self._on_breaker_open = on_breaker_open
        self._on_store_failure = on_store_failure
        self._sessions = Sessions(clock)
        self._tuning = Tuning()
        self._showing = asyncio.Lock()

    def configure(self, settings: SurfacingSettings) -> None:
        """Takes over changed settings; sessions, breaker state and cached results stay."""
        self.settings = settings
        self.breaker.max_failures = settings.circuit_max_failures
        self.breaker.reset_seconds = settings.circuit_reset_seconds

    def tune(self, tuning: Tuning) -> None:
        """Takes over what feedback has changed; memories rated negative anew leave the cached results."""
        before = self._tuning.invalidated
        self.cache.invalidate(m for m, times in tuning.invalidated.items() if times > before.get(m, 0))
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

    async def _surface(self, request: Surface, remaining: float | None) -> Outcome:
        settings = self.settings
        reason = static_reason(
            settings,
            server=request.server,
            tool=request.tool,
            advertised=request.advertised,
            declared_writer=request.declared_writer,
            upstream_enabled=True,
            response_chars=request.response_chars,
            has_context_query=bool(request.context_query.strip()),
        )
        if reason:
            return _nothing(reason)
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
            return _nothing("no_query")
        if is_credential(query.raw):
            return _nothing("sensitive_query")
        namespace = (tool.namespace if tool else None) or settings.default_namespace or ""
        key = (query.digest, namespace)
        reason = self._session_reason(request, query, self.cache.get(key))
        if reason:
            return _nothing(reason, query)
        self._sessions.remember(request.session, query.words)
        limit = settings.timeout_seconds
        if remaining is not None:
            limit = min(limit, remaining - REPLY_SECONDS)
        started = time.monotonic()
        deadline = asyncio.get_running_loop().time() + limit
        ltm_ms = 0.0
        try:
            cached = self.cache.get(key)
            if cached is None:
                self._sessions.spend(request.session)
                cached = await self._search(query, namespace, key, limit)
                ltm_ms = (time.monotonic() - started) * 1000
            # One at a time, so that two calls of a session never show the same memory.
            async with asyncio.timeout_at(deadline), self._showing:
                return await self._choose(request, tool, query, cached, ltm_ms)
        except (TimeoutError, DeadlineExceeded):
            return _nothing("timeout", query, (time.monotonic() - started) * 1000)
        except StateError as error:
            # What cannot be written down cannot be rated, and would be shown again and again.
            self._on_store_failure(error.message)
            return _nothing("empty_render", query, ltm_ms)
        except BusError:
            return _nothing("ltm_unavailable", query, (time.monotonic() - started) * 1000)

    def _session_reason(self, request: Surface, query: Query, cached: Cached | None) -> str:
        if self._sessions.is_repeated(request.session, query.words, self.settings.cooldown_seconds):
            return "gate_cooldown"
        if self._sessions.is_limited(request.session, self.settings.max_surfacings_per_minute):
            return "gate_rate_limit"
        if cached is None and self.breaker.refuses:
            return "circuit_open"
        if cached is None and (self.ltm is None or self.ltm.state != "ready"):
            return "ltm_unavailable"
        return "upstream_error" if request.is_error else ""

    async def _search(self, query: Query, namespace: str, key: tuple[str, str], limit: float) -> Cached:
        settings, ltm = self.settings, self.ltm
        if ltm is None:
            raise PeerUnavailable("surfacing is off")
        self.breaker.begin()
        try:
            found = await ltm.search(
                query.text,
                timeout=limit,
                namespace=namespace,
                style=settings.result_format,
                context_window=settings.context_window_size,
                rerank=None if settings.rerank == "none" else bool(settings.rerank),
                session_context=settings.include_session_context,
            )
        except BaseException as error:
            # A busy LTM is no failure, and a caller with less patience than the setting proves nothing.
            impatient = isinstance(error, DeadlineExceeded) and limit < settings.timeout_seconds
            if impatient or isinstance(error, Busy) or not isinstance(error, BusError):
                self.breaker.abandoned()
            else:
                self.attempts += 1
                self.faults += 1
                if self.breaker.failed():
                    self._on_breaker_open()
            raise
        self.attempts += 1
        self.breaker.succeeded()
        self.last_hints = len(found.hints)
        self.search_hints += self.last_hints
        return self.cache.put(key, found, settings.cache_ttl_seconds)

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
