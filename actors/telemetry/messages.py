"""Contract of telemetry: the event kinds, how they are handed over, and how they are asked about."""

from __future__ import annotations

import itertools
import secrets
from datetime import UTC, datetime
from typing import Any

import msgspec

from bus.message import Blob, Reply, Request
from bus.record import Record as Record

EVENT_SCHEMA_VERSION = 1


_process = secrets.token_hex(6)
_numbers = itertools.count(1)


def new_event_id() -> str:
    """Unique over processes and restarts: a random part per process and a counter."""
    return f"{_process}{next(_numbers):08x}"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=False):
    """Base of all events. `ts` is UTC, ISO-8601 with microseconds and `Z`; times end in `_ms`; `…_chars` are code
    points; `…_tokens` are estimates."""

    event_id: str = msgspec.field(default_factory=new_event_id)
    ts: str = msgspec.field(default_factory=now)
    trace_id: str = ""
    schema_version: int = EVENT_SCHEMA_VERSION


class CallEvent(Event, frozen=True, kw_only=True, tag="call"):
    """One proxied call.

    Attributes:
        error: category when `ok` is false: transport, timeout, protocol, upstream_error, oversize, internal_error,
            busy, circuit_open, cancelled, unavailable (its server is down or starting, or the tool is withheld).
        delivered_chars / delivered_tokens: as the client got it, the memory block included.
        memory_tokens: of the memory block alone.
        surfacing: `surfaced`, or the reason why nothing was shown.
        compress_ms etc.: time per stage; `total_ms` from frame read to frame written.
        compress_at_ms etc.: when the stage began, since the frame was read; 0 where it did not run or is not known.
        degraded: a part was down and the gateway did without.
    """

    server: str
    tool: str
    ok: bool
    error: str = ""
    cached: bool = False
    original_chars: int = 0
    cleaned_chars: int = 0
    compressed_chars: int = 0
    delivered_chars: int = 0
    original_tokens: int = 0
    delivered_tokens: int = 0
    memory_tokens: int = 0
    strategy: str = "none"
    surfacing: str = ""
    upstream_ms: float = 0.0
    compress_ms: float = 0.0
    surface_ms: float = 0.0
    total_ms: float = 0.0
    session: str = ""
    degraded: str = ""
    upstream_at_ms: float = 0.0
    compress_at_ms: float = 0.0
    surface_at_ms: float = 0.0


class SurfacingEvent(Event, frozen=True, kw_only=True, tag="surfacing"):
    surfacing_id: str
    server: str
    tool: str
    query_digest: str = ""
    memory_ids: list[str] = []
    relevance: list[float] = []
    ltm_scores: list[float] = []
    score_scale: str = ""
    injected_chars: int = 0
    arm: str = "shown"


class OpportunityEvent(Event, frozen=True, kw_only=True, tag="opportunity"):
    """One call that reached the surfacer, and how it ended. `shape` holds counts only, never keys or values."""

    server: str
    tool: str
    decision: str
    shape: str = ""
    response_chars: int = 0
    query_digest: str = ""


class FeedbackEvent(Event, frozen=True, kw_only=True, tag="feedback"):
    surfacing_id: str
    memory_id: str
    rating: str
    server: str = ""
    tool: str = ""


class CompressionFeedbackEvent(Event, frozen=True, kw_only=True, tag="compression_feedback"):
    server: str
    tool: str
    category: str
    missing: str


class ProgressiveReadEvent(Event, frozen=True, kw_only=True, tag="progressive_reads"):
    """A first chunk (`follow_up` false) or a follow-up of a shortened response."""

    key_digest: str
    server: str
    tool: str
    offset: int = 0
    served_chars: int = 0
    total_chars: int = 0
    follow_up: bool = False
    progressive: bool = False


class TuningEvent(Event, frozen=True, kw_only=True, tag="tuning"):
    tool: str
    old: float
    new: float
    reason: str


class FaultEvent(Event, frozen=True, kw_only=True, tag="fault"):
    """A breaker that opened, a restart, a fallback, events dropped, a store set aside."""

    component: str
    what: str
    detail: str = ""
    count: int = 1


class SelectionEvent(Event, frozen=True, kw_only=True, tag="selection"):
    """Which tool a client chose among which; kept only where the selection log is on.

    Attributes:
        selection_id: shared with the `ExecutionEvent` of the same call.
        candidate_tools: names that were advertised.
        reject_reasons: withheld tool → code.
        candidate_features: ranking of the best candidates, tool → feature → value; `None` without a query.
        graph_generation: of the tool-graph provider; `None` without one.
        args_sha256 / args_chars: of the arguments' JSON, never the arguments.
        ranker_version: cohort of the ranking.
    """

    selection_id: str
    server: str
    selected_tool: str
    candidate_tools: list[str]
    candidate_count: int
    reject_reasons: dict[str, str]
    candidate_features: dict[str, dict[str, float]] | None
    graph_generation: int | None = None
    args_sha256: str
    args_chars: int
    ranker_version: str


class ExecutionEvent(Event, frozen=True, kw_only=True, tag="execution"):
    """How the call of a selection ended.

    Attributes:
        error_type: class name only, empty when ok; `cost`: unknown to a gateway, so always `None`.
    """

    selection_id: str
    server: str
    selected_tool: str
    ok: bool
    latency_ms: float
    error_type: str = ""
    cache_hit: bool = False
    retry_count: int = 0
    cost: float | None = None


AnyEvent = (
    CallEvent
    | SurfacingEvent
    | OpportunityEvent
    | FeedbackEvent
    | CompressionFeedbackEvent
    | ProgressiveReadEvent
    | TuningEvent
    | FaultEvent
    | SelectionEvent
    | ExecutionEvent
)


class Table(Reply, frozen=True, kw_only=True):
    """The answer to a query. `pending` counts events that are in the log and not yet in the store.

    Attributes:
        rows: JSON array of rows, each an array in the order of `columns`.
        truncated: there were more rows than the limit.
    """

    columns: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    rows: Blob = Blob(b"[]")
    truncated: bool = False
    pending: int = 0


class Query(Request[Table], frozen=True, kw_only=True):
    """Read-only SQL over the analytics store.

    Raises:
        Refused: not a single SELECT-like statement, one that touches files, network or settings, or unreadable.
        DeadlineExceeded: it took longer than `timeout_seconds`.
    """

    actor = "telemetry"
    reply = Table
    idempotent = True

    sql: str
    max_rows: int = 10_000
    timeout_seconds: float = 30.0


class Stats(Reply, frozen=True, kw_only=True):
    """Everything `mms stats` and the stats actions show, as one JSON object."""

    data: Blob
    pending: int = 0


class GetStats(Request[Stats], frozen=True, kw_only=True):
    """Named statistics over a period.

    Attributes:
        report: `savings`, `surfacing`, `compression`, `progressive`, `tuning`, `faults`, `latency`.
        since / until: ISO-8601, from (inclusive) and up to (exclusive); empty = all.
    """

    actor = "telemetry"
    reply = Stats
    idempotent = True

    report: str = "savings"
    since: str = ""
    until: str = ""
    tool: str = ""
    server: str = ""
    by: str = "tool"
    limit: int = 10


class FindCalls(Request[Stats], frozen=True, kw_only=True):
    """The newest calls of a period, to find a trace id; `actors.telemetry.traces.find_calls` describes the data.

    Attributes: as for `GetStats`; `failed`: only those that failed.
    """

    actor = "telemetry"
    reply = Stats
    idempotent = True

    since: str = ""
    until: str = ""
    tool: str = ""
    server: str = ""
    failed: bool = False
    limit: int = 20


class GetTrace(Request[Stats], frozen=True, kw_only=True):
    """Everything about one call; `actors.telemetry.traces.trace` describes the data.

    Attributes:
        trace_id: the whole id or its beginning; empty = the newest call.

    Raises:
        Refused: no call has this id, or several begin so.
    """

    actor = "telemetry"
    reply = Stats
    idempotent = True

    trace_id: str = ""


class ExportHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How the sending of traces to one destination does, since it was switched on.

    Attributes:
        name: `otlp` or `langfuse`. host: host and port of the receiver.
        state: `on`, `failing` (the last request failed) or `misconfigured` (nothing is sent; `error` has the fix).
        error: one line; never an address or a secret.
        sent / dropped / waiting: spans.
    """

    name: str
    host: str = ""
    state: str = "on"
    error: str = ""
    sent: int = 0
    dropped: int = 0
    waiting: int = 0


class TelemetryHealth(Reply, frozen=True, kw_only=True):
    """Counters since the actor started, the state of its stores, and of each export that is switched on."""

    appended: int = 0
    loaded: int = 0
    pending: int = 0
    rejected: int = 0
    dropped_by_producers: dict[str, int] = {}
    store: str = "ready"
    store_error: str = ""
    journal_bytes: int = 0
    exports: tuple[ExportHealth, ...] = ()


class GetTelemetryHealth(Request[TelemetryHealth], frozen=True, kw_only=True):
    actor = "telemetry"
    reply = TelemetryHealth
    idempotent = True


def columns(event: type[Event]) -> list[tuple[str, Any]]:
    """The fields of an event kind in their order, with their types: what the JSONL holds and the table has."""
    return [(f.name, f.type) for f in msgspec.structs.fields(event)]


class SelectionStats(Reply, frozen=True, kw_only=True):
    """What the selection log holds, and what happened to events since the actor started.

    Attributes:
        enabled: the log is on.
        log: JSON of `actors.telemetry.selection_stats.summary`, over the active log only.
        backups: names of rotated logs, which are not counted.
        written / sampled_out / redacted / write_errors: events.
    """

    enabled: bool
    path: str = ""
    log: Blob = Blob(b"null")
    backups: tuple[str, ...] = ()
    written: int = 0
    sampled_out: int = 0
    redacted: int = 0
    write_errors: int = 0


class GetSelectionStats(Request[SelectionStats], frozen=True, kw_only=True):
    actor = "telemetry"
    reply = SelectionStats
    idempotent = True


class SelectionLabel(Event, frozen=True, kw_only=True, tag="feedback"):
    """What an operator says about a selection; stands in the selection log only."""

    selection_id: str
    user_corrected: bool
    operator_override: bool
    ranker_version: str


class LabelSelection(Request[None], frozen=True, kw_only=True):
    """Writes an operator's label; answered once it is on the disk.

    Attributes:
        user_corrected: the user had to correct the choice. operator_override: the operator would have chosen another.

    Raises:
        Refused: the log is off, or the selection is in none, rotated ones included. StateError: it cannot be written.
    """

    actor = "telemetry"

    selection_id: str
    user_corrected: bool = False
    operator_override: bool = False
