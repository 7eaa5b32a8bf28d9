"""Events as spans."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from actors.telemetry.export_spans import Span, is_sampled, spans_of
from actors.telemetry.messages import (
    CompressionFeedbackEvent,
    Event,
    FaultEvent,
    FeedbackEvent,
    OpportunityEvent,
    ProgressiveReadEvent,
    SurfacingEvent,
    TuningEvent,
)
from bus.trace import new_trace_id, otel_ids, span_id
from tests.actors.telemetry.events import call

TRACE = "00f067aa0ba902b7"
TS = "2026-03-01T10:00:00.123456Z"
SECRET = "ghp_" + "a1B2c3D4e5" * 4


def by_name(event: Event) -> dict[str, Span]:
    return {span.name: span for span in spans_of(event)}


def test_a_call_is_a_span_with_its_stages_below_it() -> None:
    lengths = {"upstream_ms": 40.0, "compress_ms": 6.5, "surface_ms": 2.0, "total_ms": 50.0}
    begins = {"upstream_at_ms": 0.5, "compress_at_ms": 41.0, "surface_at_ms": 47.75}
    event = call(trace_id=TRACE, ts=TS, session="s", **lengths, **begins)
    spans = by_name(event)
    root = spans["tools/call read"]
    end = int(datetime.fromisoformat(TS).timestamp()) * 10**9 + 123_456_000
    assert (root.start, root.end) == (end - 50_000_000, end)
    assert (root.trace, root.parent, root.kind, root.error) == (int(TRACE, 16), None, "server", "")
    found = {name: ((span.start - root.start) / 1e6, (span.end - span.start) / 1e6) for name, span in spans.items()}
    assert found == {
        "tools/call read": (0.0, 50.0),
        "upstream": (0.5, 40.0),
        "compress": (41.0, 6.5),
        "surface": (47.75, 2.0),
    }
    stages = [spans[name] for name in ("upstream", "compress", "surface")]
    assert [span.parent for span in stages] == [root.span] * 3
    assert len({span.span for span in spans.values()}) == 4
    assert root.attributes["mms.server"] == "fs"
    assert root.attributes["session.id"] == "s"


def test_stages_never_reach_beyond_their_call() -> None:
    late = {"upstream_at_ms": 5.0, "compress_at_ms": 75.0}
    spans = spans_of(call(trace_id=TRACE, ts=TS, upstream_ms=70.0, compress_ms=7.0, total_ms=50.0, **late))
    assert len(spans) == 3
    assert all(spans[0].start <= span.start <= span.end <= spans[0].end for span in spans)


@pytest.mark.parametrize("ts", ["0001-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z"])
def test_odd_times_fit_into_the_protocol(ts: str) -> None:
    spans = spans_of(call(trace_id=TRACE, ts=ts, upstream_ms=1e9, total_ms=1e12))
    assert all(0 <= span.start <= span.end < 2**63 for span in spans)


def test_a_cached_answer_has_no_upstream() -> None:
    assert set(by_name(call(trace_id=TRACE, cached=True, total_ms=1.0))) == {"tools/call read", "cache"}


def test_a_failed_call_says_how() -> None:
    (span,) = spans_of(call(trace_id=TRACE, ok=False, error="timeout"))
    assert span.error == "timeout"


def test_a_client_that_traces_is_the_parent() -> None:
    trace_id = new_trace_id("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    root = spans_of(call(trace_id=trace_id, upstream_ms=1.0, total_ms=2.0))[0]
    assert (root.trace, root.parent, root.remote) == (*otel_ids(trace_id), True)


LATER: list[tuple[dict[str, Any], type[Event], str, dict[str, Any]]] = [
    (
        {"key_digest": "k", "server": "fs", "tool": "read", "offset": 5, "served_chars": 7, "total_chars": 9}
        | {"follow_up": True},
        ProgressiveReadEvent,
        "read_more",
        {"mms.read.offset": 5, "mms.read.served_chars": 7, "mms.read.total_chars": 9},
    ),
    (
        {"surfacing_id": "s1", "server": "fs", "tool": "read", "memory_ids": ["/home/me/notes.md"], "relevance": [0.5]},
        SurfacingEvent,
        "memories",
        {"mms.memories.count": 1, "mms.memories.relevance": [0.5], "mms.memories.chars": 0}
        | {"mms.memories.arm": "shown", "mms.surfacing.id": "s1"},
    ),
    (
        {"surfacing_id": "s1", "memory_id": "m", "rating": "helpful"},
        FeedbackEvent,
        "feedback",
        {"mms.feedback.rating": "helpful", "mms.surfacing.id": "s1"},
    ),
    (
        {"server": "fs", "tool": "read", "category": "truncated_data", "missing": "the words of a person"},
        CompressionFeedbackEvent,
        "compression_feedback",
        {"mms.feedback.category": "truncated_data"},
    ),
    (
        {"component": "compressor", "what": "bypassed", "detail": "free text", "count": 2},
        FaultEvent,
        "fault bypassed",
        {"mms.component": "compressor", "mms.fault.count": 2},
    ),
]


@pytest.mark.parametrize(("fields", "kind", "name", "attributes"), LATER)
def test_what_follows_hangs_under_the_call(
    fields: dict[str, Any], kind: type[Event], name: str, attributes: dict[str, Any]
) -> None:
    (span,) = spans_of(kind(trace_id=TRACE, **fields))
    assert (span.name, span.attributes) == (name, attributes)
    assert (span.trace, span.parent) == (int(TRACE, 16), span_id(TRACE, "call"))
    assert span.start == span.end
    assert spans_of(kind(**fields)) == []


def test_what_a_call_says_already_is_no_span_of_its_own() -> None:
    assert spans_of(OpportunityEvent(trace_id=TRACE, server="fs", tool="read", decision="cooldown")) == []
    assert spans_of(ProgressiveReadEvent(trace_id=TRACE, key_digest="k", server="fs", tool="read")) == []
    assert spans_of(TuningEvent(trace_id=TRACE, tool="t", old=0.1, new=0.2, reason="r")) == []


def test_names_of_servers_are_masked_and_cut() -> None:
    spans = spans_of(call(trace_id=TRACE, server=SECRET, tool=SECRET + "x" * 9999, upstream_ms=1.0, total_ms=2.0))
    assert SECRET not in repr(spans)
    assert max(len(str(value)) for span in spans for value in (span.name, *span.attributes.values())) < 300


def test_the_same_event_gives_the_same_spans() -> None:
    event = call(trace_id=TRACE, upstream_ms=1.0, total_ms=2.0)
    assert spans_of(event) == spans_of(event)


def test_sampling_keeps_whole_traces_in_the_share_asked_for() -> None:
    traces = [int(new_trace_id(), 16) for _ in range(2000)]
    kept = [trace for trace in traces if is_sampled(trace, 0.25)]
    assert 300 < len(kept) < 700
    assert all(is_sampled(trace, 0.5) for trace in kept)
    assert all(is_sampled(trace, 1.0) and not is_sampled(trace, 0.0) for trace in traces)
