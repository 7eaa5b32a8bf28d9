"""How long the first catalogue waits for servers that are still starting.

Many clients ask for the tools once, at their start, so the first catalogue of a cluster that has no kept copy waits
for servers that are just about to answer, and for nobody else:

- It is there as soon as every server has answered, failed, or is known from the kept catalogue of an earlier run.
- Otherwise as soon as 0.1 s (`QUIET_LOOKS`) have passed in which nothing happened that could lead to an answer: no
  server answered or failed, none was begun to be started, and no process of a silent one was at work (used or waited
  for a processor or the disk). A server that hangs is idle and thus costs the others 0.1 s; twelve that load their
  libraries on two processors are waited for.
- In any case after `MOST_SECONDS`.

What comes later is announced (`tools/list_changed`). Whether a server at an address is at work cannot be seen from
here: it counts as such while this very process gets ready to connect to it (the SDK, certificates), and from then on
for `OPENING_SECONDS`. Where there is no `/proc`, a process counts as at work for as long.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.02
QUIET_LOOKS = 3
"""Looks in a row that found everybody idle: with the one before them, a tenth of a second at most. Counted, not timed:
where this very process had to wait for a processor, the answers may have arrived and not been read yet."""
MOST_SECONDS = 3.0
OPENING_SECONDS = 1.0
IDLE_NANOSECONDS = 1_000_000
"""What a process may use between two looks and still count as idle: timers, threads that wake up and wait again."""
_PROC = Path("/proc")
_AT_WORK = (b"R", b"D")
_MAX_THREADS = 256


@dataclass(frozen=True)
class Silent:
    """Somebody whose answer is still to come.

    Attributes:
        pid: its process; 0 while there is none, or when it is none of ours.
        opening: it is just being started, or made ready to be connected to.
    """

    pid: int
    opening: bool


async def until_quiet(silent: Callable[[], dict[str, Silent]]) -> None:
    """Returns when nobody is silent any more, or nothing says that one of them will answer soon.

    Args:
        silent: those who have not answered yet, by name.
    """
    began = time.monotonic()
    before: dict[str, Silent] = {}
    used: dict[str, int] = {}
    connecting: dict[str, float] = {}
    quiet = 0
    while now_silent := silent():
        age = time.monotonic() - began
        young = age < OPENING_SECONDS
        work = {name: _work(one.pid) for name, one in now_silent.items() if one.pid}
        busy = any(
            (one.opening or age - connecting.setdefault(name, age) < OPENING_SECONDS)
            if not one.pid
            else _is_busy(work[name], used.get(name), young=young)
            for name, one in now_silent.items()
        )
        quiet = 0 if busy or now_silent != before else quiet + 1
        if quiet >= QUIET_LOOKS or age >= MOST_SECONDS:
            return
        before = now_silent
        used = {name: found.used for name, found in work.items() if found is not None}
        await asyncio.sleep(LOOK_SECONDS)


@dataclass(frozen=True)
class _Work:
    """What a process and those that it has started do: nanoseconds of processor time used, and whether a thread
    of theirs wants more."""

    used: int
    wants: bool


def _is_busy(work: _Work | None, used_before: int | None, *, young: bool) -> bool:
    if work is None:
        return young
    return work.wants or used_before is None or abs(work.used - used_before) > IDLE_NANOSECONDS


def _work(pid: int) -> _Work | None:
    """`None` where that cannot be seen."""
    if not _PROC.joinpath("self", "stat").exists():
        return None
    used, wants, seen = 0, False, 0
    waiting = [pid]
    while waiting and seen < _MAX_THREADS:
        process = waiting.pop()
        for thread in _threads(process):
            seen += 1
            try:
                state, nanoseconds, children = _look(f"/proc/{process}/task/{thread}")
            except (OSError, ValueError, IndexError):
                continue  # it has just ended
            wants = wants or state in _AT_WORK
            used += nanoseconds
            waiting += children
    return _Work(used, wants)


def _threads(process: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{process}/task")
    except OSError:
        return []


def _look(thread: str) -> tuple[bytes, int, list[int]]:
    """State, processor time in nanoseconds, and the processes that it has started. Raises OSError, ValueError."""
    with open(f"{thread}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    try:
        with open(f"{thread}/schedstat", "rb") as file:
            used = int(file.read().split()[0])
    except OSError:  # a kernel without it counts in ticks only
        used = (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    try:
        with open(f"{thread}/children", "rb") as file:
            children = list(map(int, file.read().split()))
    except OSError:
        children = []
    return fields[0], used, children
