"""`mms up`, `down`, `restart` and `ps` over a real cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bus.launch import environment
from config.place import Place
from tests.cluster.conftest import NAMES, Mms, events, has_process, owners, until_all_run
from tests.eventually import eventually_blocking


def ps(mms: Mms) -> dict[str, Any]:
    found = mms("ps", "--json")
    document: dict[str, Any] = json.loads(found.stdout)
    assert found.returncode == (0 if document["ok"] else 1)
    return document


def test_up_restart_and_down(mms: Mms, home: Place) -> None:
    started = mms("up")
    assert started.returncode == 0, started.stderr
    assert [line.split()[0] for line in started.stdout.splitlines()] == ["ACTOR", *NAMES]
    before = owners(home)
    assert set(before) == set(NAMES)

    state = ps(mms)
    assert state["ok"] and state["mode"] == "pinned"
    assert {actor["name"]: actor["pid"] for actor in state["actors"]} == before
    assert {actor["state"] for actor in state["actors"]} == {"ready"}
    assert all(actor["rss_bytes"] > 1_000_000 for actor in state["actors"])
    assert {actor["build"] for actor in state["actors"]} == {state["build"]}

    restarted = mms("restart", "tuner", "--json")
    assert json.loads(restarted.stdout)["pid"] == owners(home)["tuner"] != before["tuner"]
    assert {**owners(home), "tuner": 0} == {**before, "tuner": 0}

    again = mms("up")
    assert again.returncode == 0
    assert owners(home)["supervisor"] == before["supervisor"]

    assert mms("down").returncode == 0
    assert owners(home) == {}
    assert not [pid for pid in before.values() if has_process(pid)]


def test_commands_say_so_when_nothing_runs(mms: Mms, home: Place) -> None:
    for command in ("ps", "restart", "health"):
        found = mms(command)
        assert found.returncode == 1
        assert found.stderr == f"Error: no cluster runs for {home.home}; `mms up` starts it\n"
    down = mms("down", "--json")
    assert json.loads(down.stdout) == {"action": "down", "ok": True, "stopped": False}


def test_a_killed_actor_answers_again_and_a_restart_of_everything_keeps_the_mode(mms: Mms, home: Place) -> None:
    assert mms("up").returncode == 0
    before = owners(home)
    for name in NAMES[1:]:
        os.kill(before[name], signal.SIGKILL)
    eventually_blocking(lambda: [a["restarts"] for a in ps(mms)["actors"][1:] if a["state"] == "ready"] == [1] * 5)
    after = owners(home)
    assert after["supervisor"] == before["supervisor"]
    assert not set(after.values()) & {before[name] for name in NAMES[1:]}

    assert mms("restart").returncode == 0
    state = ps(mms)
    assert state["mode"] == "pinned"
    assert owners(home)["supervisor"] != before["supervisor"]
    # What the supervisor saw went to the analytics before it stopped.
    query = "SELECT component FROM fault WHERE what = 'restarted' AND component <> 'telemetry' ORDER BY 1"

    def told() -> bool:
        found = mms("sql", query, "--json")
        return bool(json.loads(found.stdout).get("rows") == [["compressor"], ["surfacer"], ["tuner"], ["upstream"]])

    eventually_blocking(told)


def test_ten_starters_at_once_start_one_cluster(home: Place, tmp_path: Path) -> None:
    code = (
        "import sys; from cli.cluster import ensure_cluster; from config.place import Place\n"
        "sys.stdin.readline(); ensure_cluster(Place.from_environment())"
    )
    argv = [sys.executable, "-P", "-c", code]
    starters = [
        subprocess.Popen(argv, cwd=tmp_path, env=environment(home), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(10)
    ]
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write(b"go\n")
        starter.stdin.flush()
    for starter in starters:
        _, stderr = starter.communicate(timeout=30)
        assert (starter.returncode, stderr) == (0, b"")
    until_all_run(home)
    eventually_blocking(lambda: len(events(home, "supervisor", "child_ready")) == 5)
    assert len(events(home, "supervisor", "ready")) == 1
    assert events(home, "supervisor", "child_restarts") == []


def test_nothing_in_the_current_folder_or_on_the_path_shadows_our_packages(
    mms: Mms, home: Place, tmp_path: Path
) -> None:
    for name in ("bus", "actors", "config", "gateway", "cli", "msgspec"):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text("raise RuntimeError('the wrong package')")
    code = (
        "from cli.cluster import ensure_cluster; from config.place import Place\n"
        "ensure_cluster(Place.from_environment())"
    )
    env = environment(home)
    subprocess.run([sys.executable, "-P", "-c", code], cwd=tmp_path, env=env, check=True)
    before = until_all_run(home)
    mms("down")
    # A client that was started with the folder on its path starts the cluster without it.
    script = f"import os; os.environ['PYTHONPATH'] = {str(tmp_path)!r}\n{code}"
    subprocess.run([sys.executable, "-P", "-c", script], cwd=tmp_path, env=env, check=True)
    assert not set(until_all_run(home).values()) & set(before.values())


def test_an_idle_background_cluster_goes_away(home: Place) -> None:
    argv = [sys.executable, "-P", "-m", "cli.supervise", "--idle-exit", "0.5"]
    supervisor = subprocess.Popen(argv, cwd=home.home, env=environment(home))
    assert supervisor.wait(30) == 0
    assert len(events(home, "supervisor", "ready")) == 1
    assert owners(home) == {}
    assert len(events(home, "supervisor", "idle_exit")) == 1


@pytest.mark.parametrize("argv", [["--idle-exit"], ["--idle-exit", "soon"], ["--sideways"]])
def test_a_wrong_option_of_the_supervisor_is_usage(home: Place, argv: list[str]) -> None:
    found = subprocess.run(
        [sys.executable, "-P", "-m", "cli.supervise", *argv], env=environment(home), capture_output=True, text=True
    )
    assert found.returncode == 2
    assert found.stderr.startswith("usage: python -P -m cli.supervise")
    assert owners(home) == {}
