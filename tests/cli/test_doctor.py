"""`mms doctor`: each fault is found, and what is well passes."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.surfacer.messages import SurfacerHealth
from actors.telemetry.messages import TelemetryHealth
from actors.upstream.messages import Catalogue, ServerState
from bus.groups import record
from cli.doctor import doctor
from cli.doctor_checks import (
    Check,
    check_clients,
    check_cluster,
    check_commands,
    check_configuration,
    check_leftovers,
    check_memory,
    check_paths,
    check_python,
    check_stores,
    check_upstreams,
)
from cli.health import Health
from cli.hosts import CLIENTS, hosts
from cli.survey import Line, Survey
from config.load import load_settings
from config.place import Place
from tests.cli.conftest import Invoke, document_of

ACTORS = (Line(name="upstream", state="ready", build="b"), Line(name="tuner", state="ready", build="b"))
WELL = Health(
    survey=Survey(mode="pinned", build="b", actors=ACTORS),
    catalogue=Catalogue(generation="g", servers=(ServerState(name="fs", prefix="fs", state="ready"),)),
    surfacer=SurfacerHealth(ltm="ready", ltm_kind="embedded", min_score=0.4),
    telemetry=TelemetryHealth(),
    recall=None,
)


def configured(place: Place, **entry: Any) -> None:
    place.config_file.write_text(json.dumps({"upstream_servers": {"fs": {"prefix": "fs", **entry}}}))
    place.config_file.chmod(0o600)


def with_part(part: str, **changes: object) -> Health:
    return msgspec.structs.replace(WELL, **{part: msgspec.structs.replace(getattr(WELL, part), **changes)})


def bad(checks: Iterable[Check]) -> list[tuple[str, str]]:
    """Name and state of what did not pass; every such check has a next step."""
    found = [check for check in checks if check.state != "PASS"]
    assert all(check.fix for check in found)
    return [(check.name, check.state) for check in found]


@pytest.mark.parametrize("prepared", [True, False])
def test_a_fresh_set_up_passes(mms: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared: bool) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if not prepared:
        monkeypatch.setenv("MEMTOMEM_STM_HOME", str(tmp_path / "none"))
        monkeypatch.setenv("MMS_STATE_DIR", str(tmp_path / "none" / "bus"))
        monkeypatch.setenv("MEMTOMEM_STM_PROXY__CONFIG_PATH", str(tmp_path / "none" / "stm_proxy.json"))
    result = mms([doctor], "doctor", "--json")
    checks = document_of(result)["checks"]
    # How full this machine's disk is, is not ours.
    assert {check["state"] for check in checks if check["check"] != "disk"} == {"PASS"}, checks
    assert [check["check"] for check in checks][:2] == ["python", "home"]
    assert not (tmp_path / "none").exists()


def test_failures_make_the_exit_code(mms: Invoke, place: Place) -> None:
    configured(place, command="/no/such/program", env={"TOKEN": "hunter2"})
    result = mms([doctor], "doctor")
    assert result.exit_code == 1
    assert "FAIL  command of fs: /no/such/program is not on PATH" in result.stdout
    assert "→ mms set fs command=" in result.stdout
    assert "hunter2" not in result.output
    found = document_of(mms([doctor], "doctor", "--json"))
    assert (found["ok"], found["error"]) == (False, "unhealthy")


@pytest.mark.parametrize(
    ("version", "platform", "state"),
    [
        ((3, 11), "linux", "PASS"),
        ((3, 13), "darwin", "PASS"),
        ((3, 10), "linux", "FAIL"),
        ((3, 99), "linux", "WARN"),
        ((3, 12), "win32", "FAIL"),
    ],
)
def test_python(version: tuple[int, int], platform: str, state: str) -> None:
    assert check_python(version, platform).state == state


def test_paths_and_modes(place: Place) -> None:
    assert bad(check_paths(place)) == []
    (place.state / "recall.db").touch(0o600)
    (place.state / "recall.db").chmod(0o644)
    place.state.chmod(0o755)
    assert bad(check_paths(place)) == [("state", "WARN"), ("modes", "WARN")]
    for path in (place.state, *place.state.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o077)
    assert bad(check_paths(place)) == []


def test_a_file_in_the_place_of_a_folder(place: Place, tmp_path: Path) -> None:
    wrong = place.with_state(tmp_path / "file", {})
    wrong.state.touch()
    assert ("state", "FAIL") in bad(check_paths(wrong))


@pytest.mark.parametrize(
    ("content", "mode", "expected"),
    [
        ('{"upstream_servers"', 0o600, [("configuration", "FAIL")]),
        ('{"cach": {}}', 0o600, [("configuration", "WARN")]),
        ('{"upstream_servers": {"fs": {"prefix": "fs"}}}', 0o600, [("configuration", "FAIL")]),
        (
            '{"upstream_servers": {"f": {"prefix": "f", "command": "x", "env": {"A": "b"}}}}',
            0o644,
            [("configuration", "WARN")],
        ),
        ("{}", 0o644, []),
    ],
)
def test_configuration(place: Place, content: str, mode: int, expected: list[tuple[str, str]]) -> None:
    place.config_file.write_text(content)
    place.config_file.chmod(mode)
    assert bad(check_configuration(place, load_settings(place, {}))) == expected


@pytest.mark.parametrize(
    ("entry", "state"),
    [
        ({"command": Path(sys.executable).name}, ""),
        ({"command": sys.executable}, ""),
        ({"command": f"./{Path(sys.executable).name}", "cwd": str(Path(sys.executable).parent)}, ""),
        ({"command": f"./{Path(sys.executable).name}"}, "FAIL"),
        ({"command": "no-such-program"}, "FAIL"),
        ({"command": "no-such-program", "enabled": False}, ""),
        ({"command": sys.executable, "cwd": "/no/such/folder"}, "FAIL"),
        ({"command": sys.executable, "args": ["${UNSET}"]}, "FAIL"),
        ({"command": Path(sys.executable).name, "env": {"PATH": "/no/such/folder"}}, "FAIL"),
        ({"url": "https://x"}, ""),
        ({"url": "https://x", "headers": {"A": "${UNSET}"}}, "FAIL"),
    ],
)
def test_commands(place: Place, tmp_path: Path, entry: dict[str, Any], state: str) -> None:
    configured(place, **entry)
    env = {"PATH": str(Path(sys.executable).parent), "HOME": str(tmp_path)}
    found = bad(check_commands(load_settings(place, {}), env))
    assert found == ([("command of fs", state)] if state else [])


def test_cluster() -> None:
    assert bad(check_cluster(None)) == bad(check_cluster(WELL)) == []
    down = (Line(name="tuner", state="down", last_exit="exit 1", build="b"),)
    assert bad(check_cluster(with_part("survey", actors=down))) == [("cluster", "FAIL")]
    assert bad(check_cluster(with_part("survey", build="c"))) == [("build", "WARN")]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, []),
        (WELL, []),
        (msgspec.structs.replace(WELL, catalogue=None), [("upstreams", "FAIL")]),
        (with_part("catalogue", config_error="line 3"), [("upstreams", "FAIL")]),
        (
            with_part("catalogue", servers=(ServerState(name="fs", prefix="fs", state="failed", error="no"),)),
            [("upstream fs", "FAIL")],
        ),
        (
            with_part("catalogue", servers=(ServerState(name="fs", prefix="fs", state="ready", breaker="open"),)),
            [("upstream fs", "WARN")],
        ),
        (
            with_part(
                "catalogue", servers=(ServerState(name="fs", prefix="fs", state="ready", replacement_error="x"),)
            ),
            [("upstream fs", "FAIL")],
        ),
        (
            with_part("catalogue", servers=(ServerState(name="fs", prefix="fs", state="starting", error="no"),)),
            [("upstream fs", "WARN")],
        ),
    ],
)
def test_upstreams(place: Place, found: Health | None, expected: list[tuple[str, str]]) -> None:
    configured(place, command="x")
    assert bad(check_upstreams(load_settings(place, {}), found)) == expected


def test_the_ltm_and_what_scores_mean(place: Place) -> None:
    loaded = load_settings(place, {})

    def told(found: Health | None) -> list[Check]:
        return list(check_memory(place, loaded, found, {"PATH": ""}))

    assert bad(told(None)) == bad(told(WELL)) == []
    assert "built-in memory, 0 notes" in told(None)[0].detail
    for name in ("a.md", "deep/b.MARKDOWN", ".obsidian/c.md", "deep/.d.md", "e.txt"):
        (place.home / "memories" / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / "memories" / name).touch()
    assert "built-in memory, 2 notes" in told(None)[0].detail
    assert "from a relevance of 0.35 on" in told(None)[1].detail
    assert "from a relevance of 0.4 on" in told(WELL)[1].detail
    assert "scores (rrf) tell the order" in told(with_part("surfacer", score_scale="rrf"))[1].detail
    assert bad(told(with_part("surfacer", ltm="down", ltm_error="died"))) == [("memory", "FAIL")]
    assert bad(told(with_part("surfacer", breaker="open"))) == [("memory", "WARN")]
    own = load_settings(place, {"MEMTOMEM_STM_SURFACING__LTM_MCP_COMMAND": "my-ltm"})
    assert bad(check_memory(place, own, None, {"PATH": ""})) == [("memory", "FAIL")]


def test_stores(place: Place) -> None:
    sqlite3.connect(place.state / "recall.db").execute("CREATE TABLE t (a)").connection.close()
    assert bad(check_stores(place, None)) == []
    busy = sqlite3.connect(place.state / "recall.db", isolation_level=None)
    busy.execute("BEGIN EXCLUSIVE")
    assert bad(check_stores(place, None)) == []
    busy.close()
    (place.state / "cache.db").write_bytes(b"garbage" * 1000)
    assert bad(check_stores(place, None)) == [("stores", "FAIL")]
    [damaged] = [check for check in check_stores(place, None) if check.state == "FAIL"]
    assert ("set aside and rebuilt" in damaged.detail, damaged.fix) == (True, "mms restart")
    (place.state / "cache.db").unlink()
    (place.state / "cache.db").mkdir()
    [unreadable] = [check for check in check_stores(place, None) if check.state == "FAIL"]
    assert ("set aside" in unreadable.detail, unreadable.fix.split()[0]) == (False, "ls")
    (place.state / "cache.db").rmdir()
    assert bad(check_stores(place, with_part("telemetry", store="failed"))) == [("stores", "FAIL")]


def test_leftovers(place: Place) -> None:
    assert bad(check_leftovers(place)) == []
    mine = record(place.groups, os.getpid(), "mark")
    assert bad(check_leftovers(place)) == []
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    mine.path.write_text(str(dead.pid))
    assert bad(check_leftovers(place)) == [("leftovers", "WARN")]
    mine.path.unlink()
    (place.state / "recall.db.damaged-20260101T000000.000000Z").touch()
    assert bad(check_leftovers(place)) == [("leftovers", "WARN")]


@pytest.mark.parametrize("client", CLIENTS)
def test_clients(client: str, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    host = hosts(env)[client]
    host.user.path.parent.mkdir(parents=True, exist_ok=True)

    def registered(command: str) -> None:
        text = f'[{host.user.key}.memtomem]\ncommand = "{command}"\nargs = ["gateway"]\n'
        entry = {host.user.key: {"memtomem": {"command": command, "args": ["gateway"]}}}
        host.user.path.write_text(text if host.user.form == "toml" else json.dumps(entry))

    registered(str(tmp_path / "mms"))
    assert bad(check_clients(env)) == [(f"client {client}", "FAIL")]
    (tmp_path / "mms").touch(0o700)
    assert [check.detail for check in check_clients(env)] == [host.title]
    host.user.path.write_text("{")
    assert bad(check_clients(env)) == [(f"client {client}", "WARN")]
