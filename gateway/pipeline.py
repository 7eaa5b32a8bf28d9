"""A call's way: upstream, compressor, surfacer, and back to one result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import lru_cache

import msgspec

from actors.compressor.messages import Compressed, Page
from actors.surfacer.messages import Surfaced
from actors.telemetry.messages import CallEvent
from actors.upstream.messages import (
    CallResult,
    CallTool,
    ResponseTooLarge,
    UpstreamInvalid,
    UpstreamResting,
    UpstreamTimeout,
)
from bus import jsonrpc
from bus.client import Bus
from bus.errors import BusError, Busy, DeadlineExceeded, PeerUnavailable
from bus.message import Blob
from bus.outbox import Outbox
from bus.trace import new_trace_id
from config.policy import ToolPolicy, injection_policy, tool_policy
from config.schema import Settings
from config.session import SessionSettings
from gateway.call import Call, Notes, Outcome
from gateway.compressors import Compressors
from gateway.fallback import Fallback
from gateway.interim import interim
from gateway.missing import Missing
from gateway.parts import Parts
from gateway.response import MAX_FRAME_BYTES, Response, assemble, text_result
from gateway.selection import Selections
from gateway.shortening import Shortening, search_argument
from gateway.surfacing import Preparation, Surfacing
from gateway.upstream import Terms, Upstream

_CATEGORIES: tuple[tuple[type[BusError], str], ...] = (
    (UpstreamResting, "circuit_open"),
    (ResponseTooLarge, "oversize"),
    (UpstreamTimeout, "timeout"),
    (DeadlineExceeded, "timeout"),
    (UpstreamInvalid, "protocol"),
    (Busy, "busy"),
    (PeerUnavailable, "internal_error"),
)


class Pipeline:
    """Takes calls through the actors.

    Args:
        start_cluster: starts the cluster when it is gone; blocks for a moment.
        selections: records which tool was chosen among which, or `None`.
    """

    def __init__(
        self,
        bus: Bus,
        events: Outbox,
        settings: Settings,
        session: SessionSettings,
        start_cluster: Callable[[], None],
        selections: Selections | None = None,
    ) -> None:
        parts = Parts(bus)
        self._shortening = Shortening(parts, events)
        self._surfacing = Surfacing(parts, settings.surfacing, injection_policy(settings, session))
        self._events = events
        self._session = session
        self.upstream = Upstream(bus, start_cluster, self._is_dedicated)
        self._selections = selections
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Takes over changed settings, from the next call on."""
        self.settings = settings
        self.compressors.use(settings.bus.compressor_replicas)
        self._surfacing.settings = settings.surfacing
        self._surfacing.injection = injection_policy(settings, self._session)
        self._policy = lru_cache(maxsize=4096)(self._resolve)
        if self._selections is not None:
            self._selections.settings = settings.proxy

    @property
    def compressors(self) -> Compressors:
        """All replicas of the compressor."""
        return self._shortening.compressors

    @property
    def fallback(self) -> Fallback:
        """The originals of responses that were cut here."""
        return self._shortening.fallback

    async def continued(self, page: Page, session: str, find: str) -> str:
        """The memory block that goes with a further page of a shortened response; empty when there is none."""
        return await self._surfacing.continued(page, session, find)

    def _is_dedicated(self, server: str) -> bool:
        found = self.settings.proxy.upstream_servers.get(server)
        return found is not None and found.session == "dedicated"

    def policy(self, server: str, tool: str) -> ToolPolicy:
        return self._policy(server, tool)

    async def call(self, call: Call) -> Outcome:
        """The whole way of one call. Raises nothing but cancellation: what goes wrong becomes a tool error."""
        notes = Notes(trace_id=new_trace_id(_traceparent(call.meta)))
        try:
            outcome = await self._call(call, notes)
        except asyncio.CancelledError:
            notes.ok, notes.error, notes.error_type = False, "cancelled", "CancelledError"
            notes.surfacing = notes.surfacing or "cancelled"
            self._record(call, notes)
            raise
        except BusError as error:
            notes.ok, notes.error, notes.error_type = False, _category(error), type(error).__name__
            notes.surfacing = notes.surfacing or "upstream_error"
            outcome = Outcome(text_result(error.message, is_error=True, stateless=call.stateless))
        self._record(call, notes)
        return outcome

    def note_missing(self, missing: Missing, session: str, started: float) -> None:
        """Records a call of a tool that could not be asked, so that it is found among what failed."""
        self._events.add(
            CallEvent(
                trace_id=new_trace_id(),
                server=missing.server,
                tool=missing.tool,
                ok=False,
                error="unavailable",
                surfacing="upstream_error",
                total_ms=round((time.perf_counter() - started) * 1000, 3),
                session=session,
            )
        )

    async def _call(self, call: Call, notes: Notes) -> Outcome:
        policy = self.policy(call.entry.server, call.entry.tool)
        prepared = self._surfacing.prepare(call, policy)
        try:
            return await self._answered(call, policy, notes, prepared)
        finally:
            if prepared is not None:
                prepared.end()

    async def _answered(self, call: Call, policy: ToolPolicy, notes: Notes, prepared: Preparation | None) -> Outcome:
        notes.upstream_at_ms = call.elapsed_ms()
        answer = await self._ask_upstream(call, policy, notes)
        if prepared is not None:
            prepared.answered()
        notes.cached, notes.upstream_ms, notes.retries = answer.cached, answer.upstream_ms, answer.retries
        if answer.error is not None:
            notes.ok, notes.error, notes.error_type = False, "upstream_error", "RpcError"
            notes.surfacing = policy.surfacing_skip or "upstream_error"
            return Outcome(error=answer.error.data)
        if answer.result is None:
            raise UpstreamInvalid(f"upstream {call.entry.server} answered {call.entry.tool} with nothing")
        if call.stateless and interim(answer.result.data) is not None:
            return Outcome(answer.result.data)
        response = Response(answer.result.data)
        notes.original_chars = notes.cleaned_chars = notes.compressed_chars = response.chars
        if response.is_error:
            notes.ok, notes.error, notes.error_type = False, "upstream_error", "ToolError"
        compressed = await self._shortening.shorten(call, policy, response, notes)
        surfaced = await self._surfacing.surface(call, policy, response, notes, prepared)
        return Outcome(self._assemble(call, response, compressed, surfaced))

    def _ask_upstream(self, call: Call, policy: ToolPolicy, notes: Notes) -> Awaitable[CallResult]:
        entry = call.entry
        params = b'{"arguments":' + call.arguments
        params += b',"_meta":' + call.meta + b"}" if call.meta is not None else b"}"
        request = CallTool(
            server=entry.server,
            tool=entry.tool,
            params=Blob(params),
            progress=call.on_progress is not None,
            session=call.session,
            capabilities=call.capabilities,
            log_level=call.log_level,
            handshake=not call.stateless,
        )
        return self.upstream.ask(
            request,
            Terms(
                entry.name,
                entry.read_only,
                policy.overall_deadline_seconds,
                trace_id=notes.trace_id,
                on_progress=call.on_progress,
            ),
            client=call.client,
            stateless=call.stateless,
            inputs=call.inputs,
        )

    def _assemble(
        self, call: Call, response: Response, compressed: Compressed | None, surfaced: Surfaced | None
    ) -> bytes:
        texts: dict[int, str] = {}
        if compressed is not None:
            for position, blob in zip(response.texts, compressed.texts, strict=True):
                if blob is not None:
                    texts[position] = blob.data.decode("utf-8", "surrogatepass")
        block = surfaced.block.text if surfaced is not None and surfaced.block is not None else None
        prepend = self._surfacing.injection.mode == "prepend"
        result = assemble(
            response.raw,
            stateless=call.stateless,
            regular=response.regular,
            texts=texts,
            keep_structured=compressed is None or compressed.keep_structured,
            stand_in=compressed.stand_in.text if compressed is not None and compressed.stand_in is not None else None,
            before=block if prepend else None,
            after=None if prepend else block,
        )
        if len(result) > MAX_FRAME_BYTES:
            size = f"the response of {call.entry.name} has {len(result)} bytes"
            raise ResponseTooLarge(f"{size}; clients close the connection above 10 MiB, so ask for less")
        return result

    def _record(self, call: Call, notes: Notes) -> None:
        total_ms = call.elapsed_ms()
        if self._selections is not None and self._selections.wanted:
            self._selections.record(
                server=call.entry.server,
                tool=call.entry.name,
                arguments=call.arguments,
                query=call.context_query or search_argument(call.arguments),
                trace_id=notes.trace_id,
                error_type=notes.error_type,
                latency_ms=total_ms,
                cached=notes.cached,
                retries=notes.retries,
            )
        self._events.add(
            CallEvent(
                trace_id=notes.trace_id,
                server=call.entry.server,
                tool=call.entry.tool,
                ok=notes.ok,
                error=notes.error,
                cached=notes.cached,
                original_chars=notes.original_chars,
                cleaned_chars=notes.cleaned_chars,
                compressed_chars=notes.compressed_chars,
                delivered_chars=notes.compressed_chars + notes.memory_chars,
                original_tokens=notes.original_tokens,
                delivered_tokens=notes.shortened_tokens + notes.memory_tokens,
                memory_tokens=notes.memory_tokens,
                strategy=notes.strategy,
                surfacing=notes.surfacing,
                upstream_ms=round(notes.upstream_ms, 3),
                compress_ms=round(notes.compress_ms, 3),
                surface_ms=round(notes.surface_ms, 3),
                total_ms=round(total_ms, 3),
                session=call.session,
                degraded=notes.degraded,
                upstream_at_ms=round(notes.upstream_at_ms, 3),
                compress_at_ms=round(notes.compress_at_ms, 3),
                surface_at_ms=round(notes.surface_at_ms, 3),
            )
        )

    def _resolve(self, server: str, tool: str) -> ToolPolicy:
        return tool_policy(self.settings, server, tool, self._session)


def _traceparent(meta: bytes | None) -> str:
    """The client's trace context, if it sends one."""
    if meta is None or b'"traceparent"' not in meta:
        return ""
    found = jsonrpc.value(jsonrpc.members(meta).get("traceparent", msgspec.Raw(b'""')))
    return found if isinstance(found, str) else ""


def _category(error: BusError) -> str:
    return next((category for kind, category in _CATEGORIES if isinstance(error, kind)), "transport")
