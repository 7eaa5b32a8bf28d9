"""For whom the first catalogue waits: real processes that work, hang, or come one after the other."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from actors.upstream import starting
from actors.upstream.starting import Silent, until_quiet

Spawn = Callable[[str], int]
BUSY = "while True: pass"
IDLE = "import time; time.sleep(1000)"


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts Python with a program, and returns the process id once the program runs."""
    processes = []

    def begin(program: str) -> int:
        argv = [sys.executable, "-I", "-S", "-c", f"print(flush=True)\n{program}"]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
        processes.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield begin
    for process in processes:
        os.killpg(process.pid, signal.SIGKILL)  # what it has started, too
        process.communicate()


async def returns(silent: Callable[[], dict[str, Silent]], seconds: float = 20) -> bool:
    """Whether the wait is over within `seconds`."""
    try:
        await asyncio.wait_for(until_quiet(silent), seconds)
    except TimeoutError:
        return False
    return True


async def test_nobody_is_waited_for_when_all_have_answered() -> None:
    assert await returns(dict)


async def test_one_that_hangs_is_not_waited_for(spawn: Spawn) -> None:
    pid = spawn(IDLE)
    assert await returns(lambda: {"idle": Silent(pid, False)})


async def test_one_that_works_is_waited_for_also_behind_others(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "MOST_SECONDS", 1000.0)
    monkeypatch.setattr(starting, "OPENING_SECONDS", 0.0)
    answered = False
    program = f"import subprocess, sys, threading; run = lambda: subprocess.run([sys.executable, '-c', {BUSY!r}])"
    pid = spawn(f"{program}\nthreading.Thread(target=run).start()")
    idle = spawn(IDLE)

    def silent() -> dict[str, Silent]:
        return {"idle": Silent(idle, False)} | ({} if answered else {"busy": Silent(pid, False)})

    waiting = asyncio.ensure_future(until_quiet(silent))
    done, _ = await asyncio.wait([waiting], timeout=1.0)
    assert not done
    answered = True  # the idle one holds up nothing any more
    await asyncio.wait_for(waiting, 20)


async def test_one_that_works_for_ever_is_not_waited_for_for_ever(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "MOST_SECONDS", 0.3)
    pid = spawn(BUSY)
    assert await returns(lambda: {"busy": Silent(pid, False)})


async def test_a_process_that_has_ended_counts_as_idle(spawn: Spawn) -> None:
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    assert await returns(lambda: {"gone": Silent(int(gone.stdout), False)})


async def test_addresses_have_a_moment_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """From when they are connected to: what comes before is our own work."""
    monkeypatch.setattr(starting, "OPENING_SECONDS", 0.0)
    monkeypatch.setattr(starting, "MOST_SECONDS", 1000.0)
    opening = True
    waiting = asyncio.ensure_future(until_quiet(lambda: {"far": Silent(0, opening)}))
    done, _ = await asyncio.wait([waiting], timeout=0.5)
    assert not done
    monkeypatch.setattr(starting, "OPENING_SECONDS", 1000.0)
    opening = False
    done, _ = await asyncio.wait([waiting], timeout=0.5)
    assert not done
    monkeypatch.setattr(starting, "OPENING_SECONDS", 0.0)
    await asyncio.wait_for(waiting, 20)
