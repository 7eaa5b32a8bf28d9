"""A process under a supervisor: its state, its history, and when it may start again."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import threading
import time
from collections import deque
from dataclasses import dataclass

from bus.launch import ChildSpec
from bus.supervision import ChildStateName


@dataclass(frozen=True)
class Timing:
    """The supervisor's times, in seconds, and its restart budget.

    Attributes:
        ready: from a child's start to its first answer that says ready.
        ping / hung: how often a child is asked for a sign of life; without one for `hung` it is killed.
        backoff / backoff_limit: the pause before a restart doubles from one to the other.
        healthy: a child that has been ready for so long starts again at the shortest pause.
        budget / window: restarts that a child may have within the window.
        revive: how often a child that is over its budget is tried again: what it lacked (room on the disk, say) may be
            there again.
        stop: from TERM to KILL.
    """

    ready: float = 30.0
    ping: float = 5.0
    hung: float = 30.0
    backoff: float = 0.1
    backoff_limit: float = 10.0
    healthy: float = 30.0
    budget: int = 5
    window: float = 60.0
    revive: float = 60.0
    stop: float = 8.0


class Supervised:
    """One process and its history.

    Attributes:
        asked: set while somebody wants it restarted.
        is_given_up: it is over its budget and has not been healthy since.
        verdict: why it was killed, if it was.
    """

    def __init__(self, spec: ChildSpec, timing: Timing) -> None:
        self.spec = spec
        self.process: subprocess.Popen[bytes] | None = None
        self.exited = asyncio.Event()
        self.ready = asyncio.Event()
        self.asked = asyncio.Event()
        self.state: ChildStateName = "starting"
        self.restarts = 0
        self.last_exit = ""
        self.is_given_up = False
        self.verdict = ""
        self.started = 0.0
        self._ready_at: float | None = None
        self._timing = timing
        self._recent: deque[float] = deque()
        self._pause = timing.backoff

    @property
    def pid(self) -> int:
        return 0 if self.process is None else self.process.pid

    def run(self, process: subprocess.Popen[bytes]) -> None:
        """Takes over a process that has just been started."""
        self.process = process
        self.exited = asyncio.Event()
        self.ready.clear()
        self.state = "down" if self.is_given_up else "starting"
        self.verdict, self.started, self._ready_at = "", time.time(), None
        loop = asyncio.get_running_loop()
        threading.Thread(target=_wait, args=(process, loop, self.exited), daemon=True).start()

    def is_ready(self) -> None:
        self.state, self._ready_at = "ready", time.monotonic()
        self.ready.set()

    def ready_seconds(self) -> float:
        return 0.0 if self._ready_at is None else time.monotonic() - self._ready_at

    def is_alive(self) -> bool:
        return self.process is not None and not self.exited.is_set()

    def signal(self, number: int) -> None:
        if self.process is not None and not self.exited.is_set():
            self.process.send_signal(number)

    def kill(self, verdict: str) -> None:
        """Ends it for a reason that stands in `last_exit` afterwards."""
        self.verdict = verdict
        self.signal(signal.SIGKILL)

    def forgive(self) -> None:
        """Forgets earlier failures."""
        self._recent.clear()
        self._pause = self._timing.backoff
        self.is_given_up = False

    def next_pause(self, ready_seconds: float, now: float) -> float:
        """Seconds to wait before the next start; gives the child up when the budget is spent.

        Args:
            ready_seconds: how long the incarnation that ended had been ready.
            now: monotonic.
        """
        if ready_seconds >= self._timing.healthy:
            self._pause = self._timing.backoff
            if self.is_given_up:
                self.forgive()
        while self._recent and self._recent[0] <= now - self._timing.window:
            self._recent.popleft()
        self.is_given_up = self.is_given_up or len(self._recent) >= self._timing.budget
        if self.is_given_up:
            return self._timing.revive
        self._recent.append(now)
        pause, self._pause = self._pause, min(self._pause * 2, self._timing.backoff_limit)
        return pause


def _wait(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, exited: asyncio.Event) -> None:
    process.wait()
    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(exited.set)
