"""Contract of the surfacer."""

from __future__ import annotations

from bus.message import Blob, Reply, Request


class Surfaced(Reply, frozen=True, kw_only=True):
    """A memory block, or the one reason why there is none.

    Attributes:
        block: the whole block, `<surfaced-memories>` … `</surfaced-memories>`; `None` when nothing is shown.
        reason: empty when a block is there, else the skip reason of the specification.
        surfacing_id: what the agent rates.
        memory_ids: ids shown, in order.
        ltm_ms: time spent waiting for the LTM.
    """

    block: Blob | None = None
    reason: str = ""
    surfacing_id: str = ""
    memory_ids: tuple[str, ...] = ()
    ltm_ms: float = 0.0


class Surface(Request[Surfaced], frozen=True, kw_only=True):
    """Asks for memories that fit a call.

    Attributes:
        server / tool / advertised: the upstream, its own tool name, and the name the client called.
        arguments: JSON object of the call's arguments (without `_context_query`).
        context_query: the explicit query, if the agent gave one.
        response_chars: length of the cleaned response, in code points.
        session: the client session, the scope of rate limit, cooldown and "already shown".
        max_injection_chars / max_results: the session's caps; 0 = the configured ones.
        declared_writer: the tool's annotations say that it writes.
        holdout: this path takes part in the hold-out experiment (the hook).
        prepared: id of the `Prepare` that went ahead of it, if one did.
        patience_ms: how long the response waits for the search at least, where the LTM is usually slower up to 0.5 s;
            0 = `timeout_seconds`, which is the most in any case.
        continues: a further page of a response that has been surfaced already: the cooldown does not apply.
    """

    actor = "surfacer"
    reply = Surfaced

    server: str
    tool: str
    advertised: str
    arguments: Blob
    context_query: str = ""
    response_chars: int = 0
    session: str = ""
    trace_id: str = ""
    max_injection_chars: int = 0
    max_results: int = 0
    declared_writer: bool = False
    is_error: bool = False
    holdout: bool = False
    prepared: str = ""
    patience_ms: int = 0
    continues: bool = False


class Prepare(Request[None], frozen=True, kw_only=True):
    """Searches for a call whose answer is still on its way; answered when the search is over, ended when cancelled.

    Attributes:
        id: names it for the `Surface` that may follow; unique.
        others: as of `Surface`.
    """

    actor = "surfacer"

    id: str
    server: str
    tool: str
    advertised: str
    arguments: Blob
    context_query: str = ""
    session: str = ""
    declared_writer: bool = False


class ShownEvent(Reply, frozen=True, kw_only=True):
    """What a `surfacing_id` stands for; `found` is false for an unknown id."""

    found: bool = False
    server: str = ""
    tool: str = ""
    trace_id: str = ""
    memory_ids: tuple[str, ...] = ()


class GetShown(Request[ShownEvent], frozen=True, kw_only=True):
    actor = "surfacer"
    reply = ShownEvent
    idempotent = True

    surfacing_id: str


class Boost(Request[None], frozen=True, kw_only=True):
    """Tells the LTM that these memories were helpful (`increment_access`), once per event; best effort."""

    actor = "surfacer"

    surfacing_id: str
    memory_ids: tuple[str, ...]


class SurfacerHealth(Reply, frozen=True, kw_only=True):
    """State of the surfacer and its LTM.

    Attributes:
        ltm: `starting`, `ready`, `down`, `disabled`; `ltm_kind`: `embedded` or the command or URL's host.
        breaker: `closed`, `open`, `half_open`.
        score_scale / mode: what the LTM reports about its scores.
        counters: how often each skip reason and outcome (`surfaced`) happened since start.
        attempts / faults: searches that reached the LTM, and how many of them failed.
        search_hints / last_hints: warnings that the LTM gave with its answers since start, and with the last one.
        sampled_out: opportunities that were not recorded because of `opportunities_sample_rate`.
    """

    ltm: str = "starting"
    ltm_kind: str = ""
    ltm_version: str = ""
    ltm_error: str = ""
    breaker: str = "closed"
    score_scale: str = ""
    mode: str = ""
    min_score: float = 0.0
    counters: dict[str, int] = {}
    attempts: int = 0
    faults: int = 0
    search_hints: int = 0
    last_hints: int = 0
    sampled_out: int = 0
    pid: int = 0


class GetSurfacerHealth(Request[SurfacerHealth], frozen=True, kw_only=True):
    actor = "surfacer"
    reply = SurfacerHealth
    idempotent = True


class MemoryNote(Reply, frozen=True, kw_only=True):
    id: str
    source: str = ""
    namespace: str = ""
    content: str = ""
    relevance: float = 0.0


class MemoryNotes(Reply, frozen=True, kw_only=True):
    notes: tuple[MemoryNote, ...] = ()
    text: str = ""


class AddMemory(Request[MemoryNotes], frozen=True, kw_only=True):
    """Adds a note to the LTM (`mem_add`)."""

    actor = "surfacer"
    reply = MemoryNotes

    content: str
    title: str = ""
    namespace: str = ""
    tags: tuple[str, ...] = ()


class SearchMemory(Request[MemoryNotes], frozen=True, kw_only=True):
    """Searches the LTM as the surfacer would, without any gate."""

    actor = "surfacer"
    reply = MemoryNotes
    idempotent = True

    query: str
    limit: int = 10
    namespace: str = ""


class Proposal(Reply, frozen=True, kw_only=True):
    """What became of a proposed memory.

    Attributes:
        ok: it waits in the LTM's review queue.
        reason: why not: `formation_unsupported`, `sensitive_content`, `ltm_unavailable`, `ltm_error`.
        message: more about it, one line.
        answer: JSON of what the LTM said.
    """

    ok: bool
    reason: str = ""
    message: str = ""
    answer: Blob = Blob(b"null")


class ProposeMemory(Request[Proposal], frozen=True, kw_only=True):
    """Submits a pending memory to the LTM's review queue (`candidate_propose`); never writes a durable one.

    Attributes:
        content: at most 2,000 code points.
        source_ref: where it comes from, at most 512 code points.
        idempotency_key: at most 256; the same key and content return the first proposal. Empty = made of both texts.
    """

    actor = "surfacer"
    reply = Proposal

    content: str
    source_ref: str = ""
    idempotency_key: str = ""


class ClearSurfacingCache(Request[None], frozen=True, kw_only=True):
    """Forgets the in-memory search results."""

    actor = "surfacer"
