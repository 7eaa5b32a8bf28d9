"""`mms hook install`, `uninstall`, `status`, and the hook's part of `mms doctor`, on a scratch home."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from cli.doctor import doctor
from cli.hook_admin import hook
from cli.registering import register
from config.place import Place
from tests.cli.conftest import Invoke, document_of

COMMANDS = [hook, doctor, register]
MINE = '{\n  // mine\n  "model": "opus",\n  "permissions": {"deny": ["Read(.env)"]}\n}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home and, below it, the project in which commands run."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def written(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def handler(path: Path) -> dict[str, Any]:
    [group] = json.loads(path.read_text())["hooks"]["PostToolUse"]
    [found] = group["hooks"]
    return {"matcher": group["matcher"], **found}


def test_it_goes_into_the_hosts_own_file(home: Path, mms: Invoke, place: Place) -> None:
    done = document_of(mms(COMMANDS, "hook", "install", "--json"))
    path = home / ".claude" / "settings.json"
    assert (done["ok"], done["state"], done["path"]) == (True, "installed", str(path))
    found = handler(path)
    assert found["matcher"] == "Read|Grep|Glob|Bash"
    assert found["command"].startswith(f"env MEMTOMEM_STM_HOME={place.home} /")
    assert found["command"].endswith("/mms hook --host claude")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert document_of(mms(COMMANDS, "hook", "install", "--json"))["state"] == "unchanged"

    assert mms(COMMANDS, "hook", "install", "--host", "codex").exit_code == 0
    assert handler(home / ".codex" / "hooks.json")["matcher"] == "Bash"
    assert mms(COMMANDS, "hook", "install", "--scope", "project", "--matcher", "Read").exit_code == 0
    assert handler(home / "project" / ".claude" / "settings.local.json")["matcher"] == "Read"

    states = {
        (h["host"], h["scope"]): h["state"] for h in document_of(mms(COMMANDS, "hook", "status", "--json"))["hooks"]
    }
    assert states == {
        ("claude", "user"): "installed",
        ("claude", "project"): "installed",
        ("codex", "user"): "installed",
        ("codex", "project"): "absent",
    }
    assert document_of(mms(COMMANDS, "hook", "uninstall", "--json"))["state"] == "removed"
    assert json.loads(path.read_text()) == {}
    assert document_of(mms(COMMANDS, "hook", "uninstall", "--json"))["state"] == "absent"


def test_the_tools_come_from_the_settings(home: Path, mms: Invoke, place: Place) -> None:
    tools = ["Read", "WebFetch", "mcp__github__*", "Mine"]
    place.config_file.write_text(json.dumps({"hook": {"surface_tools": tools}}))
    mms(COMMANDS, "hook", "install")
    path = home / ".claude" / "settings.json"
    assert handler(path)["matcher"] == "Read|WebFetch|Mine|mcp__github__.*"
    assert document_of(mms(COMMANDS, "hook", "install", "--host", "codex", "--json"))["error"] == "no_tools"

    place.config_file.write_text(json.dumps({"hook": {"surface_tools": ["Read"], "compression": {"enabled": True}}}))
    path.unlink()
    mms(COMMANDS, "hook", "install")
    assert handler(path)["matcher"] == "Read|Bash"


def test_everything_else_in_the_file_stays(home: Path, mms: Invoke) -> None:
    real = written(home / "dotfiles" / "claude.json", MINE, 0o640)
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    shown = mms(COMMANDS, "hook", "install", "--print")
    assert "+++" in shown.stdout
    assert "mms hook --host claude" in shown.stdout
    assert real.read_text() == MINE
    assert mms(COMMANDS, "hook", "install").exit_code == 0
    assert link.is_symlink()
    assert real.with_name("claude.json.bak").read_text() == MINE
    assert [stat.S_IMODE(p.stat().st_mode) for p in (real, real.with_name("claude.json.bak"))] == [0o640, 0o640]
    mms(COMMANDS, "hook", "uninstall")
    assert real.read_text() == MINE
    assert mms(COMMANDS, "hook", "uninstall", "--print").stdout == ""


@pytest.mark.parametrize("text", ["{", '{"hooks": {"PostToolUse": 5}}', "\ufffd"])
def test_a_broken_file_is_an_error_and_stays(home: Path, mms: Invoke, text: str) -> None:
    path = written(home / ".claude" / "settings.json", text)
    for words in (["install"], ["install", "--print"]):
        failed = document_of(mms(COMMANDS, "hook", *words, "--json"))
        assert (failed["ok"], failed["error"]) == (False, "config_error")
        assert str(path) in failed["message"]
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["settings.json"]


def test_an_entry_of_the_peer_is_replaced_when_asked(home: Path, mms: Invoke) -> None:
    group = {"matcher": "Read", "hooks": [{"type": "command", "command": "memtomem-stm hook --host claude"}]}
    path = written(home / ".claude" / "settings.json", json.dumps({"hooks": {"PostToolUse": [group]}}))
    failed = document_of(mms(COMMANDS, "hook", "install", "--json"))
    assert failed["error"] == "occupied"
    assert "--replace" in failed["message"]
    [row, *_] = document_of(mms(COMMANDS, "hook", "status", "--json"))["hooks"]
    assert row["state"] in ("namesake", "broken")
    assert mms(COMMANDS, "hook", "install", "--replace").exit_code == 0
    assert handler(path)["command"].endswith("/mms hook --host claude")


CODEX = """model = "gpt-5-codex"

# formats what was changed
[[hooks.PostToolUse]]
matcher = "apply_patch"

[[hooks.PostToolUse.hooks]]
type = "command"
command = "prettier"

[[hooks.PostToolUse]]  # of the peer
matcher = "^Bash$"
[[hooks.PostToolUse.hooks]]
type = "command"
command = "mms hook --host codex"

[features]
web = 1.10
"""


def test_an_entry_in_the_other_file_of_codex_is_replaced_when_asked(home: Path, mms: Invoke) -> None:
    toml = written(home / ".codex" / "config.toml", CODEX)
    failed = document_of(mms(COMMANDS, "hook", "install", "--host", "codex", "--json"))
    assert failed["error"] == "occupied"
    assert "config.toml" in failed["message"]
    assert not (home / ".codex" / "hooks.json").exists()
    shown = mms(COMMANDS, "hook", "install", "--host", "codex", "--replace", "--print").stdout
    assert '-command = "mms hook --host codex"' in shown
    assert toml.read_text() == CODEX
    assert mms(COMMANDS, "hook", "install", "--host", "codex", "--replace").exit_code == 0
    assert handler(home / ".codex" / "hooks.json")["matcher"] == "Bash"
    start, end = CODEX.index("[[hooks.PostToolUse]]  # of the peer"), CODEX.index("[features]")
    assert toml.read_text() == CODEX[:start] + CODEX[end:]
    assert toml.with_name("config.toml.bak").read_text() == CODEX


def test_a_hook_of_codex_that_is_no_table_stays(home: Path, mms: Invoke) -> None:
    text = 'hooks = {PostToolUse = [{matcher = "x", hooks = [{type = "command", command = "mms hook"}]}]}\n'
    toml = written(home / ".codex" / "config.toml", text)
    failed = document_of(mms(COMMANDS, "hook", "install", "--host", "codex", "--replace", "--json"))
    assert failed["error"] == "config_error"
    assert "by hand" in failed["message"]
    assert toml.read_text() == text
    assert not (home / ".codex" / "hooks.json").exists()


def states(mms: Invoke) -> dict[str, Any]:
    return {check["check"]: check for check in document_of(mms(COMMANDS, "doctor", "--json"))["checks"]}


def test_the_doctor_looks_at_an_installed_hook(home: Path, mms: Invoke, place: Place) -> None:
    assert not any("hook" in name for name in states(mms))
    mms(COMMANDS, "hook", "install")
    assert states(mms)["hook of Claude Code"]["state"] == "PASS"

    assert "cannot be rated" in states(mms)["hook"]["detail"]
    assert states(mms)["hook"]["state"] == "PASS"
    place.config_file.write_text(json.dumps({"hook": {"compression": {"enabled": True}}}))
    assert states(mms)["hook"]["state"] == "WARN"
    assert states(mms)["hook"]["next"] == "mms register --client claude-code"
    local = {"projects": {"/x": {"mcpServers": {"m": {"command": "mms", "args": ["gateway"]}}}}}
    written(home / ".claude.json", json.dumps(local))
    assert "hook" not in states(mms)
    (home / ".claude.json").unlink()
    mms(COMMANDS, "register", "--client", "claude-code")
    assert "hook" not in states(mms)

    path = home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace("{", '{"disableAllHooks": true,', 1))
    assert states(mms)["hook of Claude Code"]["state"] == "WARN"
    path.write_text(path.read_text().replace("/mms hook", "/gone/mms hook"))
    broken = states(mms)["hook of Claude Code"]
    assert broken["state"] == "FAIL"
    assert "does not exist" in broken["detail"]
    assert mms(COMMANDS, "hook", "status").exit_code == 1
    path.write_text("{")
    assert states(mms)["hook of Claude Code"]["state"] == "FAIL"


def test_a_hook_that_runs_twice_is_seen(home: Path, mms: Invoke) -> None:
    def found() -> dict[tuple[str, str], Any]:
        hooks = document_of(mms(COMMANDS, "hook", "status", "--json"))["hooks"]
        return {(one["host"], one["scope"]): one for one in hooks}

    for host in ("claude", "codex"):
        for scope in ("user", "project"):
            mms(COMMANDS, "hook", "install", "--host", host, "--scope", scope)
    assert {key: one["state"] for key, one in found().items()} == {
        ("claude", "user"): "installed",
        ("claude", "project"): "installed",  # Claude Code runs equal commands once
        ("codex", "user"): "installed",
        ("codex", "project"): "doubled",
    }
    assert found()["codex", "project"]["next"] == "mms hook uninstall --host codex --scope project"
    group = {"matcher": "Read", "hooks": [{"type": "command", "command": "/bin/sh -c 'mms hook'"}]}
    written(home / "project" / ".claude" / "settings.json", json.dumps({"hooks": {"PostToolUse": [group]}}))
    assert ("claude", "shared") not in found()
    group["hooks"] = [{"type": "command", "command": "python3 -m memtomem_stm.cli hook"}]
    written(home / "project" / ".claude" / "settings.json", json.dumps({"hooks": {"PostToolUse": [group]}}))
    shared = found()["claude", "shared"]
    assert (shared["state"], shared["next"]) == ("doubled", "")


def test_nothing_installed_says_how(home: Path, mms: Invoke) -> None:
    result = mms(COMMANDS, "hook", "status")
    assert result.exit_code == 0
    assert "mms hook install" in result.stderr
