"""What one client wants for itself: the session-scoped settings in its own environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from config.environment import overrides
from config.load import interpret
from config.problems import Problem


class SessionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Overrides of one client; `None` = what the cluster's configuration says.

    Attributes:
        consumer_model / surfacing_model: the model that reads responses / memories.
        max_result_chars / max_result_tokens: stand for the global budgets (`default_max_result_…`).
        problems: values of session-scoped variables that could not be used.
    """

    consumer_model: str | None = None
    surfacing_model: str | None = None
    max_result_chars: int | None = None
    max_result_tokens: int | None = None
    surfacing_enabled: bool | None = None
    injection_mode: Literal["append", "prepend", "section"] | None = None
    max_injection_chars: int | None = None
    max_results: int | None = None
    advertise_observability_tools: bool | None = None
    formation_enabled: bool | None = None
    problems: tuple[Problem, ...] = ()

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> SessionSettings:
        """The session-scoped variables of a client; all others are for `config.environment.differing`."""
        own = {o.variable: env[o.variable] for o in overrides(env, {})[0] if o.scope == "session"}
        loaded = interpret({}, own, Path("the environment"))
        settings = loaded.settings
        values = {
            "consumer_model": ("consumer_model", settings.proxy.consumer_model),
            "surfacing_model": ("surfacing.consumer_model", settings.surfacing.consumer_model),
            "max_result_chars": ("default_max_result_chars", settings.proxy.default_max_result_chars),
            "max_result_tokens": ("default_max_result_tokens", settings.proxy.default_max_result_tokens),
            "surfacing_enabled": ("surfacing.enabled", settings.surfacing.enabled),
            "injection_mode": ("surfacing.injection_mode", settings.surfacing.injection_mode),
            "max_injection_chars": ("surfacing.max_injection_chars", settings.surfacing.max_injection_chars),
            "max_results": ("surfacing.max_results", settings.surfacing.max_results),
            "advertise_observability_tools": (
                "advertise_observability_tools",
                settings.advertise_observability_tools,
            ),
            "formation_enabled": ("formation.enabled", settings.formation.enabled),
        }
        wanted: dict[str, Any] = {name: v for name, (key, v) in values.items() if key in settings.stated}
        return cls(**wanted, problems=loaded.problems)
