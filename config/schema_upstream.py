"""Keys of one upstream server and of its tools.

`None` in a key that a wider level also has (compression, budgets, cleaning, …) means: not stated here.
`config.policy` resolves tool → upstream → global → model.
"""

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
from config.schema_tls import TlsSettings

Strategy = Literal[
    "auto",
    "none",
    "truncate",
    "extract_fields",
    "schema_pruning",
    "skeleton",
    "hybrid",
    "selective",
    "progressive",
    "llm_summary",
]
Transport = Literal["stdio", "sse", "streamable_http"]
TokenMode = Literal["static", "unicode"]


class CleaningSettings(Block, frozen=True, kw_only=True):
    """Switches of the CLEAN step."""

    enabled: Annotated[bool, doc("Clean at all.")] = True
    strip_html: Annotated[bool, doc("Turn HTML into Markdown.")] = True
    deduplicate: Annotated[bool, doc("Replace repeated paragraphs and lines by a count.")] = True
    collapse_links: Annotated[bool, doc("Shorten floods of links.")] = True


class HybridSettings(Block, frozen=True, kw_only=True):
    """Strategy `hybrid`: a head and a table of contents of the rest."""

    head_chars: Annotated[Positive, doc("Characters of the head.")] = 5000
    tail_mode: Annotated[Literal["toc", "truncate"], doc("What stands for the rest.")] = "toc"
    min_toc_budget: Annotated[NotNegative, doc("Characters kept for the table of contents at least.")] = 200
    min_head_chars: Annotated[NotNegative, doc("Characters of the head at least.")] = 100
    head_ratio: Annotated[Share, doc("Share of the budget for the head when it is tight.")] = 0.6


class SelectiveSettings(Block, frozen=True, kw_only=True):
    """Strategy `selective`: a table of contents only."""

    json_depth: Annotated[Positive, doc("Levels of JSON keys in the table of contents.")] = 1
    min_section_chars: Annotated[NotNegative, doc("Smaller sections join their neighbour.")] = 50
    max_pending: Annotated[Positive, doc("Originals kept; one store serves all.", effect=False)] = 100
    pending_ttl_seconds: Annotated[Seconds, doc("Originals are kept 1800 s.", effect=False)] = 300
    pending_store: Annotated[
        Literal["memory", "sqlite"], doc("Originals are in bus/, whatever the strategy.", effect=False)
    ] = "memory"
    pending_store_path: Annotated[str, doc("Originals are in bus/, whatever the strategy.", effect=False)] = ""


class ProgressiveSettings(Block, frozen=True, kw_only=True):
    """Strategy `progressive`: slices by `stm_proxy_read_more`."""

    chunk_size: Annotated[Positive, doc("Characters of a slice.")] = 4000
    max_stored: Annotated[Positive, doc("Originals kept; one store serves all.", effect=False)] = 200
    ttl_seconds: Annotated[Positive, doc("Life of an original since its last use.")] = 1800
    include_structure_hint: Annotated[bool, doc("Name the remaining sections in the footer.")] = True


class LlmSettings(Block, frozen=True, kw_only=True):
    """Strategy `llm_summary`: an external model."""

    provider: Annotated[Literal["openai", "anthropic", "ollama"], doc("Whose API.")] = "openai"
    model: Annotated[str, doc("Model name.")] = "gpt-4.1-mini"
    api_key: Annotated[str | None, doc("Key; unset = the provider's own environment variable.")] = None
    base_url: Annotated[str | None, doc("Address of the API, if not the provider's.")] = None
    system_prompt: Annotated[str | None, doc("Instruction to the model, if not ours.")] = None
    max_tokens: Annotated[Positive, doc("Tokens of the summary at most.")] = 500
    llm_timeout_seconds: Annotated[Seconds, doc("Wait for the model, seconds.")] = 60
    privacy_scan_enabled: Annotated[bool, doc("Never send text that carries credentials.", on_error=True)] = True


class ResponseSettings(Block, frozen=True, kw_only=True):
    """Keys that an upstream and each of its tools may state."""

    compression: Annotated[Strategy | None, doc("Strategy; absent = the next wider level.")] = None
    max_result_chars: Annotated[Positive | None, doc("Budget of a response, characters.")] = None
    max_result_tokens: Annotated[Positive | None, doc("Budget of a response, estimated tokens.")] = None
    chars_per_token: Annotated[PositiveNumber | None, doc("Estimates follow the script.", effect=False)] = None
    token_estimation_mode: Annotated[TokenMode | None, doc("Estimates follow the script.", effect=False)] = None
    retention_floor: Annotated[Share | None, doc("Share of the text wanted inline whatever the budget.")] = None
    structured_content: Annotated[
        Literal["drop", "keep"] | None,
        doc("What becomes of `structuredContent` when its text was shortened."),
    ] = None
    llm: Annotated[LlmSettings | None, doc("Strategy llm_summary.")] = None
    selective: Annotated[SelectiveSettings | None, doc("Strategy selective.")] = None
    hybrid: Annotated[HybridSettings | None, doc("Strategy hybrid.")] = None
    progressive: Annotated[ProgressiveSettings | None, doc("Strategy progressive.")] = None
    cleaning: Annotated[CleaningSettings | None, doc("The CLEAN step.")] = None
    cache: Annotated[bool | None, doc("Force responses into the cache, or keep them out.", on_error=False)] = None
    cache_ttl_seconds: Annotated[SecondsOrOff | None, doc("Life of a cached response, seconds; 0 = off.")] = None
    expose_in_profiles: Annotated[
        tuple[str, ...] | None, doc("Exposure profiles that show it; unset = all.", on_error=())
    ] = None
    auto_index: Annotated[Any, doc("The LTM is another process; nothing is indexed here.", effect=False)] = None
    extraction: Annotated[Any, doc("Facts are not extracted; stm_memory_propose takes them.", effect=False)] = None


class ToolSettings(ResponseSettings, frozen=True, kw_only=True):
    """Keys of `tool_overrides.TOOL`."""

    hidden: Annotated[bool, doc("Withhold the tool.", on_error=True)] = False
    description_override: Annotated[str | None, doc("Description shown instead of the server's.")] = None


class UpstreamSettings(ResponseSettings, frozen=True, kw_only=True):
    """Keys of `upstream_servers.NAME`."""

    enabled: Annotated[bool, doc("Start the server and show its tools.", on_error=False)] = True
    prefix: Annotated[str, doc("Leading part of its tool names; empty with a single upstream only.")]
    transport: Annotated[Transport, doc("stdio, sse or streamable_http.")] = "stdio"
    command: Annotated[str, doc("Program (stdio).")] = ""
    args: Annotated[tuple[str, ...], doc("Its arguments (stdio).")] = ()
    env: Annotated[dict[str, str] | None, doc("Variables added to the minimal environment (stdio).")] = None
    cwd: Annotated[str | None, doc("Working directory (stdio); unset = the home directory.")] = None
    url: Annotated[str, doc("Address (sse, streamable_http).")] = ""
    headers: Annotated[dict[str, str] | None, doc("HTTP headers; values may be ${VAR}.")] = None
    tls: Annotated[TlsSettings | None, doc("TLS (sse, streamable_http); unset = as the system has it.")] = None
    session: Annotated[
        Literal["shared", "dedicated"],
        doc("One session for all clients, or one each (stateful servers, and those that ask their client)."),
    ] = "shared"
    tool_overrides: Annotated[dict[str, ToolSettings], doc("Keys per tool, by the server's own tool name.")] = (
        msgspec.field(default_factory=dict)
    )
    surfacing_enabled: Annotated[bool, doc("Surface memories beside its responses.", on_error=False)] = True
    max_retries: Annotated[NotNegative, doc("Repeats of a read after a lost connection; writes never.")] = 3
    reconnect_delay_seconds: Annotated[SecondsOrOff, doc("First wait before reconnecting; doubles.")] = 1
    max_reconnect_delay_seconds: Annotated[SecondsOrOff, doc("Longest wait before reconnecting.")] = 30
    connect_timeout_seconds: Annotated[Seconds, doc("Start, initialise and list tools, together.")] = 30
    call_timeout_seconds: Annotated[Seconds, doc("One attempt of a call.")] = 90
    overall_deadline_seconds: Annotated[Seconds, doc("All attempts of a call.")] = 180
    circuit_max_failures: Annotated[NotNegative, doc("Failed calls in a row that open the breaker; 0 = none.")] = 3
    circuit_reset_seconds: Annotated[Seconds, doc("Wait before an open breaker lets a probe through.")] = 60
    max_description_chars: Annotated[DescriptionChars, doc("Length of an advertised description.")] = 4000
    strip_schema_descriptions: Annotated[bool, doc("Leave descriptions out of input schemas.")] = False
    origin: Annotated[dict[str, Any] | None, doc("Where `mms import` found the entry.")] = None
