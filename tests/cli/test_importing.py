"""`mms import`, `register`, `unregister`, `init`: on a scratch home with clients' files in it."""

import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.hosts import hosts
from cli.importing import import_servers
from cli.init import init
from cli.registering import register, unregister
from config.load import load_settings
from config.place import Place
from tests.cli.conftest import Invoke, document_of

COMMANDS = [import_servers, register, unregister, init]
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
GIT = {"command": "git-server", "args": ["-v"], "env": {"GITHUB_TOKEN": TOKEN}}
CLAUDE = {"numStartups": 9007199254740993, "mcpServers": {"git": GIT}}
CODEX = '# mine\nmodel = "x"\n\n[mcp_servers.docs]\nurl = "https://d.example/mcp"\nbearer_token_env_var = "DOCS"\n'
VSCODE = '{\n\t// servers\n\t"servers": {\n\t\t"w": {"type": "http", "url": "https://u:hunter2@w.example"},\n\t},\n}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home, which is also where commands run; no client has been used yet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
    return path


@pytest.fixture
def used(home: Path) -> dict[str, Path]:
    """Four clients have been used."""
    project = home / "project"
    project.mkdir()
    gone = {"mcpServers": {"old": {"command": "old"}}}
    projects = {str(project): {"mcpServers": {"my db!": {"command": "db"}}}, str(home / "gone"): gone}
    cursor = {"mcpServers": {"git": GIT, "Git": {"command": "other"}, "bad": 5, "mms": {"command": "mms"}}}
    return {
        "claude-code": write(home / ".claude.json", CLAUDE | {"projects": projects}),
        "cursor": write(home / ".cursor" / "mcp.json", cursor),
        "codex": write(home / ".codex" / "config.toml", CODEX),
        "vscode": write(hosts({"HOME": str(home)})["vscode"].user.path, VSCODE),
    }


def stored(place: Place) -> dict[str, Any]:
    found = json.loads(place.config_file.read_text())["upstream_servers"]
    assert isinstance(found, dict)
    return found


def test_import_all(mms: Invoke, place: Place, used: dict[str, Path], home: Path) -> None:
    before = {path: path.read_bytes() for path in used.values()}
    result = mms(COMMANDS, "import", "--all", "--json")
    assert result.exit_code == 0, result.stderr
    found = document_of(result)
    assert [row["name"] for row in found["imported"]] == ["git", "my-db", "Git-2", "docs", "w"]
    assert [(row["name"], row["kind"]) for row in found["skipped"]] == [("git", "cursor-user"), ("bad", "cursor-user")]
    servers = stored(place)
    assert servers["git"] | {"origin": None} == {"prefix": "git", "transport": "stdio", **GIT, "origin": None}
    origin = servers["git"]["origin"]
    assert origin["schema_version"] == 1
    where = {"kind": "claude-user", "path": str(used["claude-code"]), "pruned": False, "pruned_at": None}
    assert origin["source"] == where
    assert origin["duplicates"] == [{"kind": "cursor-user", "path": str(used["cursor"]), "name": "git"}]
    assert origin["original"] == GIT
    assert servers["my-db"]["cwd"] == str(home / "project")
    assert servers["my-db"]["origin"]["source"]["kind"] == "claude-project"
    assert servers["docs"]["headers"] == {"Authorization": "Bearer ${DOCS}"}
    assert stat.S_IMODE(place.config_file.stat().st_mode) == 0o600
    loaded = load_settings(place, {})
    assert loaded.problems == ()
    assert set(loaded.settings.proxy.upstream_servers) == set(servers)
    assert {path: path.read_bytes() for path in used.values()} == before


@pytest.mark.usefixtures("used")
def test_no_secret_is_printed_and_each_is_pointed_out(mms: Invoke) -> None:
    result = mms(COMMANDS, "import", "--all")
    assert TOKEN not in result.output and "hunter2" not in result.output
    assert "git brought a credential" in result.stderr
    assert "w brought a credential" in result.stderr
    assert "docs brought" not in result.stderr


@pytest.mark.usefixtures("used")
def test_importing_again_adds_nothing(mms: Invoke, place: Place) -> None:
    mms(COMMANDS, "import", "--all")
    before = place.config_file.read_bytes()
    result = mms(COMMANDS, "import", "--all", "--json")
    assert document_of(result)["imported"] == []
    assert place.config_file.read_bytes() == before


def test_names_that_no_upstream_could_have(mms: Invoke, place: Place, home: Path) -> None:
    names = ["\u202e evil\x1b[31m", "a" * 100, "stm", "..", "한글", "a__b"]
    servers = {name: {"command": f"run-{n}"} for n, name in enumerate(names)}
    write(home / ".cursor" / "mcp.json", {"mcpServers": servers})
    result = mms(COMMANDS, "import", "--all")
    assert "\x1b" not in result.output and "\u202e" not in result.output
    loaded = load_settings(place, {})
    assert loaded.problems == ()
    upstreams = loaded.settings.proxy.upstream_servers
    assert {upstream.command for upstream in upstreams.values()} == {entry["command"] for entry in servers.values()}
    assert all(name.isascii() and len(upstream.prefix) <= 30 for name, upstream in upstreams.items())


@pytest.mark.usefixtures("used")
def test_import_of_some(mms: Invoke, place: Place) -> None:
    assert mms(COMMANDS, "import", "--from", "codex", "--all").exit_code == 0
    assert list(stored(place)) == ["docs"]
    assert mms(COMMANDS, "import", "w").exit_code == 0
    assert list(stored(place)) == ["docs", "w"]
    assert document_of(mms(COMMANDS, "import", "nobody", "--json"))["error"] == "unknown_server"


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize("argv", [["import"], ["init"], ["register"]])
def test_nothing_happens_without_consent(mms: Invoke, place: Place, argv: list[str]) -> None:
    result = mms(COMMANDS, *argv, "--json")
    assert (result.exit_code, document_of(result)["error"]) == (2, "consent_missing")
    assert not place.config_file.exists()


def test_files_of_a_repository_need_a_word(mms: Invoke, place: Place, home: Path) -> None:
    write(home / ".mcp.json", {"mcpServers": {"shipped": {"command": "x"}}})
    result = mms(COMMANDS, "import", "--all")
    assert result.exit_code == 0
    assert "--allow-project-configs" in result.stderr
    assert not place.config_file.exists()
    assert mms(COMMANDS, "import", "--all", "--allow-project-configs").exit_code == 0
    assert stored(place)["shipped"]["cwd"] == str(home)
    assert stored(place)["shipped"]["origin"]["source"]["kind"] == "mcp-json"


@pytest.mark.usefixtures("used")
def test_a_persons_own_file_is_none_of_a_repository(mms: Invoke) -> None:
    # The home directory is the working directory here, and ~/.cursor/mcp.json in it.
    result = mms(COMMANDS, "import", "--from", "cursor", "--all", "--allow-project-configs", "--json")
    assert {row["kind"] for row in document_of(result)["imported"]} == {"cursor-user"}
    assert "--allow-project-configs" not in mms(COMMANDS, "import", "--from", "cursor", "--all").stderr


def test_a_broken_client_costs_only_itself(mms: Invoke, place: Place, used: dict[str, Path]) -> None:
    used["cursor"].write_bytes(b'{"mcpServers": {"x"')
    used["codex"].write_bytes(b"\xff")
    found = document_of(mms(COMMANDS, "import", "--all", "--json"))
    assert [str(used[name]) in line for name, line in zip(("cursor", "codex"), found["problems"], strict=True)]
    assert set(stored(place)) == {"git", "my-db", "w"}


@pytest.mark.usefixtures("used")
@pytest.mark.parametrize(
    ("typed", "names"), [(b"9\n2 5\n", ["my-db", "docs"]), (b"\n", ["git", "my-db", "Git-2", "docs", "w"])]
)
def test_a_person_chooses_on_a_terminal(mms: Invoke, place: Place, typed: bytes, names: list[str]) -> None:
    del mms  # has put the place into the environment
    script = (
        "import sys; from cli.output import run; from cli.importing import import_servers as c; sys.exit(run(c, []))"
    )
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )
    os.write(terminal, typed)
    _, said = process.communicate()
    os.close(end)
    os.close(terminal)
    assert process.returncode == 0, said
    assert b"Import which" in said
    assert TOKEN.encode() not in said
    assert list(stored(place)) == names


def test_register_changes_nothing_else(mms: Invoke, place: Place, used: dict[str, Path]) -> None:
    used["claude-code"].chmod(0o640)
    before = {name: path.read_text() for name, path in used.items()}
    result = mms(COMMANDS, "register", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    states = {row["client"]: row["state"] for row in document_of(result)["clients"]}
    # Its entry `mms` starts the gateway already: it is brought up to date.
    assert states == {"claude-code": "registered", "cursor": "updated", "codex": "registered", "vscode": "registered"}
    claude = json.loads(used["claude-code"].read_text())
    entry = claude["mcpServers"].pop("memtomem")
    assert os.path.isabs(entry["command"]) and os.access(entry["command"], os.X_OK)
    assert entry["args"] == ["gateway"]
    assert entry["env"]["MEMTOMEM_STM_HOME"] == str(place.home)
    assert claude == json.loads(before["claude-code"])
    assert used["codex"].read_text().startswith(before["codex"])
    assert "\t// servers\n" in used["vscode"].read_text()
    for name, path in used.items():
        assert path.with_name(path.name + ".bak").read_text() == before[name]
    assert stat.S_IMODE(used["claude-code"].stat().st_mode) == 0o640
    after = {name: path.read_bytes() for name, path in used.items()}
    again = document_of(mms(COMMANDS, "register", "--yes", "--json"))
    assert {row["state"] for row in again["clients"]} == {"unchanged"}
    assert {name: path.read_bytes() for name, path in used.items()} == after


def test_unregister_brings_back_every_byte(mms: Invoke, used: dict[str, Path]) -> None:
    used["cursor"].write_text('{"mcpServers": {}}')
    before = {name: path.read_bytes() for name, path in used.items()}
    assert mms(COMMANDS, "register", "--yes").exit_code == 0
    result = mms(COMMANDS, "unregister", "--json")
    assert {row["state"] for row in document_of(result)["clients"]} == {"removed"}
    assert {name: path.read_bytes() for name, path in used.items()} == before
    assert mms(COMMANDS, "unregister", "--json", "--client", "cursor").exit_code == 0


def test_register_makes_a_missing_file(mms: Invoke, home: Path) -> None:
    assert document_of(mms(COMMANDS, "register", "--yes", "--json"))["error"] == "no_client"
    assert mms(COMMANDS, "register", "--client", "cursor").exit_code == 0
    path = home / ".cursor" / "mcp.json"
    assert "memtomem" in json.loads(path.read_text())["mcpServers"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_register_respects_what_it_does_not_own(mms: Invoke, used: dict[str, Path]) -> None:
    used["cursor"].write_text('{"mcpServers": {"memtomem": {"command": "memtomem-server"}}}')
    used["codex"].write_text("model =")
    used["claude-code"].rename(used["claude-code"].with_name("real"))
    used["claude-code"].symlink_to("real")
    before = {name: used[name].read_bytes() for name in ("cursor", "codex")}
    result = mms(COMMANDS, "register", "--yes", "--json")
    states = {row["client"]: row["state"] for row in document_of(result)["clients"]}
    assert result.exit_code == 1
    assert states == {"claude-code": "registered", "cursor": "failed", "codex": "failed", "vscode": "registered"}
    assert {name: used[name].read_bytes() for name in before} == before
    assert used["claude-code"].is_symlink()


@pytest.mark.usefixtures("used")
def test_init(mms: Invoke, place: Place) -> None:
    result = mms(COMMANDS, "init", "--yes", "--client", "cursor", "--json")
    assert result.exit_code == 0, result.stderr
    found = document_of(result)
    assert len(found["imported"]) == len(stored(place)) == 5
    assert [row["client"] for row in found["clients"]] == ["cursor"]
    assert found["next"]


@pytest.mark.usefixtures("home")
def test_init_where_there_is_nothing(mms: Invoke, place: Place) -> None:
    result = mms(COMMANDS, "init", "--yes")
    assert result.exit_code == 0
    assert "mms add" in result.stderr and "mms register --client" in result.stderr
    assert not place.config_file.exists()
