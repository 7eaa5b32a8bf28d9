"""The supervisor as a process of its own, over good and bad children."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bus import groups
from bus.census import orphans
from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import BusError, Refused
from bus.launch import output
from bus.lock import owner_of
from bus.message import Request
from bus.supervision import (
    ChildState,
    ClusterState,
    GetCluster,
    Hold,
    Pin,
    RestartChild,
    Shutdown,
    Touch,
)
from config.place import Place
from tests.bus.actors_under_test import Echoed
from tests.eventually import PATIENCE_SECONDS, eventually

ROOT = Path(__file__).parent.parent.parent
Start = Callable[..., "subprocess.Popen[bytes]"]
QUICK: dict[str, float] = {"backoff": 0.01, "ping": 0.1, "stop": 2.0}


@pytest.fixture
def start(place: Place) -> Iterator[Start]:
    running: list[subprocess.Popen[bytes]] = []

    def run(children: dict[str, str], timing: dict[str, float] | None = None, **options: Any) -> Any:
        document = json.dumps({"children": children, "timing": {**QUICK, **(timing or {})}, **options})
        argv = [sys.executable, "-m", "tests.bus.supervisor_process", document]
        running.append(subprocess.Popen(argv, cwd=ROOT, env={**os.environ, **place.environment()}))
        return running[-1]

    yield run
    for process in running:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


@pytest.fixture
async def bus(place: Place) -> AsyncIterator[Bus]:
    client = Bus(Runtime(place.runtime), "test")
    yield client
    client.close()


async def state_of(bus: Bus) -> ClusterState:
    return await bus.ask(GetCluster(), timeout=20, wait=20)


async def child_when(bus: Bus, condition: Callable[[ChildState], object], name: str = "child") -> ChildState:
    """The child's state once it fulfils a condition."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            for child in (await state_of(bus)).children:
                if child.name == name and condition(child):
                    return child
            await asyncio.sleep(0.01)


def is_ready(child: ChildState) -> bool:
    return child.state == "ready"


def has_process(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


async def test_children_become_ready_and_are_described(start: Start, bus: Bus, place: Place) -> None:
    supervisor = start({"child": "good", "other": "good"})
    child = await child_when(bus, is_ready)
    await child_when(bus, is_ready, "other")
    state = await state_of(bus)
    assert state.pid == supervisor.pid
    assert state.mode == "pinned"
    assert [c.name for c in state.children] == ["child", "other"]
    assert child.restarts == 0
    assert child.last_exit == ""
    assert child.pid == owner_of(place.locks / "child.lock")
    assert child.log == str(place.logs / "child.out")
    assert os.readlink(f"/proc/{child.pid}/cwd") == str(place.locks)
    assert output(place.logs, "child").stat().st_mode & 0o777 == 0o600


async def test_a_killed_child_comes_back_and_the_others_never_notice(start: Start, bus: Bus, place: Place) -> None:
    start({"child": "good", "other": "good"})
    before = await child_when(bus, is_ready)
    other = await child_when(bus, is_ready, "other")
    os.kill(before.pid, signal.SIGKILL)
    after = await child_when(bus, lambda c: is_ready(c) and c.restarts == 1)
    assert after.pid != before.pid
    assert after.last_exit == "killed by SIGKILL"
    assert (await child_when(bus, is_ready, "other")) == other
    assert (place.state / "faults").read_text() == "child restarted: killed by SIGKILL\n"


async def test_a_child_that_fails_at_first_is_tried_again(start: Start, bus: Bus) -> None:
    start({"child": "fails_at_first"})
    child = await child_when(bus, is_ready)
    assert child.restarts == 2


async def test_over_its_budget_a_child_is_down_and_the_rest_serves(start: Start, bus: Bus, place: Place) -> None:
    start({"child": "fails", "other": "good"}, {"budget": 2})
    child = await child_when(bus, lambda c: c.state == "down")
    assert child.restarts == 2
    assert child.pid == 0
    assert child.last_exit == "exit 1: child: cannot open its store"
    await child_when(bus, is_ready, "other")
    faults = (place.state / "faults").read_text().splitlines()
    assert [line.split(":")[0] for line in faults] == ["child restarted", "child restarted", "child down"]
    assert "2 restarts in 60 s did not help, now one every 60 s" in faults[-1]


async def test_a_child_that_is_down_comes_back_when_it_can_and_says_so_once(
    start: Start, bus: Bus, place: Place
) -> None:
    start({"child": "needs_room"}, {"budget": 1, "revive": 0.1})
    await child_when(bus, lambda c: c.state == "down")
    states: set[str] = set()

    def in_vain(child: ChildState) -> bool:
        states.add(child.state)
        return child.restarts >= 4

    await child_when(bus, in_vain)
    assert states == {"down"}
    (place.locks / "room").touch()
    await child_when(bus, is_ready)
    faults = (place.state / "faults").read_text().splitlines()
    assert [line.split(":")[0] for line in faults] == ["child restarted", "child down"]


async def test_restarting_a_child_that_is_down_gives_it_a_fresh_budget(start: Start, bus: Bus, place: Place) -> None:
    start({"child": "fails_at_first"}, {"budget": 1})
    await child_when(bus, lambda c: c.state == "down")
    child = await bus.ask(RestartChild(name="child"), timeout=20)
    assert is_ready(child)
    assert child.pid == owner_of(place.locks / "child.lock")


async def test_restart_replaces_a_running_child(start: Start, bus: Bus) -> None:
    start({"child": "good"}, {"budget": 0})  # an asked-for restart costs no budget
    before = await child_when(bus, is_ready)
    after = await bus.ask(RestartChild(name="child"), timeout=20)
    assert is_ready(after)
    assert after.pid != before.pid
    assert after.last_exit == "exit 0"


async def test_restart_of_an_unknown_child_names_the_known_ones(start: Start, bus: Bus) -> None:
    start({"child": "good", "other": "good"})
    await state_of(bus)
    with pytest.raises(Refused, match="there is no actor 'chidl'; there are child, other"):
        await bus.ask(RestartChild(name="chidl"), timeout=20)


async def test_a_child_that_is_never_ready_is_replaced_and_its_log_is_named(start: Start, bus: Bus) -> None:
    start({"child": "never_ready"}, {"ready": 1.0, "budget": 0})
    child = await child_when(bus, lambda c: c.state == "down")
    assert child.last_exit.startswith("not ready within 1 s; see ")
    assert child.last_exit.endswith("child.out")


async def test_a_child_that_never_binds_is_replaced_too(start: Start, bus: Bus) -> None:
    start({"child": "silent"}, {"ready": 0.5, "budget": 0})
    child = await child_when(bus, lambda c: c.state == "down")
    assert child.last_exit.startswith("not ready within 0.5 s")


async def test_a_hung_child_is_killed_and_replaced(start: Start, bus: Bus) -> None:
    start({"child": "good"}, {"hung": 0.5})
    before = await child_when(bus, is_ready)
    os.kill(before.pid, signal.SIGSTOP)
    after = await child_when(bus, lambda c: is_ready(c) and c.restarts == 1)
    assert after.pid != before.pid
    assert after.last_exit == "gave no sign of life for 0.5 s"


async def test_what_a_killed_child_left_behind_is_ended(start: Start, bus: Bus, place: Place) -> None:
    start({"child": "with_server"})
    before = await child_when(bus, is_ready)
    marker = place.logs / "server.pid"
    await eventually(lambda: marker.exists() and marker.read_text().strip())
    server = int(marker.read_text())
    assert has_process(server)
    os.kill(before.pid, signal.SIGKILL)
    await child_when(bus, lambda c: is_ready(c) and c.restarts == 1)
    assert not has_process(server)
    assert {group.owner for group in groups.recorded(place.groups)} == {owner_of(place.locks / "child.lock")}


async def test_stop_ends_everything_even_a_stubborn_child(start: Start, bus: Bus, place: Place) -> None:
    supervisor = start({"stubborn": "stubborn", "child": "with_server", "last": "good"}, {"stop": 0.5})
    pids = [(await child_when(bus, is_ready, name)).pid for name in ("stubborn", "child", "last")]
    marker = place.logs / "server.pid"
    await eventually(lambda: marker.exists() and marker.read_text().strip())
    supervisor.terminate()
    assert supervisor.wait(PATIENCE_SECONDS) == 0
    assert not [pid for pid in (*pids, int(marker.read_text())) if has_process(pid)]
    assert groups.recorded(place.groups) == []


async def test_what_stops_last_outlives_the_others(start: Start, bus: Bus, place: Place) -> None:
    supervisor = start({"last": "good", "child": "good"})
    await child_when(bus, is_ready)
    await child_when(bus, is_ready, "last")
    supervisor.terminate()
    assert supervisor.wait(PATIENCE_SECONDS) == 0
    stopped = {}
    for name in ("last", "child"):
        lines = [json.loads(line) for line in (place.logs / f"{name}.log").read_text().splitlines()]
        stopped[name] = next(line["ts"] for line in lines if line["event"] == "stopped")
    assert stopped["child"] < stopped["last"]


async def test_nothing_is_left_when_the_supervisor_is_killed(start: Start, bus: Bus, place: Place) -> None:
    supervisor = start({"child": "with_server", "other": "good"})
    pids = [(await child_when(bus, is_ready, name)).pid for name in ("child", "other")]
    marker = place.logs / "server.pid"
    await eventually(lambda: marker.exists() and marker.read_text().strip())
    pids.append(int(marker.read_text()))
    supervisor.kill()
    supervisor.wait()
    await eventually(lambda: not [pid for pid in pids if has_process(pid)])


async def test_the_next_supervisor_ends_a_child_that_hangs(start: Start, bus: Bus, place: Place) -> None:
    first = start({"child": "good"})
    before = await child_when(bus, is_ready)
    os.kill(before.pid, signal.SIGSTOP)  # cannot notice that its supervisor goes away
    first.kill()
    first.wait()
    assert orphans(place.locks) == {"child": before.pid}
    start({"child": "good"}, {"stop": 0.5})
    after = await child_when(bus, is_ready)
    assert after.pid != before.pid
    assert after.restarts == 0
    assert not has_process(before.pid)


async def test_a_private_supervisor_ends_with_its_parent(place: Place) -> None:
    document = json.dumps({"children": {"child": "good"}, "mode": "private"})
    code = (
        "import subprocess, sys, time;"
        f"subprocess.Popen([sys.executable, '-m', 'tests.bus.supervisor_process', {document!r}]);"
        "time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **place.environment()})
    locks = [place.locks / "supervisor.lock", place.locks / "child.lock"]
    await eventually(lambda: all(map(owner_of, locks)))
    parent.kill()
    parent.wait()
    await eventually(lambda: not any(map(owner_of, locks)))


async def test_without_a_user_a_background_cluster_goes_away(start: Start, bus: Bus, place: Place) -> None:
    supervisor = start({"child": "good"}, mode="background", idle=0.5)
    assert await asyncio.to_thread(supervisor.wait, PATIENCE_SECONDS) == 0
    assert owner_of(place.locks / "child.lock") == 0


async def test_a_lease_keeps_it_and_its_end_starts_the_idle_time(start: Start, bus: Bus) -> None:
    supervisor = start({"child": "good"}, mode="background", idle=1.5)
    held = asyncio.Event()

    async def hold() -> None:
        async for _ in bus.watch(Hold(), wait=20):
            held.set()

    holder = asyncio.ensure_future(hold())
    await held.wait()
    state = await state_of(bus)
    assert (state.holders, state.idle_exit_seconds) == (1, None)
    holder.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await holder

    async def has_left() -> bool:
        state = await state_of(bus)
        return state.holders == 0 and state.idle_exit_seconds is not None

    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await has_left():
            await asyncio.sleep(0.01)
    assert await asyncio.to_thread(supervisor.wait, PATIENCE_SECONDS) == 0


async def test_the_lease_of_a_killed_holder_ends(start: Start, bus: Bus, place: Place) -> None:
    start({}, mode="background", idle=100)
    await state_of(bus)
    code = (
        "import asyncio; from pathlib import Path; from bus.client import Bus; from bus.endpoint import Runtime\n"
        "from bus.supervision import Hold\n"
        "async def main():\n"
        f"    async for _ in Bus(Runtime(Path({str(place.runtime)!r})), 'holder').watch(Hold(), wait=20): pass\n"
        "asyncio.run(main())"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)

    async def until(holders: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await state_of(bus)).holders != holders:
                await asyncio.sleep(0.02)

    await until(1)
    holder.kill()
    holder.wait()
    await until(0)


async def test_a_touch_starts_the_idle_time_anew(start: Start, bus: Bus) -> None:
    start({}, mode="background", idle=100)
    first = await state_of(bus)
    await asyncio.sleep(0.1)
    later = await state_of(bus)
    await bus.tell(Touch(), timeout=20)
    touched = await state_of(bus)
    assert first.idle_exit_seconds and later.idle_exit_seconds and touched.idle_exit_seconds
    assert later.idle_exit_seconds < first.idle_exit_seconds - 0.05
    assert touched.idle_exit_seconds > later.idle_exit_seconds


async def test_pinned_it_stays(start: Start, bus: Bus) -> None:
    start({}, mode="background", idle=100)
    assert (await state_of(bus)).idle_exit_seconds is not None
    await bus.tell(Pin(), timeout=20)
    await bus.tell(Touch(), timeout=20)
    state = await state_of(bus)
    assert (state.mode, state.idle_exit_seconds) == ("pinned", None)


async def test_shutdown_is_acknowledged_and_then_done(start: Start, bus: Bus) -> None:
    supervisor = start({"child": "good"})
    await child_when(bus, is_ready)
    await bus.tell(Shutdown(), timeout=20)
    assert await asyncio.to_thread(supervisor.wait, PATIENCE_SECONDS) == 0


async def test_a_restart_under_load_is_answered_again(start: Start, bus: Bus) -> None:
    class EchoAgain(Request[Echoed], frozen=True, kw_only=True):
        actor = "child"
        reply = Echoed
        idempotent = True

        text: str

    start({"child": "good"})
    before = await child_when(bus, is_ready)
    answers: list[int] = []

    async def caller() -> None:
        while not answers or answers[-1] == before.pid:
            with contextlib.suppress(BusError):
                answers.append((await bus.ask(EchoAgain(text="x"), timeout=2)).pid)

    callers = [asyncio.ensure_future(caller()) for _ in range(8)]
    await eventually(lambda: before.pid in answers)
    os.kill(before.pid, signal.SIGKILL)
    await asyncio.wait_for(asyncio.gather(*callers), PATIENCE_SECONDS)
    assert answers[-1] != before.pid
