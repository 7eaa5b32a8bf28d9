"""A call's way: upstream, compressor, surfacer, and back to one result."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

import msgspec

from actors.compressor.messages import (
    Cleaning,
    Compress,
    Compressed,
    HybridOptions,
    Policy,
    ProgressiveOptions,
    SelectiveOptions,
)
from actors.surfacer.messages import Surface, Surfaced
from actors.telemetry.messages import CallEvent, FaultEvent, ProgressiveReadEvent
from actors.upstream.messages import (
    CallResult,
    CallTool,
    ResponseTooLarge,
    ToolEntry,
    UpstreamInvalid,
    UpstreamTimeout,
)
from bus import jsonrpc
from bus.client import Bus
from bus.errors import BusError, Busy, DeadlineExceeded, PeerUnavailable
from bus.message import Blob, Reply, Request
from bus.outbox import Outbox
from config.policy import InjectionPolicy, ToolPolicy, injection_policy, tool_policy
from config.schema import Settings
from config.session import SessionSettings
from config.surfacing_gate import static_reason
from gateway.fallback import Fallback
from gateway.interim import interim
from gateway.response import Response, assemble, text_result
from gateway.selection import Selections
from gateway.session import Session
from gateway.upstream import Terms, Upstream

R = TypeVar("R", bound=Reply | None)
T = TypeVar("T", bound=msgspec.Struct)

COMPRESS_TIMEOUT_SECONDS = 15.0
FIRST_CONNECT_SECONDS = 1.0
"""How long a large response waits for a compressor that is still starting."""
ERROR_TEXT_CHARS = 65_536
"""Longer error texts are cut, with a key to the rest; shorter ones are never touched."""
MAX_FRAME_BYTES = 10 * 1024 * 1024 - 4_096
"""TypeScript peers close the connection on a line above 10 MiB."""
QUERY_ARGUMENTS = ("query", "q", "search", "pattern", "keyword", "keywords", "question", "search_query", "prompt")

_CATEGORIES: tuple[tuple[type[BusError], str], ...] = (
    (ResponseTooLarge, "oversize"),
    (UpstreamTimeout, "timeout"),
    (DeadlineExceeded, "timeout"),
    (UpstreamInvalid, "protocol"),
    (Busy, "busy"),
    (PeerUnavailable, "internal_error"),
)


@dataclass(slots=True)
class Call:
    """One `tools/call` of a client for a tool of an upstream.

    Attributes:
        arguments: JSON object, without `_context_query`.
        meta: JSON object of foreign `_meta` to pass on, or `None`.
        on_progress: takes the params of each progress notification.
        stateless: the client is of the stateless era.
        started: `time.perf_counter()` when the frame was read.
        client: who is asked when the server needs input.
        capabilities: JSON of what it can be asked; empty for nothing.
        log_level: least level of log messages that it wants; empty for none.
        inputs: `inputResponses` and `requestState` of a client that comes back with its input.
    """

    entry: ToolEntry
    arguments: bytes
    meta: bytes | None = None
    context_query: str = ""
    on_progress: Callable[[bytes], None] | None = None
    stateless: bool = False
    session: str = ""
    started: float = field(default_factory=time.perf_counter)
    client: Session | None = None
    capabilities: bytes = b""
    log_level: str = ""
    inputs: dict[str, msgspec.Raw] = field(default_factory=dict)


@dataclass(slots=True)
class Outcome:
    """Exactly one of the JSON of a result and the JSON of a JSON-RPC error."""

    result: bytes | None = None
    error: bytes | None = None


@dataclass(slots=True)
class _Notes:
    """What the telemetry event of a call will say."""

    trace_id: str
    ok: bool = True
    error: str = ""
    error_type: str = ""
    cached: bool = False
    retries: int = 0
    strategy: str = "none"
    surfacing: str = ""
    degraded: str = ""
    original_chars: int = 0
    cleaned_chars: int = 0
    compressed_chars: int = 0
    original_tokens: int = 0
    delivered_tokens: int = 0
    upstream_ms: float = 0.0
    compress_ms: float = 0.0
    surface_ms: float = 0.0


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
        self.fallback = Fallback()
        self._bus = bus
        self._events = events
        self._session = session
        self.upstream = Upstream(bus, start_cluster, self._is_dedicated)
        self._selections = selections
        self._down: set[str] = set()
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Takes over changed settings, from the next call on."""
        self.settings = settings
        self.injection: InjectionPolicy = injection_policy(settings, self._session)
        self._policy = lru_cache(maxsize=4096)(self._resolve)
        if self._selections is not None:
            self._selections.settings = settings.proxy

    def _is_dedicated(self, server: str) -> bool:
        found = self.settings.proxy.upstream_servers.get(server)
        return found is not None and found.session == "dedicated"

    def policy(self, server: str, tool: str) -> ToolPolicy:
        return self._policy(server, tool)

    async def call(self, call: Call) -> Outcome:
        """The whole way of one call. Raises nothing but cancellation: what goes wrong becomes a tool error."""
        notes = _Notes(trace_id=secrets.token_hex(8))
        try:
            outcome = await self._call(call, notes)
        except asyncio.CancelledError:
            notes.ok, notes.error, notes.error_type = False, "cancelled", "CancelledError"
            self._record(call, notes)
            raise
        except BusError as error:
            notes.ok, notes.error, notes.error_type = False, _category(error), type(error).__name__
            outcome = Outcome(text_result(error.message, is_error=True, stateless=call.stateless))
        self._record(call, notes)
        return outcome

    async def _call(self, call: Call, notes: _Notes) -> Outcome:
        policy = self.policy(call.entry.server, call.entry.tool)
        answer = await self._ask_upstream(call, policy, notes)
        notes.cached, notes.upstream_ms, notes.retries = answer.cached, answer.upstream_ms, answer.retries
        if answer.error is not None:
            notes.ok, notes.error, notes.error_type = False, "upstream_error", "RpcError"
            return Outcome(error=answer.error.data)
        if answer.result is None:
            raise UpstreamInvalid(f"upstream {call.entry.server} answered {call.entry.tool} with nothing")
        if call.stateless and interim(answer.result.data) is not None:
            return Outcome(answer.result.data)
        response = Response(answer.result.data)
        notes.original_chars = notes.cleaned_chars = notes.compressed_chars = response.chars
        if response.is_error:
            notes.ok, notes.error, notes.error_type = False, "upstream_error", "ToolError"
        compressed = await self._compress(call, policy, response, notes)
        surfaced = await self._surface(call, policy, response, notes)
        return Outcome(self._assemble(call, response, compressed, surfaced))

    def _ask_upstream(self, call: Call, policy: ToolPolicy, notes: _Notes) -> Awaitable[CallResult]:
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

    async def _compress(self, call: Call, policy: ToolPolicy, response: Response, notes: _Notes) -> Compressed | None:
        """Shortens the text blocks; `None` when everything stays as it is."""
        wanted = _compression(policy, response)
        if wanted is None or not response.texts:
            notes.original_tokens = notes.delivered_tokens = (response.chars + 3) // 4
            return None
        started = time.perf_counter()
        request = Compress(
            server=call.entry.server,
            tool=call.entry.tool,
            texts=tuple(map(Blob.of, response.texts.values())),
            structured=Blob(response.structured) if response.structured is not None else None,
            policy=wanted,
            query=call.context_query or _search_argument(call.arguments),
            trace_id=notes.trace_id,
        )
        try:
            done = await self._ask_part(request, COMPRESS_TIMEOUT_SECONDS, FIRST_CONNECT_SECONDS, notes)
        except BusError as error:
            notes.degraded = "compressor"
            self._events.add(
                FaultEvent(component="compressor", what="bypassed", detail=error.code, trace_id=notes.trace_id)
            )
            done = self._shorten_here(response, wanted)
        notes.compress_ms = (time.perf_counter() - started) * 1000
        notes.strategy = done.strategy
        notes.original_chars, notes.cleaned_chars = done.original_chars, done.cleaned_chars
        notes.compressed_chars = done.delivered_chars
        notes.original_tokens, notes.delivered_tokens = done.original_tokens, done.delivered_tokens
        for key in done.keys:
            self._events.add(
                ProgressiveReadEvent(
                    trace_id=notes.trace_id,
                    key_digest=key_digest(key),
                    server=call.entry.server,
                    tool=call.entry.tool,
                    served_chars=done.delivered_chars,
                    total_chars=done.original_chars,
                    progressive="progressive" in done.strategy,
                )
            )
        return done

    async def _surface(self, call: Call, policy: ToolPolicy, response: Response, notes: _Notes) -> Surfaced | None:
        """Asks for memories when the gates that need no state pass."""
        entry = call.entry
        reason = (
            "upstream_error"
            if response.is_error
            else policy.surfacing_skip
            or static_reason(
                self.settings.surfacing,
                server=entry.server,
                tool=entry.tool,
                advertised=entry.name,
                declared_writer=entry.writes,
                upstream_enabled=True,
                response_chars=notes.cleaned_chars,
                has_context_query=bool(call.context_query),
            )
        )
        if not reason and self.injection.mode == "prepend" and "progressive" in notes.strategy:
            reason = "progressive_mode_conflict"
        notes.surfacing = reason
        if reason:
            return None
        started = time.perf_counter()
        request = Surface(
            server=entry.server,
            tool=entry.tool,
            advertised=entry.name,
            arguments=Blob(call.arguments),
            context_query=call.context_query,
            response_chars=notes.cleaned_chars,
            session=call.session,
            trace_id=notes.trace_id,
            max_injection_chars=self.injection.max_chars,
            max_results=self.injection.max_results,
            declared_writer=entry.writes,
        )
        try:
            surfaced = await self._ask_part(request, self.settings.surfacing.timeout_seconds, 0.0, notes)
        except DeadlineExceeded:
            notes.surfacing = "timeout"
            return None
        except BusError:
            notes.surfacing, notes.degraded = "ltm_unavailable", notes.degraded or "surfacer"
            return None
        finally:
            notes.surface_ms = (time.perf_counter() - started) * 1000
        notes.surfacing = surfaced.reason or "surfaced"
        return surfaced

    async def _ask_part(self, request: Request[R], timeout: float, wait: float, notes: _Notes) -> R:
        """Asks an actor that the call can do without. Once it was not there, nobody waits for it again."""
        actor = request.actor
        try:
            reply = await self._bus.ask(
                request, timeout=timeout, trace_id=notes.trace_id, wait=0.0 if actor in self._down else wait
            )
        except PeerUnavailable:
            self._down.add(actor)
            raise
        self._down.discard(actor)
        return reply

    def _shorten_here(self, response: Response, policy: Policy) -> Compressed:
        """The budget kept by plain cuts, since the compressor is not there."""
        share = max(1, len(response.texts))
        texts = [
            self.fallback.shorten(text, policy.max_chars // share, policy.max_tokens // share)
            for text in response.texts.values()
        ]
        delivered = sum(map(len, texts))
        shortened = delivered < response.chars
        return Compressed(
            texts=tuple(map(Blob.of, texts)),
            keep_structured=policy.keep_structured or not shortened,
            strategy="gateway:truncate" if shortened else "none",
            original_chars=response.chars,
            cleaned_chars=response.chars,
            delivered_chars=delivered,
            original_tokens=(response.chars + 3) // 4,
            delivered_tokens=(delivered + 3) // 4,
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
        prepend = self.injection.mode == "prepend"
        result = assemble(
            response.raw,
            stateless=call.stateless,
            regular=response.regular,
            texts=texts,
            keep_structured=compressed is None or compressed.keep_structured,
            before=block if prepend else None,
            after=None if prepend else block,
        )
        if len(result) > MAX_FRAME_BYTES:
            size = f"the response of {call.entry.name} has {len(result)} bytes"
            raise ResponseTooLarge(f"{size}; clients close the connection above 10 MiB, so ask for less")
        return result

    def _record(self, call: Call, notes: _Notes) -> None:
        total_ms = (time.perf_counter() - call.started) * 1000
        if self._selections is not None and self._selections.wanted:
            self._selections.record(
                server=call.entry.server,
                tool=call.entry.name,
                arguments=call.arguments,
                query=call.context_query or _search_argument(call.arguments),
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
                delivered_chars=notes.compressed_chars,
                original_tokens=notes.original_tokens,
                delivered_tokens=notes.delivered_tokens,
                strategy=notes.strategy,
                surfacing=notes.surfacing,
                upstream_ms=round(notes.upstream_ms, 3),
                compress_ms=round(notes.compress_ms, 3),
                surface_ms=round(notes.surface_ms, 3),
                total_ms=round(total_ms, 3),
                session=call.session,
                degraded=notes.degraded,
            )
        )

    def _resolve(self, server: str, tool: str) -> ToolPolicy:
        return tool_policy(self.settings, server, tool, self._session)


def key_digest(key: str) -> str:
    """How telemetry names a recall key, which itself is a capability."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def _category(error: BusError) -> str:
    return next((category for kind, category in _CATEGORIES if isinstance(error, kind)), "transport")


def _compression(policy: ToolPolicy, response: Response) -> Policy | None:
    """How this response is to be shortened; `None` for not at all."""
    oversized = len(response.raw) > MAX_FRAME_BYTES
    if response.is_error:
        if response.chars <= ERROR_TEXT_CHARS:
            return None
        return Policy(
            strategy="truncate", max_chars=ERROR_TEXT_CHARS, max_tokens=ERROR_TEXT_CHARS, keep_structured=True
        )
    size = response.chars + len(response.structured or b"")
    if (policy.strategy == "none" and not oversized) or size <= policy.untouched_chars:
        return None
    return _options(policy, "auto" if policy.strategy == "none" else policy.strategy)


def _options(policy: ToolPolicy, strategy: str) -> Policy:
    return Policy(
        strategy=strategy,
        max_chars=policy.max_chars,
        max_tokens=policy.max_tokens,
        untouched_chars=policy.untouched_chars,
        retention_floor=policy.retention_floor,
        keep_structured=policy.keep_structured,
        cleaning=_copied(policy.cleaning, Cleaning),
        hybrid=_copied(policy.hybrid, HybridOptions),
        selective=_copied(policy.selective, SelectiveOptions),
        progressive=_copied(policy.progressive, ProgressiveOptions),
    )


def _copied(settings: msgspec.Struct, contract: type[T]) -> T:
    """The fields that the contract has, from the settings block of the same names."""
    return contract(**{name: getattr(settings, name) for name in contract.__struct_fields__})


def _search_argument(arguments: bytes) -> str:
    """What the call itself looks for, if one of its arguments says so."""
    try:
        members = jsonrpc.members(arguments)
        found = next((jsonrpc.value(members[name]) for name in QUERY_ARGUMENTS if name in members), "")
    except msgspec.MsgspecError:
        return ""
    return found if isinstance(found, str) else ""
