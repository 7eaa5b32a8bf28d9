"""What a caller sees when an actor's process goes away and comes back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import PeerRestarted, PeerUnavailable, VersionMismatch
from bus.lock import owner_of
from config.place import Place
from tests.bus.actors_under_test import Echo, EchoAgain, Sleep
from tests.eventually import eventually_blocking

ROOT = Path(__file__).parent.parent.parent
Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    running: list[subprocess.Popen[bytes]] = []

    def run() -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "tests.bus.probe_process"]
        env = {**os.environ, **place.environment()}
        running.append(subprocess.Popen(argv, cwd=ROOT, env=env, stderr=subprocess.PIPE))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
async def bus(place: Place) -> AsyncIterator[Bus]:
    client = Bus(Runtime(place.runtime), "test")
    yield client
    client.close()


async def test_in_flight_asks_fail_at_once_when_the_actor_is_killed(start: Start, bus: Bus) -> None:
    process = start()
    await bus.ask(Echo(text=""), timeout=20, wait=20)
    task = asyncio.ensure_future(bus.ask(Sleep(seconds=600), timeout=600))
    await asyncio.sleep(0)
    process.kill()
    with pytest.raises(PeerRestarted, match="probe went away"):
        await asyncio.wait_for(task, 10)


async def test_the_client_finds_the_next_incarnation(start: Start, bus: Bus) -> None:
    first = start()
    before = await bus.ping("probe", timeout=20, wait=20)
    first.kill()
    first.wait()
    start()
    after = await bus.ping("probe", timeout=20, wait=20)
    assert before["n"] != after["n"]
    assert (await bus.ask(Echo(text="again"), timeout=20, wait=20)).text == "again"


async def test_only_idempotent_asks_are_repeated(start: Start, bus: Bus) -> None:
    first = start()
    pid = (await bus.ask(Echo(text=""), timeout=20, wait=20)).pid
    os.kill(pid, signal.SIGSTOP)  # takes requests and answers none
    once = asyncio.ensure_future(bus.ask(Echo(text="once"), timeout=30))
    again = asyncio.ensure_future(bus.ask(EchoAgain(text="again"), timeout=30, wait=20))
    await asyncio.sleep(0.05)
    first.kill()
    first.wait()
    start()
    assert (await again).text == "again"
    with pytest.raises(PeerRestarted):
        await once


async def test_nobody_there_is_said_at_once_when_nothing_is_to_be_waited_for(bus: Bus) -> None:
    with pytest.raises(PeerUnavailable, match="probe is not running"):
        await bus.ask(Echo(text=""), timeout=20, wait=0)


async def test_a_second_process_of_the_same_name_is_refused(start: Start, bus: Bus, place: Place) -> None:
    start()
    await bus.ping("probe", timeout=20, wait=20)
    second = start()
    _, stderr = second.communicate(timeout=20)
    assert second.returncode == 1
    assert b"probe is already running (process " in stderr
    assert (await bus.ask(Echo(text="still here"), timeout=5)).text == "still here"


async def test_term_ends_it_and_frees_the_name(start: Start, bus: Bus, place: Place) -> None:
    process = start()
    await bus.ping("probe", timeout=20, wait=20)
    assert owner_of(place.locks / "probe.lock") == process.pid
    process.terminate()
    assert process.wait(20) == 0
    assert owner_of(place.locks / "probe.lock") == 0


async def test_another_wire_version_is_named(start: Start, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    from bus import envelope

    start()
    await bus.ping("probe", timeout=20, wait=20)
    monkeypatch.setitem(envelope._prefixes, envelope.ASK, bytes((99, envelope.ASK)))
    with pytest.raises(VersionMismatch, match="wire version 99"):
        await bus.ask(Echo(text=""), timeout=5)


def test_an_actor_ends_with_its_parent(place: Place) -> None:
    """The parent is killed; nobody tells the actor."""
    code = (
        "import subprocess, sys, time;"
        "p = subprocess.Popen([sys.executable, '-m', 'tests.bus.probe_process']);"
        "print(p.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **place.environment()}, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    lock = place.locks / "probe.lock"
    eventually_blocking(lambda: owner_of(lock) == pid)
    parent.kill()
    parent.wait()
    eventually_blocking(lambda: owner_of(lock) == 0)
