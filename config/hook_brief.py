"""What one hook must know of the configuration, as a small text that is read in a millisecond. The surfacer writes it
whenever the configuration changes; a hook process could not load the whole of it within its budget. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from config.schema import Settings

FILE = "hook.json"
"""Its name in the directory of the locks."""
BUDGET_SECONDS = 2.5
"""The default of `hook.daemon_timeout_seconds`: what holds before anything is known."""
HOST_CONTEXT_CHARS = 9_500
"""Hosts cut longer additional context, or show the path of a file in its place."""


class HookBrief(NamedTuple):
    """Settings of the hook.

    Attributes:
        budget_seconds: all the time one hook takes.
        auto_spawn: start a cluster when none runs.
        tools: patterns of the host's tools that get memories.
        compress / max_chars / min_retention: `hook.compression`.
        max_injection_chars: length of the memory block, code points.
    """

    budget_seconds: float
    auto_spawn: bool
    tools: tuple[str, ...]
    compress: bool
    max_chars: int
    min_retention: float
    max_injection_chars: int


def brief_of(settings: Settings) -> HookBrief:
    hook = settings.hook
    return HookBrief(
        budget_seconds=hook.daemon_timeout_seconds,
        auto_spawn=hook.auto_spawn,
        tools=hook.surface_tools,
        compress=hook.compression.enabled,
        max_chars=hook.compression.max_chars,
        min_retention=hook.compression.min_retention,
        max_injection_chars=min(settings.surfacing.max_injection_chars, HOST_CONTEXT_CHARS),
    )


def dump(brief: HookBrief) -> str:
    return json.dumps(brief._asdict())


def parse(text: str) -> HookBrief | None:
    """The brief in a text; `None` for one that another version has written."""
    try:
        found: Any = json.loads(text)
        return HookBrief(**{**found, "tools": tuple(found["tools"])})
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
