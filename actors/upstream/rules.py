"""What the configuration, a tool's own record and a tool-graph provider say about advertising it. Pure."""

from __future__ import annotations

from actors.upstream.exposure import Rules, Signal
from actors.upstream.tool_health import ToolHealth
from actors.upstream.toolgraph import Ruling
from config.policy import tool_policy
from config.schema import Settings


def rules_of(settings: Settings, health: ToolHealth, ruling: Ruling | None, server: str, tool: str) -> Rules:
    """The rules for one tool, named as its server names it.

    Args:
        ruling: what the tool-graph provider has against it.
    """
    policy, exposure = tool_policy(settings, server, tool), settings.proxy.exposure
    shown_in = policy.expose_in_profiles
    signal = _signal(health, ruling, server, tool)
    withholds = signal is not None and (exposure.profile == "strict" or (ruling is not None and ruling.firm))
    demotes = signal is not None and exposure.profile == "review"
    return Rules(
        hidden=policy.hidden,
        keeps_structure=policy.strategy == "none" or policy.keep_structured,
        description=policy.description_override,
        max_description=policy.max_description_chars,
        excluded_by="" if shown_in is None or exposure.profile in shown_in else exposure.profile,
        withheld_for=signal if withholds else None,
        demoted_for=signal.reason if demotes and signal is not None else "",
        penalty=exposure.review_risk_penalty if demotes else 0.0,
        adds_context_query=settings.proxy.advertise_context_query,
        strips_schema=policy.strip_schema_descriptions,
    )


def _signal(health: ToolHealth, ruling: Ruling | None, server: str, tool: str) -> Signal | None:
    """What speaks against a tool: the provider's word before its own record."""
    if ruling is not None:
        return Signal(ruling.reason, ruling.detail)
    why = health.why(server, tool)
    return Signal("unhealthy", why) if why else None
