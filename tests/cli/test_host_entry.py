"""Clients' entries in our keys."""

from pathlib import Path
from typing import Any

import pytest

from cli.host_entry import convert, gateway_entry, is_gateway, updated
from cli.hosts import CLIENTS, hosts

HOSTS = hosts({"HOME": "/h"}, "linux")


def converted(client: str, original: Any, folder: Path | None = None) -> dict[str, Any]:
    return convert(original, HOSTS[client].user, folder).entry


@pytest.mark.parametrize(
    ("client", "original", "entry"),
    [
        (
            "claude-code",
            {"type": "stdio", "command": "npx", "args": ["-y", 5], "env": {"A": "${B:-c}", "N": 1, "X": None}},
            {"transport": "stdio", "command": "npx", "args": ["-y", "5"], "env": {"A": "${B:-c}", "N": "1"}},
        ),
        ("claude-code", {"type": "http", "url": "https://x"}, {"transport": "streamable_http", "url": "https://x"}),
        ("cursor", {"url": "https://x/sse"}, {"transport": "sse", "url": "https://x/sse"}),
        (
            "cursor",
            {"command": "${userHome}/s", "env": {"T": "${env:TOKEN}"}},
            {"transport": "stdio", "command": "~/s", "args": [], "env": {"T": "${TOKEN}"}},
        ),
        (
            "vscode",
            {"type": "sse", "url": "https://x", "headers": {"K": "Bearer ${input:my-key}"}},
            {"transport": "sse", "url": "https://x", "headers": {"K": "Bearer ${MY_KEY}"}},
        ),
        (
            "codex",
            {"command": "c", "env_vars": ["A"], "env": {"B": "c"}, "startup_timeout_sec": 20, "enabled": False},
            {
                "transport": "stdio",
                "command": "c",
                "args": [],
                "env": {"A": "${A}", "B": "c"},
                "connect_timeout_seconds": 20,
                "enabled": False,
            },
        ),
        (
            "codex",
            {
                "url": "https://x",
                "bearer_token_env_var": "T",
                "http_headers": {"A": "b"},
                "env_http_headers": {"C": "D"},
            },
            {
                "transport": "streamable_http",
                "url": "https://x",
                "headers": {"C": "${D}", "Authorization": "Bearer ${T}", "A": "b"},
            },
        ),
    ],
)
def test_entries(client: str, original: Any, entry: dict[str, Any]) -> None:
    assert converted(client, original) == entry


def test_a_project_is_the_working_directory() -> None:
    entry = converted("vscode", {"command": "x", "args": ["${workspaceFolder}/a"]}, Path("/p"))
    assert (entry["cwd"], entry["args"]) == ("/p", ["/p/a"])


@pytest.mark.parametrize(
    "original",
    [
        5,
        {},
        {"type": "ws", "url": "x"},
        {"type": "stdio", "url": "x"},
        {"type": "http", "command": "x"},
        {"command": "x", "args": "-y"},
        {"command": "x", "args": [["s3cret"]]},
        {"command": "x", "env": ["s3cret"]},
        {"command": "x", "args": ["${workspaceFolder}"]},
        {"command": "x", "args": ["${command:s3cret}"]},
    ],
)
def test_what_cannot_be_used_says_why_without_a_value(original: Any) -> None:
    with pytest.raises(ValueError) as caught:
        converted("cursor", original)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"command": "/a/mms", "args": ["gateway"]}, True),
        ({"command": "mms"}, True),
        ({"command": "memtomem-stm", "args": []}, True),
        ({"command": "uvx", "args": ["mms", "gateway"]}, True),
        ({"command": "python", "args": ["-m", "cli", "gateway"]}, True),
        ({"command": "mms", "args": ["hook"]}, False),
        ({"command": "npx", "args": ["api", "gateway"]}, False),
        ({"url": "https://x"}, False),
        (None, False),
    ],
)
def test_the_gateway_is_recognised(entry: Any, ours: bool) -> None:
    assert is_gateway(entry) is ours


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_registered_is_recognised(client: str) -> None:
    assert is_gateway(gateway_entry(HOSTS[client], "/x/mms", {}))


def test_an_update_keeps_what_its_owner_added() -> None:
    present = {"command": "mms", "args": ["gateway", "--private"], "env": {"A": "1"}, "timeout": 5}
    entry = gateway_entry(HOSTS["cursor"], "/x/mms", {"MEMTOMEM_STM_HOME": "/y"})
    assert updated(present, entry) == {
        "command": "/x/mms",
        "args": ["gateway", "--private"],
        "env": {"A": "1", "MEMTOMEM_STM_HOME": "/y"},
        "timeout": 5,
    }


@pytest.mark.parametrize(
    ("platform", "env", "client", "path"),
    [
        ("linux", {}, "claude-code", "/h/.claude.json"),
        ("linux", {"CLAUDE_CONFIG_DIR": "/c"}, "claude-code", "/c/.claude.json"),
        ("linux", {}, "claude-desktop", "/h/.config/Claude/claude_desktop_config.json"),
        ("darwin", {}, "claude-desktop", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", {"CODEX_HOME": "/c"}, "codex", "/c/config.toml"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "vscode", "/x/Code/User/mcp.json"),
        ("darwin", {}, "vscode", "/h/Library/Application Support/Code/User/mcp.json"),
        ("linux", {}, "cursor", "/h/.cursor/mcp.json"),
    ],
)
def test_places(platform: str, env: dict[str, str], client: str, path: str) -> None:
    assert hosts({"HOME": "/h", **env}, platform)[client].user.path == Path(path)
