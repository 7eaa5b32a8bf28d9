"""What the events say as spans of OpenTelemetry: one per call, its stages below it, and what followed later. Pure.

Only what the pipeline itself says becomes an attribute: names, counts, times, codes. Never a body, an argument, a
query, a report or a memory, nor the free text of a fault. Names come from servers, so they are masked like any text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from actors.telemetry.messages import (
    CallEvent,
    CompressionFeedbackEvent,
    Event,
    FaultEvent,
    FeedbackEvent,
    ProgressiveReadEvent,
    SurfacingEvent,
)
from bus.trace import otel_ids, span_id
from config.credentials import mask

Attribute = str | bool | int | float | list[float]
Kind = Literal["server", "client", "internal"]

LONGEST_TEXT = 256
LATEST = 2**63 - 1
"""Nanoseconds that the protocol can hold; one span beyond would cost its whole batch."""
CALL = "call"
"""What names the span of a call within its trace; whatever belongs to the call hangs under it."""


class Span(NamedTuple):
    """One finished span.

    Attributes:
        trace: 128 bits. span / parent: 64 bits; `None` = a root.
        remote: the parent is a span of the client's.
        start / end: nanoseconds since the epoch.
        error: the type of the error; empty = none.
    """

    name: str
    trace: int
    span: int
    parent: int | None
    start: int
    end: int
    attributes: Mapping[str, Attribute]
    kind: Kind = "internal"
    remote: bool = False
    error: str = ""


def spans_of(event: Event) -> list[Span]:
    """The spans of one event; none for kinds that say nothing new about a trace, and for events outside of one.

    Raises:
        ValueError: `ts` is no time.
    """
    if not event.trace_id:
        return []
    if isinstance(event, CallEvent):
        return list(_call(event))
    later = _later(event)
    if later is None:
        return []
    name, attributes, error = later
    trace, _ = otel_ids(event.trace_id)
    at = _nanoseconds(event.ts)
    parent = span_id(event.trace_id, CALL)
    return [Span(name, trace, span_id(event.trace_id, event.event_id), parent, at, at, _plain(attributes), error=error)]


def is_sampled(trace: int, rate: float) -> bool:
    """Whether a trace is among the share that is sent; any exporter with the same rate decides alike."""
    return (trace & (2**64 - 1)) < round(rate * 2**64)


def _call(event: CallEvent) -> Iterator[Span]:
    trace, parent = otel_ids(event.trace_id)
    root = span_id(event.trace_id, CALL)
    end = _nanoseconds(event.ts)
    start = max(0, end - _duration(event.total_ms))
    attributes: dict[str, Attribute] = {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.tool,
        "session.id": event.session,
        "mms.server": event.server,
        "mms.trace_id": event.trace_id,
        "mms.cache.hit": event.cached,
        "mms.chars.original": event.original_chars,
        "mms.chars.cleaned": event.cleaned_chars,
        "mms.chars.compressed": event.compressed_chars,
        "mms.chars.delivered": event.delivered_chars,
        "mms.tokens.original": event.original_tokens,
        "mms.tokens.delivered": event.delivered_tokens,
        "mms.tokens.memories": event.memory_tokens,
        "mms.compression.strategy": event.strategy,
        "mms.surfacing.decision": event.surfacing,
        "mms.degraded": event.degraded,
    }
    error = "" if event.ok else event.error or "_OTHER"
    name = f"tools/call {_text(event.tool)}"
    yield Span(name, trace, root, parent, start, end, _plain(attributes), "server", parent is not None, error)

    at, elapsed = event.upstream_at_ms, event.upstream_ms
    stages: list[tuple[str, float, float, dict[str, Attribute], Kind]] = [
        ("cache", at, elapsed, {"mms.server": event.server}, "internal")
        if event.cached
        else ("upstream", at, elapsed, {"mms.server": event.server, "gen_ai.tool.name": event.tool}, "client"),
        ("compress", event.compress_at_ms, event.compress_ms, {"mms.compression.strategy": event.strategy}, "internal"),
        ("surface", event.surface_at_ms, event.surface_ms, {"mms.surfacing.decision": event.surfacing}, "internal"),
    ]
    for name, at, elapsed, details, kind in stages:
        if elapsed > 0 or (name == "cache"):
            begin = min(start + _duration(at), end)
            until = min(begin + _duration(elapsed), end)
            yield Span(name, trace, span_id(event.trace_id, name), root, begin, until, _plain(details), kind)


def _later(event: Event) -> tuple[str, dict[str, Attribute], str] | None:
    """Name, attributes and error of what happened at one moment of a trace; `None` for nothing of note."""
    if isinstance(event, ProgressiveReadEvent):
        if not event.follow_up:
            return None
        sizes = {"offset": event.offset, "served_chars": event.served_chars, "total_chars": event.total_chars}
        return "read_more", {f"mms.read.{name}": value for name, value in sizes.items()}, ""
    if isinstance(event, SurfacingEvent):
        memories: dict[str, Attribute] = {
            "mms.memories.count": len(event.memory_ids),
            "mms.memories.relevance": event.relevance,
            "mms.memories.chars": event.injected_chars,
            "mms.memories.arm": event.arm,
            "mms.surfacing.id": event.surfacing_id,
        }
        return "memories", memories, ""
    if isinstance(event, FeedbackEvent):
        return "feedback", {"mms.feedback.rating": event.rating, "mms.surfacing.id": event.surfacing_id}, ""
    if isinstance(event, CompressionFeedbackEvent):
        return "compression_feedback", {"mms.feedback.category": event.category}, ""
    if isinstance(event, FaultEvent):
        fault: dict[str, Attribute] = {"mms.component": event.component, "mms.fault.count": event.count}
        return f"fault {_text(event.what)}", fault, _text(event.what)
    return None


def _plain(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Without what is empty, texts masked and cut."""
    return {
        name: _text(value) if isinstance(value, str) else value
        for name, value in attributes.items()
        if value not in ("", [])
    }


@lru_cache(maxsize=1024)  # names come again with each call
def _text(text: str) -> str:
    return mask(text.encode("utf-8", "replace").decode())[:LONGEST_TEXT]


def _duration(milliseconds: float) -> int:
    return max(0, round(milliseconds * 1_000_000))


def _nanoseconds(ts: str) -> int:
    moment = datetime.fromisoformat(ts)
    found = int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1_000
    return min(max(0, found), LATEST)
