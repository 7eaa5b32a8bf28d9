"""The surfacing gates that need no state: settings, names, annotations and a length decide.

The gateway asks before anything is sent; the surfacer asks again, since the hook speaks to it directly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from config.schema_surfacing import ContextToolSettings, SurfacingSettings

# Name patterns alone miss most tools that write; their first word (`edit_file`, `mergePullRequest`) tells.
_VERBS = """
write create delete push send remove edit multiedit update insert upsert move rename copy upload publish post put patch
replace append prepend merge commit revert rebase archive unarchive drop truncate purge clear reset set unset assign
unassign approve reject close reopen lock unlock reply comment subscribe unsubscribe invite grant revoke install
uninstall transfer cancel enable disable start stop restart kill save add notebookedit todowrite
"""
_WRITING_VERBS = frozenset(_VERBS.split())
_WRITING_LAST = frozenset({"write", "edit"})
# Some of the verbs are nouns too: `commit_history`, `lock_status`.
_READING_LAST = frozenset({"list", "history", "status", "log", "logs", "search", "info", "details", "count", "stats"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.\s/]+")


def static_reason(
    settings: SurfacingSettings,
    *,
    server: str,
    tool: str,
    advertised: str,
    declared_writer: bool,
    upstream_enabled: bool,
    response_chars: int,
    has_context_query: bool,
) -> str:
    """Why this call gets no memories, or `''` when it passes: the first reason in the specification's order.

    Args:
        server / tool / advertised: the upstream, its own tool name, and the name the client called (`prefix__tool`).
        declared_writer: the tool's annotations say `readOnlyHint: false` or `destructiveHint: true`.
        upstream_enabled: the upstream's `surfacing_enabled`.
        response_chars: length of the cleaned response, code points.
        has_context_query: the agent asked itself, which lifts the length gate.
    """
    if not upstream_enabled:
        return "upstream_disabled"
    if not settings.enabled:
        return "disabled"
    names = tool_names(server, tool, advertised)
    if _matches(names, settings.exclude_tools):
        return "gate_excluded_tool"
    per_tool = context_tool(settings, server=server, tool=tool, advertised=advertised)
    if per_tool is not None and not per_tool.enabled:
        return "gate_tool_disabled"
    if declared_writer or is_writer(settings, server=server, tool=tool):
        return "gate_write_tool"
    if response_chars < settings.min_response_chars and not has_context_query:
        return "response_too_short"
    return ""


def context_tool(settings: SurfacingSettings, *, server: str, tool: str, advertised: str) -> ContextToolSettings | None:
    """The `context_tools` entry of a tool, found under `server__tool`, the advertised or its own name."""
    names = (f"{server}__{tool}", advertised, tool)
    return next((settings.context_tools[name] for name in names if name in settings.context_tools), None)


def tool_names(server: str, tool: str, advertised: str) -> tuple[str, str, str]:
    """The names that patterns are matched against: `tool`, `prefix__tool`, `server__tool`."""
    return tool, advertised, f"{server}__{tool}"


def is_writer(settings: SurfacingSettings, *, server: str, tool: str) -> bool:
    """Whether the tool's name says that it writes: by `write_tool_patterns`, or by its verb (`git_commit` of `git`)."""
    if _matches((tool,), settings.write_tool_patterns):
        return True
    words = [word.casefold() for word in _HUMP.split(tool) if word]
    if len(words) > 1 and words[0] == server.casefold():
        words = words[1:]
    if not words or words[-1] in _READING_LAST:
        return False
    return words[0] in _WRITING_VERBS or words[-1] in _WRITING_LAST


def _matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    folded = [pattern.casefold() for pattern in patterns]
    return any(fnmatchcase(name.casefold(), pattern) for name in names for pattern in folded)
