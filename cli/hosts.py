"""MCP clients: where each keeps its configuration and how its servers stand in it. Pure: nothing is read here."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from config.place import user_home

Form = Literal["json", "toml"]


class Source(NamedTuple):
    """A file that lists servers.

    Attributes:
        client: `claude-code`, `claude-desktop`, `cursor`, `codex`, `vscode`.
        kind: the origin that an imported entry gets: `claude-user`, `mcp-json`, `cursor-project`, …
        key: the member that holds the servers by name.
        folder: of the project that the file belongs to; `None` for the user's own.
    """

    client: str
    kind: str
    path: Path
    key: str
    form: Form = "json"
    folder: Path | None = None


class Host(NamedTuple):
    """One client.

    Attributes:
        name: as `--client` and `--from` take it; title: as people call it.
        user: the user's own configuration, where the gateway is registered.
        typed: entries carry `"type": "stdio"`.
        after: what makes the client see the change.
    """

    name: str
    title: str
    user: Source
    typed: bool
    after: str


CLIENTS = ("claude-code", "claude-desktop", "cursor", "codex", "vscode")


def hosts(env: Mapping[str, str], platform: str = sys.platform) -> dict[str, Host]:
    """Every client by name, on this platform, for the user of this environment."""
    home = Path(user_home(env))
    if platform == "darwin":
        applications = home / "Library" / "Application Support"
    else:
        applications = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    claude = Path(env.get("CLAUDE_CONFIG_DIR") or home)
    codex = Path(env.get("CODEX_HOME") or home / ".codex")
    desktop = applications / "Claude" / "claude_desktop_config.json"
    code = applications / "Code" / "User" / "mcp.json"
    found = (
        Host(
            "claude-code",
            "Claude Code",
            Source("claude-code", "claude-user", claude / ".claude.json", "mcpServers"),
            True,
            "start a new Claude Code session; `/mcp` shows it",
        ),
        Host(
            "claude-desktop",
            "Claude Desktop",
            Source("claude-desktop", "claude-desktop", desktop, "mcpServers"),
            False,
            "quit Claude Desktop and start it again",
        ),
        Host(
            "cursor",
            "Cursor",
            Source("cursor", "cursor-user", home / ".cursor" / "mcp.json", "mcpServers"),
            False,
            "Cursor asks, or switch it on under Settings, MCP",
        ),
        Host(
            "codex",
            "Codex",
            Source("codex", "codex-user", codex / "config.toml", "mcp_servers", "toml"),
            False,
            "start a new Codex session; `/mcp` shows it",
        ),
        Host(
            "vscode",
            "VS Code",
            Source("vscode", "vscode-user", code, "servers"),
            True,
            "run `MCP: List Servers` in VS Code and start it",
        ),
    )
    return {host.name: host for host in found}


def project_sources(folder: Path) -> list[Source]:
    """Files that a repository can ship, so that somebody else may have written them."""
    return [
        Source("claude-code", "mcp-json", folder / ".mcp.json", "mcpServers", folder=folder),
        Source("cursor", "cursor-project", folder / ".cursor" / "mcp.json", "mcpServers", folder=folder),
        Source("vscode", "vscode-project", folder / ".vscode" / "mcp.json", "servers", folder=folder),
    ]
