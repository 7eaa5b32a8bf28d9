"""`mms add | list | remove | enable | disable | surfacing` without a cluster."""

import json
import os
import pty
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from bus.errors import ConfigError
from cli.upstreams import LiveState, add_command, disable, enable, list_command, remove, surfacing
from config.load import load_settings
from config.place import Place
from tests.cli.conftest import Invoke, document_of

COMMANDS = [add_command(None), list_command(None), remove, enable, disable, surfacing]


def stored(place: Place) -> dict[str, Any]:
    found = json.loads(place.config_file.read_text())
    assert isinstance(found, dict)
    return found


def row_of(result: Result, name: str) -> dict[str, Any]:
    return next(row for row in document_of(result)["upstreams"] if row["name"] == name)


def test_add_writes_an_entry_that_loads(mms: Invoke, place: Place) -> None:
    result = mms(
        COMMANDS,
        *["add", "My.files-2", "--env", "A=1=2", "--env", "TOKEN=${T}", "--cwd", "~/src", "--compression", "hybrid"],
        *["--max-chars", "900", "--", "npx", "-y", "server", "--json", "--flag=x"],
    )
    assert result.exit_code == 0, result.stderr
    assert stored(place) == {
        "enabled": True,
        "upstream_servers": {
            "My.files-2": {
                "prefix": "My_files_2",
                "transport": "stdio",
                "command": "npx",
                "args": ["-y", "server", "--json", "--flag=x"],
                "env": {"A": "1=2", "TOKEN": "${T}"},
                "cwd": "~/src",
                "compression": "hybrid",
                "max_result_chars": 900,
            }
        },
    }
    assert stat.S_IMODE(place.config_file.stat().st_mode) == 0o600
    loaded = load_settings(place, {})
    assert loaded.problems == ()
    assert loaded.settings.proxy.upstream_servers["My.files-2"].max_result_chars == 900


def test_add_other_forms(mms: Invoke, place: Place) -> None:
    assert mms(COMMANDS, "add", "a", "--command", "srv", "--args", "--root '/a b'").exit_code == 0
    assert mms(COMMANDS, "add", "b", "--url", "https://x/mcp", "--header", "X-A: 1", "--header", "Y=2").exit_code == 0
    assert mms(COMMANDS, "add", "c", "--url", "https://x/sse", "--transport", "sse", "--prefix", "cc").exit_code == 0
    servers = stored(place)["upstream_servers"]
    assert servers["a"]["args"] == ["--root", "/a b"]
    assert servers["b"] == {
        "prefix": "b",
        "transport": "streamable_http",
        "url": "https://x/mcp",
        "headers": {"X-A": "1", "Y": "2"},
    }
    assert (servers["c"]["transport"], servers["c"]["prefix"]) == ("sse", "cc")


@pytest.mark.parametrize(
    "argv",
    [
        ["x"],
        ["x", "--url", "http://127.0.0.1/mcp", "--", "cmd"],
        ["x", "--command", "c", "--", "cmd"],
        ["x", "--args", "a", "--", "cmd"],
        ["x", "--command", "c", "--args", "'"],
        ["x", "--transport", "sse", "--", "cmd"],
        ["x", "--transport", "stdio", "--url", "http://127.0.0.1/mcp"],
        ["x", "--url", "notaurl", "--no-check"],
        ["x", "--env", "novalue", "--", "cmd"],
        ["x", "--max-chars", "0", "--", "cmd"],
        ["x", "--compression", "zip", "--", "cmd"],
        ["x y", "--", "cmd"],
        ["", "--", "cmd"],
        ["x", "--no-check", "--", ""],
        ["x", "--no-check", "--header", "A=b", "--", "cmd"],
        ["x", "--no-check", "--url", "http://127.0.0.1/mcp", "--env", "A=b"],
        ["x", "--no-check", "--url", "http://127.0.0.1/mcp", "--cwd", "/"],
    ],
)
def test_add_refuses_what_makes_no_sense(mms: Invoke, place: Place, argv: list[str]) -> None:
    assert mms(COMMANDS, "add", *argv).exit_code == 2
    assert not place.config_file.exists()


def test_a_program_of_the_present_folder_is_found_from_anywhere(
    mms: Invoke, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/server").touch()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server").touch()
    programs = ("bin/server", "./server", "bin/other", "server", "~/bin/server")
    for number, program in enumerate(programs):
        assert mms(COMMANDS, "add", f"s{number}", "--", program).exit_code == 0
    commands = [entry["command"] for entry in stored(place)["upstream_servers"].values()]
    assert commands == [str(tmp_path / "bin/server"), str(tmp_path / "server"), *programs[2:]]


@pytest.mark.parametrize(
    ("argv", "error"),
    [
        (["fs", "--prefix", "other"], "already_exists"),
        (["two", "--prefix", "fs"], "prefix_taken"),
        (["two", "--prefix", ""], "bad_prefix"),
        (["two", "--prefix", "a__b"], "bad_prefix"),
        (["mms"], "bad_prefix"),
        (["builtin"], "bad_name"),
    ],
)
def test_add_keeps_names_and_prefixes_apart(mms: Invoke, place: Place, argv: list[str], error: str) -> None:
    assert mms(COMMANDS, "add", "fs", "--", "x").exit_code == 0
    before = place.config_file.read_bytes()
    result = mms(COMMANDS, "add", *argv, "--json", "--", "cmd")
    assert (result.exit_code, document_of(result)["error"]) == (1, error)
    assert place.config_file.read_bytes() == before


def test_an_upstream_without_prefix_stays_alone(mms: Invoke) -> None:
    assert mms(COMMANDS, "add", "only", "--prefix", "", "--", "x").exit_code == 0
    assert document_of(mms(COMMANDS, "add", "two", "--json", "--", "x"))["error"] == "prefix_taken"


def test_add_probes_first_and_adds_nothing_when_that_fails(mms: Invoke, place: Place) -> None:
    seen: list[dict[str, Any]] = []

    def probe(where: Place, name: str, entry: dict[str, Any]) -> Sequence[str]:
        assert where.config_file == place.config_file
        seen.append(entry)
        if entry["command"] == "bad":
            raise ConfigError(f"{name} did not start")
        return ["read", "write\x1b"]

    add = [add_command(probe)]
    result = mms(add, "add", "bad", "--", "bad")
    assert (result.exit_code, result.stderr) == (1, "Error: bad did not start\n")
    assert not place.config_file.exists()
    result = mms(add, "add", "good", "--", "good")
    assert (result.exit_code, result.stdout) == (0, "read\nwrite\\x1b\n")
    assert document_of(mms(add, "add", "g2", "--json", "--", "good"))["tools"] == ["read", "write\x1b"]
    assert mms(add, "add", "bad", "--no-check", "--", "bad").exit_code == 0
    assert len(seen) == 3


def test_add_says_where_a_secret_would_lie_open(mms: Invoke) -> None:
    result = mms(COMMANDS, "add", "x", "--env", "API_KEY=hunter2", "--", "cmd")
    assert "--env API_KEY is stored in the file as it is; '${API_KEY}'" in result.stderr
    assert "hunter2" not in result.output
    result = mms(COMMANDS, "add", "y", "--url", "https://u:hunter2@x/mcp", "--header", "X-Token=${T}")
    assert "X-Token" not in result.output
    assert "a credential in the address is stored" in result.stderr
    result = mms(COMMANDS, "add", "z", "--", "cmd", "--token", "hunter2")
    assert "an argument that looks like a credential is stored" in result.stderr


def test_list(mms: Invoke, place: Place) -> None:
    assert "mms add" in mms(COMMANDS, "list").stderr
    assert document_of(mms(COMMANDS, "list", "--json")) == {
        "action": "list",
        "ok": True,
        "upstreams": [],
        "problems": [],
    }
    servers = {
        "fs": {"prefix": "fs", "command": "x", "cache": True, "tool_overrides": {"t": {"compression": "none"}}},
        "web": {
            "prefix": "web",
            "url": "https://x",
            "enabled": False,
            "surfacing_enabled": False,
            "compression": "hybrid",
        },
        "bad": {"prefix": "b\x1b[2J", "command": 5},
    }
    place.config_file.write_text(json.dumps({"upstream_servers": servers, "cash": {}}))
    result = mms(COMMANDS, "list", "--json")
    assert row_of(result, "fs") == {
        "name": "fs",
        "prefix": "fs",
        "transport": "stdio",
        "compression": "auto",
        "cache": "on",
        "surfacing": "on",
        "state": "enabled",
        "tools": None,
    }
    assert row_of(result, "web")["state"] == "disabled"
    assert (row_of(result, "web")["surfacing"], row_of(result, "web")["compression"]) == ("off", "hybrid")
    assert row_of(result, "bad")["state"] == "invalid"
    text = mms(COMMANDS, "list")
    assert text.stdout.splitlines()[0].split() == [
        *["NAME", "PREFIX", "TRANSPORT", "COMPRESSION", "CACHE", "SURFACING", "STATE", "TOOLS"]
    ]
    assert "did you mean cache?" in text.stderr
    assert "upstream_servers.bad.command" in text.stderr
    assert "\x1b" not in text.output


def test_a_closed_gate_is_said(mms: Invoke, place: Place) -> None:
    place.config_file.write_text('{"enabled": false}')
    assert '"enabled" is false' in mms(COMMANDS, "add", "fs", "--", "x").stderr
    result = mms(COMMANDS, "list")
    assert '"enabled" is false' in result.stderr
    assert stored(place)["enabled"] is False


def test_no_gate_is_blamed_where_no_upstream_can_be_used(mms: Invoke, place: Place) -> None:
    place.config_file.write_text('{"upstream_servers": {"fs": {"prefix": "stm", "command": "x"}}}')
    said = mms(COMMANDS, "list").stderr
    assert "it has no upstream that can be used" in said
    assert '"enabled"' not in said


@pytest.mark.parametrize("argv", [["add", "fs", "--", "x"], ["remove", "fs", "-y"], ["enable", "fs"], ["list"]])
def test_servers_that_are_no_object_are_left_alone(mms: Invoke, place: Place, argv: list[str]) -> None:
    place.config_file.write_text('{"upstream_servers": [1]}')
    result = mms(COMMANDS, *argv)
    assert result.exit_code == 1
    assert "upstream_servers must be an object" in result.stderr
    assert place.config_file.read_text() == '{"upstream_servers": [1]}'


def test_list_shows_what_a_running_cluster_says(mms: Invoke, place: Place) -> None:
    place.config_file.write_text(json.dumps({"upstream_servers": {"fs": {"prefix": "fs", "command": "x"}}}))
    row = row_of(mms([list_command(lambda _: {"fs": LiveState("ready", 3)})], "list", "--json"), "fs")
    assert (row["state"], row["tools"]) == ("ready", 3)


def test_upstreams_of_the_environment_are_listed(mms: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMTOMEM_STM_PROXY__UPSTREAM_SERVERS", '{"fs": {"prefix": "fs", "command": "x"}}')
    assert row_of(mms(COMMANDS, "list", "--json"), "fs")["state"] == "enabled"


def test_switches(mms: Invoke, place: Place) -> None:
    mms(COMMANDS, "add", "fs", "--", "x")
    assert mms(COMMANDS, "disable", "fs").exit_code == 0
    assert stored(place)["upstream_servers"]["fs"]["enabled"] is False
    assert document_of(mms(COMMANDS, "disable", "fs", "--json"))["changed"] is False
    assert document_of(mms(COMMANDS, "enable", "fs", "--json")) == {
        "action": "enable",
        "ok": True,
        "name": "fs",
        "enabled": True,
        "changed": True,
    }
    assert mms(COMMANDS, "surfacing", "fs").stdout == "on\n"
    assert mms(COMMANDS, "surfacing", "fs", "off").exit_code == 0
    assert stored(place)["upstream_servers"]["fs"]["surfacing_enabled"] is False
    assert document_of(mms(COMMANDS, "surfacing", "fs", "--json"))["surfacing_enabled"] is False


def test_remove_needs_consent_and_keeps_a_backup(mms: Invoke, place: Place) -> None:
    mms(COMMANDS, "add", "fs", "--", "x")
    mms(COMMANDS, "add", "web", "--url", "https://x")
    result = mms(COMMANDS, "remove", "fs", "--json")
    assert (result.exit_code, document_of(result)["error"]) == (2, "consent_missing")
    assert mms(COMMANDS, "remove", "fs", "--yes").exit_code == 0
    assert list(stored(place)["upstream_servers"]) == ["web"]
    backup = place.config_file.with_name("stm_proxy.json.bak")
    assert list(json.loads(backup.read_text())["upstream_servers"]) == ["fs", "web"]


@pytest.mark.parametrize(("typed", "left", "exit_code"), [(b"n\n", ["fs"], 2), (b"y\n", [], 0)])
def test_remove_asks_on_a_terminal(mms: Invoke, place: Place, typed: bytes, left: list[str], exit_code: int) -> None:
    mms(COMMANDS, "add", "fs", "--", "x")
    script = "import sys; from cli.output import run; from cli.upstreams import remove; sys.exit(run(remove, ['fs']))"
    terminal, end = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", script], stdin=end, stderr=subprocess.PIPE)
    os.write(terminal, typed)
    _, said = process.communicate()
    os.close(end)
    os.close(terminal)
    assert b"Remove fs?" in said
    assert process.returncode == exit_code
    assert list(stored(place)["upstream_servers"]) == left


def test_an_entry_that_is_no_object_can_be_removed_only(mms: Invoke, place: Place) -> None:
    place.config_file.write_text('{"upstream_servers": {"x": 5}}')
    for argv in (["enable", "x"], ["surfacing", "x"]):
        assert document_of(mms(COMMANDS, *argv, "--json"))["error"] == "invalid_upstream"
    assert mms(COMMANDS, "remove", "x", "--yes").exit_code == 0


@pytest.mark.parametrize("argv", [["enable", "fz"], ["disable", "fz"], ["surfacing", "fz"], ["remove", "fz", "-y"]])
def test_unknown_names_get_a_suggestion(mms: Invoke, argv: list[str]) -> None:
    mms(COMMANDS, "add", "fzz", "--", "x")
    result = mms(COMMANDS, *argv, "--json")
    assert result.exit_code == 1
    assert document_of(result)["error"] == "unknown_upstream"
    assert "did you mean fzz?" in document_of(result)["message"]


@pytest.mark.parametrize(
    "argv",
    [
        ["add", "x", "--json", "--", "cmd"],
        ["list", "--json"],
        ["enable", "x", "--json"],
        ["remove", "x", "-y", "--json"],
        ["surfacing", "x", "--json"],
    ],
)
def test_a_broken_file_is_named_and_left_alone(mms: Invoke, place: Place, argv: list[str]) -> None:
    place.config_file.write_bytes(b'{"upstream_servers": {"x"')
    result = mms(COMMANDS, *argv)
    assert result.exit_code == 1
    assert document_of(result)["error"] == "config_error"
    assert str(place.config_file) in document_of(result)["message"]
    assert place.config_file.read_bytes() == b'{"upstream_servers": {"x"'
