"""Starts, watches, restarts and stops the processes of a cluster: one for one, with back-off and a restart budget."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bus import actor, envelope, groups, reaper
from bus import launch as launching
from bus.actor import DRAIN_SECONDS, Actor, Context, handles, streams
from bus.census import note_pinned, note_running, note_stopping, orphans, was_pinned, write_census
from bus.errors import BusError, Refused
from bus.launch import ChildSpec, last_words, launch, output
from bus.lock import owner_of
from bus.supervised import Supervised, Timing
from bus.supervision import (
    ChildState,
    ClusterState,
    GetCluster,
    Held,
    Hold,
    Mode,
    Pin,
    RestartChild,
    Shutdown,
    Touch,
)

POLL_SECONDS = 0.02
REAP_SECONDS = 2.0


class Place(actor.Place, launching.Place, Protocol):
    """What a supervisor must know of where its cluster lives (`config.place.Place`)."""


@dataclass(frozen=True)
class Fault:
    """A child that ended by itself: `what` is `restarted` or `down`."""

    name: str
    what: str
    detail: str


class Supervisor(Actor):
    """Keeps a list of processes running.

    Args:
        specs: in the order of their start.
        mode: only a `background` cluster goes away by itself.
        idle_exit_seconds: after so long without a lease or a touch; 0 = never.
        first: the process of `specs[0]`, when it has been started already.
        on_fault: told about each child that ended by itself.
    """

    name = "supervisor"

    def __init__(
        self,
        place: Place,
        specs: Sequence[ChildSpec],
        *,
        mode: Mode,
        idle_exit_seconds: float = 900.0,
        timing: Timing | None = None,
        first: subprocess.Popen[bytes] | None = None,
        on_fault: Callable[[Fault], None] | None = None,
    ) -> None:
        super().__init__(place)
        self._place: Place = place
        self._mode: Mode = mode
        self._idle_seconds = idle_exit_seconds
        self._timing = timing or Timing()
        self._started_early = {specs[0].name: first} if first is not None else {}
        self._on_fault = on_fault
        self._children = {spec.name: Supervised(spec, self._timing) for spec in specs}
        self._holders = 0
        self._idle_clock: asyncio.TimerHandle | None = None
        self._reaper: subprocess.Popen[bytes] | None = None

    async def setup(self) -> None:
        left = orphans(self._place.locks)
        if self._mode == "pinned" or (self._mode == "background" and was_pinned(self._place.locks)):
            self._pin()
        note_running(self._place.locks, self._holders)
        for child in self._children.values():
            self.spawn(self._keep(child, left.get(child.spec.name, 0)), name=f"keep-{child.spec.name}")
        self.spawn(self._reap(0), name="reap-stale-groups")
        self._reaper = reaper.start(self._place)
        self._restart_idle_clock()

    async def stop(self, drain: float = DRAIN_SECONDS) -> None:
        note_stopping(self._place.locks)
        await super().stop(drain)

    async def teardown(self) -> None:
        self._stop_idle_clock()
        children = list(reversed(self._children.values()))
        for last in (False, True):
            await self._end([child for child in children if child.spec.stops_last is last])
        await asyncio.to_thread(groups.reap, self._place.groups)
        if self._reaper is not None:
            await asyncio.to_thread(reaper.stop, self._reaper)

    @streams(Hold)
    async def hold(self, request: Hold, context: Context) -> AsyncIterator[Held]:
        self._holders += 1
        note_running(self._place.locks, self._holders)
        self._stop_idle_clock()
        try:
            yield Held()
            await asyncio.Event().wait()
        finally:
            self._holders -= 1
            note_running(self._place.locks, self._holders)
            self._restart_idle_clock()

    @handles(Touch)
    async def touch(self, request: Touch, context: Context) -> None:
        self._restart_idle_clock()

    @handles(Pin)
    async def pin(self, request: Pin, context: Context) -> None:
        if self._mode == "background":
            self._pin()
        self._stop_idle_clock()

    @handles(Shutdown)
    async def shutdown(self, request: Shutdown, context: Context) -> None:
        self.log.info("shutdown_asked", sender=context.sender)
        asyncio.get_running_loop().call_soon(_leave)

    @handles(RestartChild)
    async def restart(self, request: RestartChild, context: Context) -> ChildState:
        child = self._children.get(request.name)
        if child is None:
            raise Refused(f"there is no actor {request.name!r}; there are {', '.join(self._children)}")
        child.asked.set()
        await self._end([child])
        child.ready.clear()
        await child.ready.wait()
        return self._child_state(child)

    @handles(GetCluster)
    async def cluster(self, request: GetCluster, context: Context) -> ClusterState:
        loop = asyncio.get_running_loop()
        return ClusterState(
            mode=self._mode,
            pid=os.getpid(),
            started=self._started,
            children=tuple(self._child_state(child) for child in self._children.values()),
            holders=self._holders,
            idle_exit_seconds=None if self._idle_clock is None else max(0.0, self._idle_clock.when() - loop.time()),
        )

    def _pin(self) -> None:
        self._mode = "pinned"
        note_pinned(self._place.locks)

    async def _keep(self, child: Supervised, orphan: int) -> None:
        """Runs a child again and again."""
        if orphan:
            await self._outlast(child.spec.name, orphan)
        while True:
            ready_seconds = await self._run(child)
            if not child.asked.is_set():
                was_given_up = child.is_given_up
                pause = child.next_pause(ready_seconds, time.monotonic())
                self._died(child, pause, is_known=was_given_up and not ready_seconds)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(child.asked.wait(), pause)
            if child.asked.is_set():
                child.asked.clear()
                child.forgive()
            child.restarts += 1

    async def _run(self, child: Supervised) -> float:
        """One incarnation, from its start to its end; returns for how many seconds it was ready."""
        try:
            process = self._started_early.pop(child.spec.name, None) or launch(child.spec, self._place)
        except OSError as error:
            child.last_exit = f"cannot start {child.spec.argv[0]}: {error.strerror}"
            return 0.0
        child.run(process)
        write_census(self._place.locks, {c.spec.name: c.process.pid for c in self._children.values() if c.process})
        health = self.spawn(self._watch_health(child), name=f"health-{child.spec.name}")
        try:
            await child.exited.wait()
        finally:
            health.cancel()
        child.last_exit = child.verdict or _ending(process.returncode, last_words(self._place.logs, child.spec.name))
        # What cannot be ended must not keep the child from coming back.
        await asyncio.wait([self.spawn(self._reap(process.pid), name="reap")], timeout=REAP_SECONDS)
        return child.ready_seconds()

    async def _watch_health(self, child: Supervised) -> None:
        """Kills a child that does not become ready, or that lives and does not answer any more."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timing.ready
        while not await self._answers(child):
            if loop.time() > deadline:
                log = output(self._place.logs, child.spec.name)
                child.kill(f"not ready within {self._timing.ready:g} s; see {log}")
                return
            await asyncio.sleep(POLL_SECONDS)
        child.is_ready()
        self.log.info("child_ready", child=child.spec.name, pid=child.pid)
        last, missed = loop.time(), 0
        while True:
            await asyncio.sleep(self._timing.ping)
            if await self._answers(child):
                last, missed = loop.time(), 0
            else:
                missed += 1
            # A single miss after a long time says that this process was stopped, not the child.
            if missed > 1 and loop.time() - last >= self._timing.hung:
                child.kill(f"gave no sign of life for {self._timing.hung:g} s")
                return

    async def _answers(self, child: Supervised) -> bool:
        seconds = self._timing.ping
        try:
            header = await self.bus.ping(child.spec.name, timeout=seconds, wait=seconds)
        except BusError:
            return False
        return bool(header.get(envelope.READY)) and header.get(envelope.PROCESS) == child.pid

    async def _outlast(self, name: str, orphan: int) -> None:
        """Waits for an actor of a dead supervisor to end, which it does by itself unless it hangs."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timing.stop
        while owner_of(self._place.locks / f"{name}.lock") == orphan:
            if loop.time() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            await asyncio.sleep(POLL_SECONDS)
        await self._reap(orphan)

    async def _end(self, children: Sequence[Supervised]) -> None:
        """TERM, then KILL to what is left after the bound."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            left = [child for child in children if child.is_alive()]
            if not left:
                return
            for child in left:
                child.signal(number)
            waits = [asyncio.ensure_future(child.exited.wait()) for child in left]
            _, late = await asyncio.wait(waits, timeout=self._timing.stop)
            for wait in late:
                wait.cancel()

    async def _reap(self, owner: int) -> None:
        killed = await asyncio.to_thread(groups.reap, self._place.groups, dead_owner=owner)
        if killed:
            self.log.warning("left_behind_processes_killed", owner=owner, count=killed)

    def _died(self, child: Supervised, pause: float, *, is_known: bool) -> None:
        """Args: is_known: it was down before and has not come up in between, which need not be said again."""
        child.state = "down" if child.is_given_up else "restarting"
        if is_known:
            return
        name, reason = child.spec.name, child.last_exit
        if child.is_given_up:
            budget = f"{self._timing.budget} restarts in {self._timing.window:g} s"
            self.log.error("child_down", child=name, reason=reason, budget=budget, tried_again_every=pause)
            fault = Fault(name, "down", f"{reason}; {budget} did not help, now one every {pause:g} s")
        else:
            self.log.warning("child_restarts", child=name, reason=reason, pause=pause)
            fault = Fault(name, "restarted", reason)
        if self._on_fault is not None:
            self._on_fault(fault)

    def _child_state(self, child: Supervised) -> ChildState:
        return ChildState(
            name=child.spec.name,
            pid=child.pid if child.is_alive() else 0,
            state=child.state,
            restarts=child.restarts,
            last_exit=child.last_exit,
            started=child.started,
            log=str(output(self._place.logs, child.spec.name)),
        )

    def _restart_idle_clock(self) -> None:
        self._stop_idle_clock()
        if self._mode == "background" and self._idle_seconds and not self._holders:
            self._idle_clock = asyncio.get_running_loop().call_later(self._idle_seconds, self._idle_exit)

    def _stop_idle_clock(self) -> None:
        if self._idle_clock is not None:
            self._idle_clock.cancel()
            self._idle_clock = None

    def _idle_exit(self) -> None:
        self.log.info("idle_exit", seconds=self._idle_seconds)
        _leave()


def _leave() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _ending(returncode: int, last_line: str) -> str:
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit {returncode}: {last_line}" if returncode and last_line else f"exit {returncode}"
