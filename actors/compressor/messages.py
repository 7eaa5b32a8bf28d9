"""Contract of the compressor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from bus.message import Blob, Reply, Request


class Cleaning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Switches of the CLEAN step; names as in the configuration file."""

    enabled: bool = True
    strip_html: bool = True
    deduplicate: bool = True
    collapse_links: bool = True


class HybridOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    head_chars: int = 5000
    tail_mode: str = "toc"
    min_toc_budget: int = 200
    min_head_chars: int = 100
    head_ratio: float = 0.6


class SelectiveOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    json_depth: int = 1
    min_section_chars: int = 50


class ProgressiveOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    chunk_size: int = 4000
    ttl_seconds: int = 1800
    include_structure_hint: bool = True


class Policy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one response is to be shortened, resolved by the gateway (tool → upstream → global → model).

    Attributes:
        strategy: one of the ten names.
        max_chars / max_tokens: the two ceilings of the first answer (characters are code points, tokens estimates).
        untouched_chars: a text up to this long is left byte-identical.
        retention_floor: share of the text wanted inline regardless of budget; 0 = off.
        keep_structured: pass `structuredContent` through even when the text was shortened.
    """

    strategy: str = "auto"
    max_chars: int = 16_000
    max_tokens: int = 4_000
    untouched_chars: int = 2_000
    retention_floor: float = 0.0
    keep_structured: bool = False
    cleaning: Cleaning = Cleaning()
    hybrid: HybridOptions = HybridOptions()
    selective: SelectiveOptions = SelectiveOptions()
    progressive: ProgressiveOptions = ProgressiveOptions()


class Compressed(Reply, frozen=True, kw_only=True):
    """What to deliver.

    Attributes:
        texts: one entry per text of the request; `None` means: deliver that text as it was.
        keep_structured: deliver `structuredContent` as it was, or leave it out.
        strategy: the path taken, e.g. `auto:schema_pruning`, `clean`, `none`.
        keys: recall keys shown in `texts`.
        original_chars / cleaned_chars / delivered_chars: code points over all texts (and the structured copy).
        original_tokens / delivered_tokens: estimates.
        stand_in: a text to deliver in place of the `structuredContent` of a response without texts.
        store_failed: the original could not be stored, so everything was delivered whole.
    """

    texts: tuple[Blob | None, ...]
    keep_structured: bool = True
    strategy: str = "none"
    keys: tuple[str, ...] = ()
    original_chars: int = 0
    cleaned_chars: int = 0
    delivered_chars: int = 0
    original_tokens: int = 0
    delivered_tokens: int = 0
    store_failed: bool = False
    stand_in: Blob | None = None


class Compress(Request[Compressed], frozen=True, kw_only=True):
    """Shortens the text blocks of one response to its budget.

    Attributes:
        texts: the text blocks in their order, UTF-8.
        structured: the JSON of `structuredContent`, which counts against the budget.
        query: what the agent is looking for, if known.
        trace_id: kept with the original, so that later reads group with this call.
        llm_seconds: time that an external model may take (`llm_summary`); 0 = none is asked.
    """

    actor = "compressor"
    reply = Compressed
    idempotent = True

    server: str
    tool: str
    texts: tuple[Blob, ...]
    structured: Blob | None = None
    policy: Policy = Policy()
    query: str = ""
    trace_id: str = ""
    llm_seconds: float = 0.0


class Page(Reply, frozen=True, kw_only=True):
    """An answer of a follow-up tool.

    Attributes:
        text: what the agent sees (footer included).
        is_error: the key is unknown or expired, or the arguments do not fit.
        is_unknown: nothing is kept under this key here; another replica may hold it in memory.
        server / tool / trace_id: of the call that the original came from.
        key_digest: SHA-256 prefix of the key, for telemetry (the key itself is a capability).
        offset / served / total: code points of the raw text; `served` excludes footers.
        is_progressive: the original was delivered by the `progressive` strategy.
    """

    text: Blob
    is_error: bool = False
    is_unknown: bool = False
    server: str = ""
    tool: str = ""
    trace_id: str = ""
    key_digest: str = ""
    offset: int = 0
    served: int = 0
    total: int = 0
    is_progressive: bool = False


class ReadMore(Request[Page], frozen=True, kw_only=True):
    """Next slice of a shortened response, or the passages that match `find`; never more than the budget."""

    actor = "compressor"
    reply = Page
    idempotent = True

    key: str
    offset: int = 0
    limit: int | None = None
    find: str = ""
    max_chars: int = 16_000
    max_tokens: int = 4_000


class SelectChunks(Request[Page], frozen=True, kw_only=True):
    """The named sections of a shortened response; never more than the budget."""

    actor = "compressor"
    reply = Page
    idempotent = True

    key: str
    sections: tuple[str, ...]
    max_chars: int = 16_000
    max_tokens: int = 4_000


class RecallStats(Reply, frozen=True, kw_only=True):
    """The recall store: entries and bytes held, on disk and in memory only (credential-bearing).

    Attributes:
        set_aside: where a damaged file was moved; several paths are separated by commas.
        key_fault: what was wrong with `recall.key` and has been put right.
    """

    entries: int = 0
    bytes: int = 0
    in_memory: int = 0
    set_aside: str = ""
    key_fault: str = ""

    @classmethod
    def together(cls, parts: Iterable[RecallStats]) -> RecallStats:
        """What several replicas hold."""
        found = list(parts)
        return cls(
            entries=sum(part.entries for part in found),
            bytes=sum(part.bytes for part in found),
            in_memory=sum(part.in_memory for part in found),
            set_aside=", ".join(part.set_aside for part in found if part.set_aside),
            key_fault=next((part.key_fault for part in found if part.key_fault), ""),
        )


class GetRecallStats(Request[RecallStats], frozen=True, kw_only=True):
    actor = "compressor"
    reply = RecallStats
    idempotent = True


class SummaryStats(Reply, frozen=True, kw_only=True):
    """What became of `llm_summary` since the start.

    Attributes:
        made / repeated: summaries that a model wrote, and that were known already.
        fell_back: reason → texts that were shortened without a model.
        resting: `model at address` whose breaker is open.
    """

    made: int = 0
    repeated: int = 0
    fell_back: dict[str, int] = {}
    resting: tuple[str, ...] = ()

    @classmethod
    def together(cls, parts: Iterable[SummaryStats]) -> SummaryStats:
        """What has become of it in several replicas."""
        found = list(parts)
        reasons: Counter[str] = Counter()
        for part in found:
            reasons.update(part.fell_back)
        return cls(
            made=sum(part.made for part in found),
            repeated=sum(part.repeated for part in found),
            fell_back=dict(reasons),
            resting=tuple(sorted({one for part in found for one in part.resting})),
        )


class GetSummaryStats(Request[SummaryStats], frozen=True, kw_only=True):
    actor = "compressor"
    reply = SummaryStats
    idempotent = True
