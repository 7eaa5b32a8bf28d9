"""The step of a call that brings its response within the budget: by the compressor, or plainly while it is down."""

from __future__ import annotations

import hashlib
import math
import time
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
from actors.telemetry.messages import FaultEvent, ProgressiveReadEvent
from bus import jsonrpc
from bus.errors import BusError
from bus.message import Blob
from bus.outbox import Outbox
from config.policy import ToolPolicy
from config.tokens import cost, estimate_tokens
from gateway.call import Call, Notes
from gateway.compressors import Compressors
from gateway.fallback import Fallback
from gateway.parts import Parts
from gateway.response import MAX_FRAME_BYTES, Response

T = TypeVar("T", bound=msgspec.Struct)

COMPRESS_TIMEOUT_SECONDS = 15.0
ASSEMBLE_SECONDS = 2.0
"""Kept of a call's own time when an external model summarises."""
ERROR_TEXT_CHARS = 65_536
"""Longer error texts are cut, with a key to the rest; shorter ones are never touched."""
END_CHARS = 512
QUERY_ARGUMENTS = ("query", "q", "search", "pattern", "keyword", "keywords", "question", "search_query", "prompt")


class Shortening:
    """Shortens responses; `fallback` holds the originals of those that were cut here."""

    def __init__(self, parts: Parts, events: Outbox) -> None:
        self.fallback = Fallback()
        self.compressors = Compressors(parts)
        self._events = events

    async def shorten(self, call: Call, policy: ToolPolicy, response: Response, notes: Notes) -> Compressed | None:
        """Shortens the text blocks; `None` when everything stays as it is."""
        wanted = wanted_policy(policy, response)
        if wanted is None or not (response.texts or response.structured):
            notes.original_tokens = notes.shortened_tokens = sum(map(_roughly, response.texts.values()))
            return None
        notes.compress_at_ms = call.elapsed_ms()
        request = Compress(
            server=call.entry.server,
            tool=call.entry.tool,
            texts=tuple(map(Blob.of, response.texts.values())),
            structured=Blob(response.structured) if response.structured is not None else None,
            policy=wanted,
            query=call.context_query or search_argument(call.arguments),
            trace_id=notes.trace_id,
            llm_seconds=llm_seconds(call, policy),
        )
        try:
            done = await self.compressors.compress(request, COMPRESS_TIMEOUT_SECONDS + request.llm_seconds)
        except BusError as error:
            notes.degraded = "compressor"
            self._events.add(
                FaultEvent(component="compressor", what="bypassed", detail=error.code, trace_id=notes.trace_id)
            )
            done = self._shorten_here(response, wanted)
        notes.compress_ms = call.elapsed_ms() - notes.compress_at_ms
        notes.strategy = done.strategy
        notes.original_chars, notes.cleaned_chars = done.original_chars, done.cleaned_chars
        notes.compressed_chars = done.delivered_chars
        notes.original_tokens, notes.shortened_tokens = done.original_tokens, done.delivered_tokens
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

    def _shorten_here(self, response: Response, policy: Policy) -> Compressed:
        """The budget kept by plain cuts, since the compressor is not there."""
        if not response.texts:
            return self._stand_in(response, policy)
        share = len(response.texts)
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
            original_tokens=sum(map(estimate_tokens, response.texts.values())),
            delivered_tokens=sum(map(estimate_tokens, texts)),
        )

    def _stand_in(self, response: Response, policy: Policy) -> Compressed:
        """The same for a response that says all in its structured content."""
        whole = (response.structured or b"").decode("utf-8", "replace")
        text = whole if policy.keep_structured else self.fallback.shorten(whole, policy.max_chars, policy.max_tokens)
        shortened = len(text) < len(whole)
        return Compressed(
            texts=(),
            keep_structured=not shortened,
            stand_in=Blob.of(text) if shortened else None,
            strategy="gateway:truncate" if shortened else "none",
            original_chars=len(whole),
            cleaned_chars=len(whole),
            delivered_chars=len(text),
            original_tokens=estimate_tokens(whole),
            delivered_tokens=estimate_tokens(text),
        )


def _roughly(text: str) -> int:
    """The tokens of a text that stays as it is, by both its ends: each call pays for this, and nothing hangs on it."""
    if len(text) <= 2 * END_CHARS:
        return estimate_tokens(text)
    return math.ceil(cost(text[:END_CHARS] + text[-END_CHARS:]) * len(text) / (2 * END_CHARS))


def llm_seconds(call: Call, policy: ToolPolicy) -> float:
    """What an external model may take of the time that this call has left; 0 where none is wanted."""
    if policy.strategy != "llm_summary":
        return 0.0
    left = policy.overall_deadline_seconds - (time.perf_counter() - call.started)
    return max(0.0, min(policy.llm.llm_timeout_seconds, left - ASSEMBLE_SECONDS))


def key_digest(key: str) -> str:
    """How telemetry names a recall key, which itself is a capability."""
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def wanted_policy(policy: ToolPolicy, response: Response) -> Policy | None:
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


def search_argument(arguments: bytes) -> str:
    """What the call itself looks for, if one of its arguments says so."""
    try:
        members = jsonrpc.members(arguments)
        found = next((jsonrpc.value(members[name]) for name in QUERY_ARGUMENTS if name in members), "")
    except msgspec.MsgspecError:
        return ""
    return found if isinstance(found, str) else ""
