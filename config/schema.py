"""Every settings key, its type, its default, its scope and one line on what it means.

The blocks live in `schema_proxy`, `schema_upstream` and `schema_surfacing`; the small ones are here. Names are
those of the configuration file; `MEMTOMEM_STM_<SECTION>__<FIELD>` is the same name in capitals.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from config.fields import Block, NotNegative, Positive, PositiveNumber, Seconds, SecondsOrOff, Share, doc
from config.schema_proxy import ProxySettings
from config.schema_surfacing import SurfacingSettings


class HookCompressionSettings(Block, frozen=True, kw_only=True):
    """Replacing long output of the host's shell tool, where the host can (Claude Code)."""

    enabled: Annotated[bool, doc("Replace long shell output; the rest stays readable through the gateway.")] = False
    max_chars: Annotated[Positive, doc("Longer output is replaced, by at most so many characters.")] = 16_000
    min_retention: Annotated[Share, doc("Share of the output wanted inline whatever the length; 0 = off.")] = 0.0


class HookSettings(Block, frozen=True, kw_only=True):
    """`mms hook`: memories beside the host's own tools."""

    use_daemon: Annotated[bool, doc("The cluster always serves.", effect=False)] = True
    daemon_timeout_seconds: Annotated[Seconds, doc("All the time one hook takes, seconds.")] = 2.5
    fallback: Annotated[Literal["skip", "cold"], doc("Without a cluster the hook says nothing.", effect=False)] = "skip"
    auto_spawn: Annotated[bool, doc("Start a cluster when none runs.")] = True
    record_feedback_events: Annotated[bool, doc("Hook events are recorded like all others.", effect=False)] = False
    compression: Annotated[HookCompressionSettings, doc("Replacing output.")] = HookCompressionSettings()
    metrics_enabled: Annotated[bool, doc("Hook events are recorded like all others.", effect=False)] = True
    surface_tools: Annotated[tuple[str, ...], doc("Host tools that get memories; patterns.")] = (
        "Read",
        "Grep",
        "Glob",
        "Bash",
    )


class DaemonSettings(Block, frozen=True, kw_only=True):
    """The daemon of memtomem-stm; `bus` stands in its place."""

    host: Annotated[str, doc("There is no daemon; actors have sockets of the user's own.", effect=False)] = "127.0.0.1"
    allow_non_loopback: Annotated[
        bool, doc("There is no daemon; actors have sockets of the user's own.", effect=False)
    ] = False
    idle_timeout_seconds: Annotated[SecondsOrOff, doc("bus.idle_exit_seconds serves.", effect=False)] = 900
    max_pending_requests: Annotated[Positive, doc("There is no daemon; every mailbox has its bound.", effect=False)] = (
        32
    )
    max_concurrent_ltm_ops: Annotated[
        Positive, doc("There is no daemon; the surfacer bounds its requests.", effect=False)
    ] = 4


class FormationSettings(Block, frozen=True, kw_only=True):
    """Proposing memories."""

    enabled: Annotated[bool, doc("Advertise stm_memory_propose.", scope="session")] = False
    max_content_chars: Annotated[Annotated[int, Meta(gt=0, le=2000)], doc("Length of a proposal, 2000 at most.")] = 2000


class LangfuseSettings(Block, frozen=True, kw_only=True):
    """Traces to Langfuse, with the queue and the times of `otlp`; needs the extra `langfuse`."""

    enabled: Annotated[bool, doc("Send traces.", on_error=False)] = False
    public_key: Annotated[str, doc("Public key; empty = LANGFUSE_PUBLIC_KEY.")] = ""
    secret_key: Annotated[str, doc("Secret key; empty = LANGFUSE_SECRET_KEY.")] = ""
    host: Annotated[str, doc("Address; empty = LANGFUSE_BASE_URL, else https://cloud.langfuse.com.")] = ""
    sampling_rate: Annotated[Share, doc("Share of traces sent, decided by trace id.", on_error=0.0)] = 1.0


class OtlpSettings(Block, frozen=True, kw_only=True):
    """Traces to an OpenTelemetry collector, by OTLP over HTTP; needs the extra `otel`."""

    enabled: Annotated[bool, doc("Send traces.", on_error=False)] = False
    endpoint: Annotated[
        str, doc("Address, /v1/traces is added; empty = OTEL_EXPORTER_OTLP_ENDPOINT, else http://localhost:4318.")
    ] = ""
    headers: Annotated[dict[str, str], doc("HTTP headers, beside OTEL_EXPORTER_OTLP_HEADERS; may be ${VAR}.")] = (
        msgspec.field(default_factory=dict)
    )
    timeout_seconds: Annotated[Seconds, doc("One request with its repeats, seconds.")] = 10
    sampling_rate: Annotated[Share, doc("Share of traces sent, decided by trace id.", on_error=0.0)] = 1.0
    max_queue_size: Annotated[Positive, doc("Spans that wait; more are dropped and counted.")] = 2048
    max_export_batch_size: Annotated[Positive, doc("Spans a request.")] = 512
    schedule_delay_ms: Annotated[Positive, doc("Wait between requests, ms.")] = 5000
    flush_timeout_seconds: Annotated[Seconds, doc("Wait for the last spans at stop, 1 s at most.")] = 1


class BusSettings(Block, frozen=True, kw_only=True):
    """The cluster."""

    idle_exit_seconds: Annotated[
        SecondsOrOff, doc("A background cluster ends this long after its last user; 0 = never.")
    ] = 900
    compressor_replicas: Annotated[
        Annotated[int, Meta(ge=1, le=16)],
        doc("Compressor processes, 16 at most; from the next start of the cluster on."),
    ] = 1


class TelemetrySettings(Block, frozen=True, kw_only=True):
    """The event log and the analytics store."""

    retention_days: Annotated[NotNegative, doc("Days events are kept; 0 = for ever.")] = 90
    price_per_million_tokens: Annotated[PositiveNumber, doc("What `mms stats` counts a saved token at, dollars.")] = 3.0


class Settings(Block, frozen=True, kw_only=True):
    """Everything. `proxy` is the root of the file, the other blocks stand in it by their names.

    Attributes:
        stated: key paths (`surfacing.max_results`) that the file or the environment states. Some keys follow the
            consumer's model when they are not stated.
    """

    proxy: Annotated[ProxySettings, doc("Root of the file.")] = ProxySettings()
    surfacing: Annotated[SurfacingSettings, doc("Proactive surfacing.")] = SurfacingSettings()
    hook: Annotated[HookSettings, doc("`mms hook`.")] = HookSettings()
    daemon: Annotated[DaemonSettings, doc("The daemon of memtomem-stm.")] = DaemonSettings()
    formation: Annotated[FormationSettings, doc("Proposing memories.")] = FormationSettings()
    langfuse: Annotated[LangfuseSettings, doc("Traces to Langfuse.")] = LangfuseSettings()
    otlp: Annotated[OtlpSettings, doc("Traces to OpenTelemetry.")] = OtlpSettings()
    bus: Annotated[BusSettings, doc("The cluster.")] = BusSettings()
    telemetry: Annotated[TelemetrySettings, doc("Events and analytics.")] = TelemetrySettings()
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
        doc("The least that actors and gateways write to their logs."),
    ] = "INFO"
    log_file: Annotated[str | None, doc("Each actor logs to bus/logs.", effect=False)] = None
    log_exception_text: Annotated[bool, doc("Texts of foreign exceptions are never logged.", effect=False)] = False
    log_dependencies: Annotated[bool, doc("Libraries do not write to our logs.", effect=False)] = False
    data_dir: Annotated[str, doc("MEMTOMEM_STM_HOME, an environment variable, says it.", effect=False)] = ""
    teardown_watchdog_seconds: Annotated[SecondsOrOff, doc("The supervisor bounds each stop.", effect=False)] = 60
    parent_liveness_poll_seconds: Annotated[SecondsOrOff, doc("Parents are always watched.", effect=False)] = 0
    parent_liveness_grace_seconds: Annotated[SecondsOrOff, doc("Parents are always watched.", effect=False)] = 900
    advertise_observability_tools: Annotated[bool, doc("Advertise stm_admin.", scope="session")] = False
    stated: frozenset[str] = frozenset()


SECTIONS = ("surfacing", "hook", "daemon", "formation", "langfuse", "otlp", "bus", "telemetry")
"""Blocks that stand in the file beside the proxy's keys."""

ROOT_FLAGS = tuple(name for name in Settings.__struct_fields__ if name not in (*SECTIONS, "proxy", "stated"))
"""Keys that belong to no block (`MEMTOMEM_STM_LOG_LEVEL`); in the file they stand at the root."""
