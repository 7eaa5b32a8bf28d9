"""The Procfile under honcho, in the foreground."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors import ACTORS
from bus.launch import environment
from config.place import Place
from tests.cluster.conftest import ROOT, Mms, events, has_process, owners
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.slow

Honcho = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def honcho(home: Place) -> Iterator[Honcho]:
    running: list[subprocess.Popen[str]] = []
    # As with an activated environment: its programs come first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def start(*words: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "honcho", "start", *words]
        env = environment(home) | {"PATH": path}
        running.append(subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for process in running:
        process.terminate()
        process.communicate(timeout=30)


def until_ready(home: Place) -> dict[str, int]:
    eventually_blocking(lambda: all(events(home, name, "ready") for name in ACTORS))
    return owners(home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_and_stops_cleanly(honcho: Honcho, home: Place, mms: Mms, number: int) -> None:
    process = honcho()
    actors = until_ready(home)
    assert set(actors) == set(ACTORS)
    for pid in actors.values():  # no shell stays between
        assert b"-m\0actors." in Path(f"/proc/{pid}/cmdline").read_bytes()

    state = json.loads(mms("ps", "--json").stdout)
    assert (state["ok"], state["mode"]) == (True, "foreground")
    assert {actor["name"]: actor["pid"] for actor in state["actors"]} == actors
    for command in ("up", "down", "restart"):
        refused = mms(command)
        assert refused.returncode == 1
        assert f"`kill {process.pid}`" in refused.stderr

    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    for name in ACTORS:
        assert f"{name}.1 stopped (rc=0)" in output
    assert owners(home) == {}


def test_one_that_dies_stops_all_and_is_named(honcho: Honcho, home: Place, mms: Mms) -> None:
    process = honcho()
    actors = until_ready(home)
    os.kill(actors["tuner"], signal.SIGKILL)
    output, _ = process.communicate(timeout=30)
    assert process.returncode != 0
    stops = [line for line in output.splitlines() if "stopped (rc=" in line]
    assert stops[0].endswith("tuner.1 stopped (rc=-9)")
    assert not [pid for pid in actors.values() if has_process(pid)]
    assert mms("ps").stderr.startswith("Error: no cluster runs")


def test_beside_a_running_cluster_it_says_why_it_cannot(honcho: Honcho, home: Place, mms: Mms) -> None:
    assert mms("up").returncode == 0
    before = owners(home)
    output, _ = honcho().communicate(timeout=30)
    assert "is already running (process " in output
    assert owners(home) == before


def test_its_concurrency_makes_replicas(honcho: Honcho, home: Place, mms: Mms) -> None:
    process = honcho("-c", "compressor=2", "compressor")
    names = ["compressor", "compressor-2"]
    eventually_blocking(lambda: all(events(home, name, "ready") for name in names))
    shown = json.loads(mms("ps", "--json").stdout)["actors"]
    assert [actor["name"] for actor in shown if actor["state"] == "ready"] == names
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert [f"compressor.{number} stopped (rc=0)" in output for number in (1, 2)] == [True, True]
