"""Where a summary is asked for: the address and the headers that `llm` settings mean, and which tools have them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bus.errors import ConfigError
from config.address import address_fault, host_of, is_loopback
from config.expand import expand
from config.policy import tool_policy
from config.schema import Settings
from config.schema_upstream import LlmSettings

ANTHROPIC_VERSION = "2023-06-01"
HOMES = {
    "openai": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "ollama": "http://localhost:11434",
}
DEFAULTS = LlmSettings()
_PATHS = {"openai": "chat/completions", "anthropic": "messages", "ollama": "api/chat"}
_KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_VERSION = re.compile(r"v\d+[a-z0-9]*")


@dataclass(frozen=True)
class Endpoint:
    """Where a summary is asked for.

    Attributes:
        headers: with the key, so never shown.
        host: for messages.
    """

    provider: str
    model: str
    url: str
    host: str
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)


def endpoint(settings: LlmSettings, env: Mapping[str, str]) -> Endpoint:
    """The address and the headers that the settings mean.

    A `base_url` is what stands before `/v1/…` (or `/api/chat`); one that names a version itself is taken as it is.

    Args:
        env: where `${VAR}` and the provider's own key variable are looked up.

    Raises:
        ConfigError: a variable is not set, the key or the model is missing, or the address is none.
    """
    provider, home = settings.provider, HOMES[settings.provider]
    if provider != DEFAULTS.provider and settings.model == DEFAULTS.model:
        raise ConfigError(f"llm.model is {settings.model}, which {provider} does not have; name one of its models")
    base = expand(settings.base_url or "", env, "llm.base_url").rstrip("/") or home
    key = expand(settings.api_key or "", env, "llm.api_key")
    if fault := address_fault(base, plain=True):
        raise ConfigError(f"llm.base_url {fault}")
    parts, host = urlsplit(base), host_of(base)
    variable = _KEY_VARIABLES.get(provider, "")
    if not key and variable and (parts.scheme == "https" or is_loopback(host)):
        key = env.get(variable, "")  # what was meant for the provider does not cross a network in the clear
    if not key and base == home and variable:
        raise ConfigError(f"{provider} needs a key: set {variable}, or llm.api_key to ${{VARIABLE}}")
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("llm.api_key holds characters that no HTTP header can carry; check how it was copied")
    versioned = provider == "ollama" or any(map(_VERSION.fullmatch, parts.path.split("/")))
    return Endpoint(
        provider=provider,
        model=settings.model,
        url=f"{base}{'' if versioned else '/v1'}/{_PATHS[provider]}",
        host=host,
        headers={"content-type": "application/json", **_authorisation(provider, key)},
    )


def summarised(settings: Settings) -> dict[str, LlmSettings]:
    """The `llm` settings of whatever is summarised: server or `server/tool` → settings; a tool only where it differs
    from its server."""
    found: dict[str, LlmSettings] = {}
    for server, upstream in settings.proxy.upstream_servers.items():
        wide = tool_policy(settings, server, "")
        if wide.strategy == "llm_summary":
            found[server] = wide.llm
        for tool in upstream.tool_overrides:
            own = tool_policy(settings, server, tool)
            if own.strategy == "llm_summary" and (wide.strategy, wide.llm) != (own.strategy, own.llm):
                found[f"{server}/{tool}"] = own.llm
    return found


def _authorisation(provider: str, key: str) -> dict[str, str]:
    if provider == "anthropic":
        return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
    return {"authorization": f"Bearer {key}"} if key else {}
