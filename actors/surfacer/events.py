"""The telemetry events of a call that reached surfacing."""

from __future__ import annotations

from actors.surfacer.messages import Surface
from actors.surfacer.surface import Outcome, decode_arguments, shape_of
from actors.telemetry.messages import OpportunityEvent, SurfacingEvent


def opportunity_event(request: Surface, decision: str, query_digest: str) -> OpportunityEvent:
    """How the call ended; of its arguments only counts, never keys or values."""
    return OpportunityEvent(
        trace_id=request.trace_id,
        server=request.server,
        tool=request.tool,
        decision=decision,
        shape=shape_of(decode_arguments(request.arguments)),
        response_chars=request.response_chars,
        query_digest=query_digest,
    )


def surfacing_event(request: Surface, outcome: Outcome) -> SurfacingEvent:
    """What was shown, or withheld by the hold-out experiment."""
    reply = outcome.reply
    return SurfacingEvent(
        trace_id=request.trace_id,
        surfacing_id=outcome.surfacing_id,
        server=request.server,
        tool=request.tool,
        query_digest=outcome.query_digest,
        memory_ids=[found.memory.id for found in outcome.shown],
        relevance=[round(found.relevance, 4) for found in outcome.shown],
        ltm_scores=[found.memory.score for found in outcome.shown],
        score_scale=outcome.scale,
        injected_chars=len(reply.block.text) if reply.block else 0,
        arm="shown" if reply.block else "withheld",
    )
