"""Hosts whose own tools a hook can listen to: where each keeps its hooks, and what it must be told. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from cli.hook_event import CLAUDE, CODEX, SHELL, wants
from cli.hosts import Source
from config.place import user_home
from config.schema import HookSettings

SCOPES = ("user", "project")
"""Where a hook can be written. What a project shares (`shared`) is only looked at: our command is a path of this
machine."""
_TOOLS = {CLAUDE: ("Read", "Grep", "Glob", "Bash", "WebFetch", "WebSearch", "Task"), CODEX: (SHELL,)}
"""Tools with output to read, for patterns that are not names. Codex calls hooks for its shell alone among them."""
_NAME = re.compile(r"\w+")


class HookHost(NamedTuple):
    """A host's file of hooks.

    Attributes:
        name: as `--host` takes it; title: as people call it.
        source: the file. Claude Code's is its settings, for a project those that are not committed, since the command
            is a path of this machine. Codex has one for hooks alone.
        after: what makes the host run a new hook.
    """

    name: str
    title: str
    scope: str
    source: Source
    after: str


def hook_hosts(env: Mapping[str, str], folder: Path) -> list[HookHost]:
    """Every host in every scope.

    Args:
        folder: of the project.
    """
    home = Path(user_home(env))
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    restart = "start a new Claude Code session; `/hooks` shows it"
    trust = "Codex runs a new or changed hook only once you have trusted it: type `/hooks` in Codex"
    return [
        HookHost(CLAUDE, "Claude Code", "user", _file("claude-code", claude / "settings.json"), restart),
        HookHost(
            CLAUDE,
            "Claude Code",
            "project",
            _file("claude-code", folder / ".claude" / "settings.local.json", folder),
            restart,
        ),
        HookHost(
            CLAUDE, "Claude Code", "shared", _file("claude-code", folder / ".claude" / "settings.json", folder), restart
        ),
        HookHost(CODEX, "Codex", "user", _file("codex", codex / "hooks.json"), trust),
        HookHost(CODEX, "Codex", "project", _file("codex", folder / ".codex" / "hooks.json", folder), trust),
    ]


def hook_host(name: str, scope: str, env: Mapping[str, str], folder: Path) -> HookHost:
    return next(host for host in hook_hosts(env, folder) if (host.name, host.scope) == (name, scope))


def default_matcher(host: str, hook: HookSettings) -> str:
    """What the host is to call the hook for, from `hook.surface_tools`: names, joined as both hosts understand them;
    empty when that is nothing."""
    patterns = hook.surface_tools
    names = [name for name in _TOOLS[host] if wants(patterns, name)]
    if host == CLAUDE:
        names += [pattern for pattern in patterns if _NAME.fullmatch(pattern)]
        names += [pattern.replace("*", ".*") for pattern in patterns if pattern.startswith("mcp__")]
        names += [SHELL] if hook.compression.enabled else []
    return "|".join(dict.fromkeys(names))


def _file(client: str, path: Path, folder: Path | None = None) -> Source:
    return Source(client, "hook", path, "hooks", folder=folder)
