"""What the configuration, and a tool's own record, say about advertising it. Pure."""

from __future__ import annotations

from actors.upstream.exposure import Rules
from actors.upstream.tool_health import ToolHealth
from config.policy import tool_policy
from config.schema import Settings


def rules_of(settings: Settings, health: ToolHealth, server: str, tool: str) -> Rules:
    """The rules for one tool, named as its server names it."""
    policy, profile = tool_policy(settings, server, tool), settings.proxy.exposure.profile
    shown_in = policy.expose_in_profiles
    return Rules(
        hidden=policy.hidden,
        keeps_structure=policy.strategy == "none" or policy.keep_structured,
        description=policy.description_override,
        max_description=policy.max_description_chars,
        excluded_by="" if shown_in is None or profile in shown_in else profile,
        unhealthy=health.why(server, tool) if profile == "strict" else "",
        adds_context_query=settings.proxy.advertise_context_query,
        strips_schema=policy.strip_schema_descriptions,
    )
