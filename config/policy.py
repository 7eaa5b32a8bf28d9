"""What holds for one tool of one server: tool → upstream → global → model, resolved once."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from config.models import Budget, budget_for
from config.schema import Settings
from config.schema_upstream import (
    CleaningSettings,
    HybridSettings,
    LlmSettings,
    ProgressiveSettings,
    SelectiveSettings,
    Strategy,
    ToolSettings,
    UpstreamSettings,
)
from config.session import SessionSettings

CHARS_PER_TOKEN = 4
"""Characters a token of prose stands for, where one ceiling follows from the other."""


class ToolPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the configuration says about one tool.

    Attributes:
        max_chars / max_tokens: ceilings of a response, code points and estimated tokens.
        untouched_chars: responses up to this length stay byte-identical.
        retention_floor: share of the text wanted inline whatever the budget; 0 = off.
        keep_structured: pass `structuredContent` through even when the text was shortened.
        cache: `True` cached unless it declares that it writes, `False` never, `None` as the annotation policy says.
        cache_ttl_seconds: `None` = never expires.
        max_description_chars: smallest of the upstream's, the global and the host's.
        expose_in_profiles: exposure profiles that show it; `None` = all.
        connect_timeout_seconds / call_timeout_seconds / overall_deadline_seconds: as for the upstream.
        surfacing_skip: why nothing is surfaced (`upstream_disabled`, `disabled`); empty = it is.
    """

    strategy: Strategy = "auto"
    max_chars: int = 16_000
    max_tokens: int = 4_000
    untouched_chars: int = 2_000
    retention_floor: float = 0.0
    keep_structured: bool = False
    cleaning: CleaningSettings = CleaningSettings()
    hybrid: HybridSettings = HybridSettings()
    selective: SelectiveSettings = SelectiveSettings()
    progressive: ProgressiveSettings = ProgressiveSettings()
    llm: LlmSettings = LlmSettings()
    hidden: bool = False
    description_override: str | None = None
    max_description_chars: int = 4000
    strip_schema_descriptions: bool = False
    expose_in_profiles: tuple[str, ...] | None = None
    cache: bool | None = None
    cache_ttl_seconds: float | None = 3600
    connect_timeout_seconds: float = 30
    call_timeout_seconds: float = 90
    overall_deadline_seconds: float = 180
    surfacing_skip: Literal["", "upstream_disabled", "disabled"] = ""

    @property
    def surfacing_enabled(self) -> bool:
        return not self.surfacing_skip


class InjectionPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How a memory block is shown to one client: its place, its length in code points, its number of memories."""

    mode: Literal["append", "prepend", "section"] = "append"
    max_chars: int = 3_000
    max_results: int = 3


NO_SESSION = SessionSettings()
_NO_UPSTREAM = UpstreamSettings(prefix="")
_NO_TOOL = ToolSettings()


def tool_policy(settings: Settings, server: str, tool: str, session: SessionSettings = NO_SESSION) -> ToolPolicy:
    """Resolves one tool, named as its server names it; an unknown server or tool has the global values."""
    proxy = settings.proxy
    upstream = proxy.upstream_servers.get(server, _NO_UPSTREAM)
    own = upstream.tool_overrides.get(tool, _NO_TOOL)

    def stated(key: str, otherwise: Any) -> Any:
        """The value of the narrowest level that states `key`."""
        return next((v for level in (own, upstream) if (v := getattr(level, key)) is not None), otherwise)

    chars = stated("max_result_chars", session.max_result_chars or proxy.default_max_result_chars)
    tokens = stated("max_result_tokens", session.max_result_tokens or proxy.default_max_result_tokens)
    model = proxy.consumer_model if session.consumer_model is None else session.consumer_model
    max_chars, max_tokens = _ceilings(chars, tokens, budget_for(model))
    enabled, ttl = _cached(settings, own, upstream)
    return ToolPolicy(
        strategy=stated("compression", proxy.default_compression),
        max_chars=max_chars,
        max_tokens=max_tokens,
        untouched_chars=proxy.untouched_chars,
        retention_floor=stated("retention_floor", proxy.min_result_retention),
        keep_structured=stated("structured_content", "drop") == "keep",
        cleaning=stated("cleaning", CleaningSettings()),
        hybrid=stated("hybrid", HybridSettings()),
        selective=stated("selective", SelectiveSettings()),
        progressive=stated("progressive", ProgressiveSettings()),
        llm=stated("llm", LlmSettings()),
        hidden=own.hidden,
        description_override=own.description_override,
        max_description_chars=min(
            upstream.max_description_chars,
            proxy.max_description_chars,
            proxy.host_description_cap or proxy.max_description_chars,
        ),
        strip_schema_descriptions=upstream.strip_schema_descriptions or proxy.strip_schema_descriptions,
        expose_in_profiles=stated("expose_in_profiles", None),
        cache=enabled,
        cache_ttl_seconds=ttl,
        connect_timeout_seconds=upstream.connect_timeout_seconds,
        call_timeout_seconds=upstream.call_timeout_seconds,
        overall_deadline_seconds=upstream.overall_deadline_seconds,
        surfacing_skip=_surfacing_skip(settings, upstream, session),
    )


def injection_policy(settings: Settings, session: SessionSettings = NO_SESSION) -> InjectionPolicy:
    """How memories are shown to a client: what it wants, else what is configured, else what its model takes."""
    surfacing = settings.surfacing
    wanted = (session.surfacing_model, session.consumer_model, surfacing.consumer_model, settings.proxy.consumer_model)
    budget = budget_for(next((model for model in wanted if model), ""))

    def cap(key: str, own: int | None) -> int:
        if own is not None:
            return own
        configured: int = getattr(surfacing, key)
        by_model: int = getattr(budget, key)
        return configured if f"surfacing.{key}" in settings.stated else by_model

    return InjectionPolicy(
        mode=session.injection_mode or surfacing.injection_mode,
        max_chars=cap("max_injection_chars", session.max_injection_chars),
        max_results=cap("max_results", session.max_results),
    )


def advertises_admin(settings: Settings, session: SessionSettings = NO_SESSION) -> bool:
    """Whether `stm_admin` is shown to this client."""
    own = session.advertise_observability_tools
    return settings.advertise_observability_tools if own is None else own


def advertises_formation(settings: Settings, session: SessionSettings = NO_SESSION) -> bool:
    """Whether `stm_memory_propose` is shown to this client."""
    return settings.formation.enabled if session.formation_enabled is None else session.formation_enabled


def _ceilings(chars: int | None, tokens: int | None, budget: Budget) -> tuple[int, int]:
    """Both ceilings. A configured one holds; one that only the model gives never undercuts a configured one."""
    if chars is None:
        chars = budget.max_chars if tokens is None else max(budget.max_chars, tokens * CHARS_PER_TOKEN)
    if tokens is None:
        tokens = max(budget.max_tokens, -(-chars // CHARS_PER_TOKEN))
    return chars, tokens


def _cached(settings: Settings, own: ToolSettings, upstream: UpstreamSettings) -> tuple[bool | None, float | None]:
    cache = settings.proxy.cache
    ttl = cache.default_ttl_seconds
    for level in (upstream, own):
        if level.cache_ttl_seconds is not None:
            ttl = level.cache_ttl_seconds
    wanted = upstream.cache if own.cache is None else own.cache
    return (False if not cache.enabled or ttl == 0 else wanted), ttl


def _surfacing_skip(
    settings: Settings, upstream: UpstreamSettings, session: SessionSettings
) -> Literal["", "upstream_disabled", "disabled"]:
    if not upstream.surfacing_enabled:
        return "upstream_disabled"
    enabled = settings.surfacing.enabled if session.surfacing_enabled is None else session.surfacing_enabled
    return "" if enabled else "disabled"
