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

from bus.build import VERSION
from bus.census import is_stopping
from bus.errors import BusError
from bus.launch import environment
from bus.supervision import GetCluster
from cli.asking import on_bus
from cli.cluster import ensure_cluster, stop_cluster
from config.place import Place
from tests.cluster.conftest import NAMES, Mms, events, has_process, owners, until_all_run
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.slow


def ps(mms: Mms) -> dict[str, Any]:
    found = mms("ps", "--json")
    document: dict[str, Any] = json.loads(found.stdout)
    assert found.returncode == (0 if document["ok"] else 1)
    return document


def holders(home: Place) -> int:
    return on_bus(home, lambda bus: bus.ask(GetCluster(), timeout=20, wait=20)).holders


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
    assert all(actor["build"].startswith(f"{VERSION}+") for actor in state["actors"])

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


def test_ten_gateways_at_once_start_one_cluster(home: Place, tmp_path: Path) -> None:
    argv = [sys.executable, "-P", "-m", "cli", "gateway"]
    env = environment(home)
    gateways = [
        subprocess.Popen(argv, cwd=tmp_path, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(10)
    ]
    for gateway in gateways:
        assert gateway.stdin is not None
        gateway.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
        gateway.stdin.flush()
    for gateway in gateways:
        assert gateway.stdout is not None
        assert {tool["name"] for tool in json.loads(gateway.stdout.readline())["result"]["tools"]} > {
            "stm_proxy_read_more"
        }
    until_all_run(home)
    eventually_blocking(lambda: len(events(home, "supervisor", "child_ready")) == 5)
    eventually_blocking(lambda: holders(home) == 10)
    assert len(events(home, "supervisor", "ready")) == 1
    assert events(home, "supervisor", "child_restarts") == []
    for gateway in gateways[1:]:
        gateway.communicate(timeout=30)
        assert gateway.returncode == 0
    gateways[0].kill()
    gateways[0].communicate()
    eventually_blocking(lambda: holders(home) == 0)


def test_a_start_while_the_cluster_stops_waits_for_its_end(home: Place) -> None:
    ensure_cluster(home)
    before = until_all_run(home)
    os.kill(before["compressor"], signal.SIGSTOP)  # makes the end take a while
    os.kill(before["supervisor"], signal.SIGTERM)
    eventually_blocking(lambda: is_stopping(home.locks, before["supervisor"]))
    os.kill(before["compressor"], signal.SIGCONT)
    ensure_cluster(home)
    assert not set(until_all_run(home).values()) & set(before.values())


def test_a_supervisor_that_hangs_is_replaced(mms: Mms, home: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_cluster(home)
    before = until_all_run(home)
    os.kill(before["supervisor"], signal.SIGSTOP)
    monkeypatch.setattr("cli.cluster.STOP_SECONDS", 0.2)
    with pytest.raises(BusError, match=r"did not stop within 0\.2 s and was killed"):
        stop_cluster(home)
    assert mms("up").returncode == 0
    assert not set(until_all_run(home).values()) & set(before.values())


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
