"""Keys at the root of the configuration file: the proxy and its parts (`MEMTOMEM_STM_PROXY__…`)."""

from typing import Annotated, Any, Literal

import msgspec

from config.fields import (
    Block,
    DescriptionChars,
    NotNegative,
    Positive,
    PositiveNumber,
    Seconds,
    SecondsOrOff,
    Share,
    doc,
)
from config.schema_upstream import Strategy, TokenMode, UpstreamSettings


class RelevanceScorerSettings(Block, frozen=True, kw_only=True):
    """How sections of a response are ranked against the query."""

    scorer: Annotated[Literal["bm25", "embedding"], doc("Ranking is by BM25 always.", effect=False)] = "bm25"
    embedding_provider: Annotated[str, doc("Ranking is by BM25, without embeddings.", effect=False)] = "ollama"
    embedding_model: Annotated[str, doc("Ranking is by BM25, without embeddings.", effect=False)] = "nomic-embed-text"
    embedding_base_url: Annotated[str | None, doc("Ranking is by BM25, without embeddings.", effect=False)] = None
    embedding_timeout: Annotated[Seconds, doc("Ranking is by BM25, without embeddings.", effect=False)] = 10
    embedding_cache_size: Annotated[Positive, doc("Ranking is by BM25, without embeddings.", effect=False)] = 256


class CacheSettings(Block, frozen=True, kw_only=True):
    """Response cache of the upstream pool."""

    enabled: Annotated[bool, doc("Keep responses.", on_error=False)] = True
    db_path: Annotated[str, doc("Database file; ours lies in bus/.", effect=False)] = ""
    default_ttl_seconds: Annotated[SecondsOrOff | None, doc("Life, seconds; null = for ever, 0 = off.")] = 3600
    max_entries: Annotated[Positive, doc("Responses kept.")] = 10_000
    max_bytes: Annotated[Positive, doc("Bytes kept.")] = 268_435_456
    tool_annotation_policy: Annotated[
        Literal["strict", "conservative", "ignore"],
        doc("Which tools are cached: declared readers, all but declared writers, or all.", on_error="strict"),
    ] = "strict"


class MetricsSettings(Block, frozen=True, kw_only=True):
    """Metrics database of memtomem-stm; `telemetry` stands in its place."""

    enabled: Annotated[bool, doc("Calls are always counted; see telemetry.", effect=False)] = True
    db_path: Annotated[str, doc("Counts are in bus/analytics.duckdb.", effect=False)] = ""
    max_history: Annotated[Positive, doc("telemetry.retention_days bounds what is kept.", effect=False)] = 10_000


class FeedbackStoreSettings(Block, frozen=True, kw_only=True):
    """A kind of record: whether it is taken and how long it is kept."""

    enabled: Annotated[bool, doc("Record.", on_error=False)] = True
    db_path: Annotated[str, doc("Database file; ours lies in bus/.", effect=False)] = ""
    retention_days: Annotated[NotNegative, doc("Days kept; 0 = for ever.")] = 90


class SelectionTelemetrySettings(Block, frozen=True, kw_only=True):
    """Opt-in log of which tool was selected among which."""

    enabled: Annotated[bool, doc("Write the log.", on_error=False)] = False
    path: Annotated[str, doc("Log file; empty = bus/selection_log.jsonl.")] = ""
    sample_rate: Annotated[Share, doc("Share of calls written.")] = 1.0
    max_bytes: Annotated[Positive, doc("Bytes before the log is rotated.")] = 50_000_000
    max_backups: Annotated[NotNegative, doc("Rotated logs kept.")] = 3


class ToolRelevanceSettings(Block, frozen=True, kw_only=True):
    """Ranking of candidates in the selection log."""

    enabled: Annotated[bool, doc("Rank.")] = True
    top_n: Annotated[Positive, doc("Candidates written with their features.")] = 20


class ExposureSettings(Block, frozen=True, kw_only=True):
    """Which discovered tools are advertised."""

    profile: Annotated[
        Literal["strict", "review", "explore"],
        doc(
            "Unhealthy tools and those that a tool-graph rejects: strict withholds, review demotes, explore ignores.",
            on_error="strict",
        ),
    ] = "strict"
    health_window_hours: Annotated[PositiveNumber, doc("Window of the error rate, hours.")] = 24
    health_min_calls: Annotated[Positive, doc("Calls before the error rate counts.")] = 5
    health_error_rate_threshold: Annotated[Share, doc("Error rate that makes a tool unhealthy.")] = 0.95
    review_risk_penalty: Annotated[Share, doc("Share of its rank that a demoted tool loses (profile review).")] = 0.5


OnFailure = Literal["open", "closed", "fail_start"]
"""What becomes of the tools when a provider does not judge them: they are shown; they are withheld; or they are
withheld until it has answered for the first time, and its last answer holds from then on."""


class ToolgraphSettings(Block, frozen=True, kw_only=True):
    """Optional external provider of tool eligibility: an MCP server on stdio with the tool `eligible_tools`."""

    enabled: Annotated[bool, doc("Ask the provider which tools may be shown.")] = False
    source: Annotated[Literal["stdio", "bundle"], doc("stdio; bundle files are not read and count as no answer.")] = (
        "stdio"
    )
    bundle_path: Annotated[str | None, doc("Bundle files are not read.", effect=False)] = None
    command: Annotated[str, doc("Program of the provider.")] = "toolgraph"
    args: Annotated[tuple[str, ...], doc("Its arguments.")] = ("serve",)
    env: Annotated[dict[str, str] | None, doc("Its variables.")] = None
    agent_id: Annotated[str, doc("Who asks.")] = "stm-proxy"
    server_name_map: Annotated[dict[str, str], doc("Our server name → the provider's.")] = msgspec.field(
        default_factory=dict
    )
    query_profile: Annotated[str, doc("Profile asked for.")] = "strict"
    on_unreachable: Annotated[
        OnFailure, doc("The provider cannot be started or is silent: open, closed or fail_start.", on_error="closed")
    ] = "open"
    on_agent_not_found: Annotated[
        OnFailure, doc("The provider does not know agent_id: open, closed or fail_start.", on_error="closed")
    ] = "fail_start"
    on_protocol_error: Annotated[
        OnFailure, doc("The provider's answer is none: open, closed or fail_start.", on_error="closed")
    ] = "fail_start"
    on_tool_not_found: Annotated[
        Literal["open", "closed"], doc("The provider does not know a tool: open or closed.", on_error="closed")
    ] = "open"
    risk_penalty_scale: Annotated[PositiveNumber, doc("Providers are asked for no risks.", effect=False)] = 1.0
    timeout_seconds: Annotated[Seconds, doc("Wait for an answer, the first handshake included, seconds.")] = 5
    consult_cache_enabled: Annotated[bool, doc("Keep answers for the next start.")] = True
    consult_cache_path: Annotated[str | None, doc("Database file; ours lies in bus/.", effect=False)] = None
    consult_cache_max_scopes: Annotated[Positive, doc("Answers kept, one per provider, agent and profile.")] = 64


class ProxySettings(Block, frozen=True, kw_only=True):
    """The root of the file."""

    enabled: Annotated[bool, doc("Advertise upstream tools; absent = true when there are any.", on_error=True)] = False
    config_path: Annotated[
        str, doc("A file cannot say where it is; --config and the environment do.", effect=False)
    ] = ""
    upstream_servers: Annotated[dict[str, UpstreamSettings], doc("MCP servers by name.")] = msgspec.field(
        default_factory=dict
    )
    default_compression: Annotated[Strategy, doc("Strategy where none is stated.")] = "auto"
    default_max_result_chars: Annotated[
        Positive | None, doc("Budget of a response, characters; unset = by model, 16000.", scope="session")
    ] = None
    default_max_result_tokens: Annotated[
        Positive | None,
        doc("Budget of a response, estimated tokens; unset = by model, 4000.", scope="session"),
    ] = None
    untouched_chars: Annotated[NotNegative, doc("Responses up to this length stay byte-identical.")] = 2000
    max_upstream_chars: Annotated[Positive, doc("max_upstream_bytes guards.", effect=False)] = 10_000_000
    max_upstream_bytes: Annotated[Positive, doc("Larger upstream messages are refused, bytes.")] = 41_943_040
    min_result_retention: Annotated[Share, doc("Share of the text wanted inline whatever the budget; 0 = off.")] = 0.0
    consumer_model: Annotated[str, doc("Model that reads the responses; sets unset budgets.", scope="session")] = ""
    context_budget_ratio: Annotated[Share, doc("Budgets follow a table of windows.", effect=False)] = 0.05
    chars_per_token: Annotated[PositiveNumber, doc("Estimates follow the script of a text.", effect=False)] = 3.5
    token_estimation_mode: Annotated[TokenMode, doc("Estimates follow the script of a text.", effect=False)] = "static"  # noqa: S105
    max_description_chars: Annotated[DescriptionChars, doc("Length of an advertised description.")] = 4000
    host_description_cap: Annotated[DescriptionChars | None, doc("What the host cuts descriptions to.")] = None
    strip_schema_descriptions: Annotated[bool, doc("Leave descriptions out of input schemas.")] = False
    recover_upstream_description: Annotated[bool, doc("Let describe_tool show the text an override replaced.")] = False
    advertise_context_query: Annotated[bool, doc("Add `_context_query` to proxied schemas.")] = False
    max_instruction_chars: Annotated[NotNegative, doc("Upstream instructions passed on; 0 = ours only.")] = 2000
    lock_timeout_seconds: Annotated[Seconds, doc("No call waits for a lock here.", effect=False)] = 30
    relevance_scorer: Annotated[RelevanceScorerSettings, doc("Ranking by query.")] = RelevanceScorerSettings()
    cache: Annotated[CacheSettings, doc("Response cache.")] = CacheSettings()
    metrics: Annotated[MetricsSettings, doc("Metrics database.")] = MetricsSettings()
    compression_feedback: Annotated[FeedbackStoreSettings, doc("Compression reports.")] = FeedbackStoreSettings()
    progressive_reads: Annotated[FeedbackStoreSettings, doc("Follow-up reads.")] = FeedbackStoreSettings()
    selection_telemetry: Annotated[SelectionTelemetrySettings, doc("Selection log.")] = SelectionTelemetrySettings()
    tool_relevance: Annotated[ToolRelevanceSettings, doc("Candidate ranking.")] = ToolRelevanceSettings()
    exposure: Annotated[ExposureSettings, doc("Exposure filter.")] = ExposureSettings()
    toolgraph: Annotated[ToolgraphSettings, doc("Tool-graph provider.")] = ToolgraphSettings()
    auto_index: Annotated[Any, doc("The LTM is another process; nothing is indexed here.", effect=False)] = None
    extraction: Annotated[Any, doc("Facts are not extracted; stm_memory_propose takes them.", effect=False)] = None
