"""Keys of proactive surfacing (`surfacing`, `MEMTOMEM_STM_SURFACING__…`)."""

from typing import Annotated, Literal

import msgspec

from config.fields import Block, Days, NotNegative, Positive, Seconds, SecondsOrOff, Share, doc
from config.schema_upstream import Transport

RANK_SCALE_CEILING = 0.06
"""Smaller thresholds were meant for the rank scale of memtomem-stm and mean nothing on ours."""


class ContextToolSettings(Block, frozen=True, kw_only=True):
    """Keys of `context_tools.TOOL`."""

    enabled: Annotated[bool, doc("Surface for this tool.", on_error=False)] = True
    query_template: Annotated[str | None, doc("Query with {tool_name}, {server}, {arg.NAME}.")] = None
    namespace: Annotated[str | None, doc("LTM namespace.")] = None
    min_score: Annotated[Share | None, doc("Pinned relevance threshold; never tuned.")] = None
    max_results: Annotated[Positive | None, doc("Memories at most.")] = None


class SurfacingSettings(Block, frozen=True, kw_only=True):
    """When memories are looked for, where, and how they are shown."""

    enabled: Annotated[bool, doc("Surface at all.", scope="session", on_error=False)] = True
    use_daemon: Annotated[bool, doc("The cluster always serves.", effect=False)] = False
    warmup_enabled: Annotated[bool, doc("Connect to the LTM at start.")] = True
    feedback_db_path: Annotated[str, doc("Database file; ours lies in bus/.", effect=False)] = ""
    ltm_mcp_transport: Annotated[Transport, doc("How the LTM is reached.")] = "stdio"
    ltm_mcp_command: Annotated[str, doc("Its program; not installed = the embedded LTM.")] = "memtomem-server"
    ltm_mcp_args: Annotated[tuple[str, ...], doc("Its arguments.")] = ()
    ltm_mcp_url: Annotated[str, doc("Its address (sse, streamable_http).")] = ""
    ltm_mcp_headers: Annotated[dict[str, str] | None, doc("Its HTTP headers; ${VAR} as for an upstream.")] = None
    min_score: Annotated[Share, doc("Relevance a memory needs, 0 to 1.")] = 0.35
    max_results: Annotated[Positive, doc("Memories at most; unset = by model, 3.", scope="session")] = 3
    min_query_tokens: Annotated[Positive, doc("Tokens that make a query usable.")] = 3
    cooldown_seconds: Annotated[SecondsOrOff, doc("The same query again waits this long.")] = 5
    timeout_seconds: Annotated[Seconds, doc("A response waits for memories at most this long.")] = 3.0
    search_wait_seconds: Annotated[
        SecondsOrOff,
        doc("A response waits this long for an unasked search, up to 0.5 s where the LTM is usually slower; 0 = not."),
    ] = 0.05
    injection_mode: Annotated[
        Literal["append", "prepend", "section"], doc("Where the memory block stands.", scope="session")
    ] = "append"
    section_header: Annotated[str, doc("Heading of the memory block.")] = "## Relevant Memories"
    default_namespace: Annotated[str | None, doc("LTM namespace.")] = None
    exclude_tools: Annotated[tuple[str, ...], doc("Patterns of tools without surfacing.")] = ()
    write_tool_patterns: Annotated[tuple[str, ...], doc("Patterns of tools that write.")] = (
        "*write*",
        "*create*",
        "*delete*",
        "*push*",
        "*send*",
        "*remove*",
    )
    context_tools: Annotated[dict[str, ContextToolSettings], doc("Keys per tool.")] = msgspec.field(
        default_factory=dict
    )
    feedback_enabled: Annotated[bool, doc("Ask for ratings.")] = True
    feedback_demotion_enabled: Annotated[bool, doc("Stop showing memories that were rated negative.")] = True
    feedback_demotion_negative_threshold: Annotated[Positive, doc("Negative ratings in different events.")] = 3
    max_surfacings_per_minute: Annotated[Positive, doc("Searches a minute per client.")] = 15
    cache_ttl_seconds: Annotated[SecondsOrOff, doc("Life of cached search results; 0 = off.")] = 60
    circuit_max_failures: Annotated[Positive, doc("Failures in a row that open the breaker.")] = 3
    circuit_reset_seconds: Annotated[Seconds, doc("Wait before an open breaker lets a probe through.")] = 60
    auto_tune_enabled: Annotated[bool, doc("Let ratings move thresholds.")] = True
    auto_tune_min_samples: Annotated[Positive, doc("Ratings before a threshold moves.")] = 20
    auto_tune_score_increment: Annotated[Share, doc("One step.")] = 0.02
    auto_tune_score_ceiling: Annotated[Share, doc("Highest tuned threshold.")] = 0.90
    auto_tune_score_floor: Annotated[Share, doc("Lowest tuned threshold.")] = 0.10
    min_response_chars: Annotated[NotNegative, doc("Shorter responses get no memories.")] = 5000
    include_session_context: Annotated[bool, doc("Use the LTM's scratch entries.")] = True
    fire_webhook: Annotated[bool, doc("No webhooks are called.", effect=False)] = True
    max_injection_chars: Annotated[
        Positive, doc("Length of the memory block; unset = by model, 3000.", scope="session")
    ] = 3000
    context_window_size: Annotated[NotNegative, doc("Neighbouring chunks asked from the LTM.")] = 0
    result_content_max_chars: Annotated[Positive, doc("Characters of a memory taken from the LTM.")] = 500
    preview_max_chars: Annotated[Positive, doc("Characters of a memory shown.")] = 300
    dedup_ttl_seconds: Annotated[SecondsOrOff, doc("A memory is not shown again within; 0 = off.")] = 604_800
    query_retention_days: Annotated[Days, doc("Days query text is kept; 0 = for ever.")] = 30
    stats_retention_days: Annotated[Days, doc("Days statistics are kept; 0 = for ever.")] = 90
    persist_query_text: Annotated[bool, doc("Store query text; false = digests.", on_error=False)] = True
    opportunities_enabled: Annotated[bool, doc("Record how each call ended.", on_error=False)] = True
    opportunities_sample_rate: Annotated[Share, doc("Share of calls recorded.")] = 1.0
    holdout_rate: Annotated[Share, doc("Share withheld on the hook path to measure the effect, 0.5 at most.")] = 0.0
    consumer_model: Annotated[
        str, doc("Model that reads the memories; empty = the proxy's consumer_model.", scope="session")
    ] = ""
    result_format: Annotated[Literal["structured", "compact"], doc("Form asked from the LTM.")] = "structured"
    rerank: Annotated[bool | Literal["none"], doc("Let the LTM rerank.")] = False
    scale_gated_min_score: Annotated[bool, doc("Relevance has one scale here.", effect=False)] = True
