"""What runs at a place: the supervisor's view and each actor's own, put together."""

from __future__ import annotations

import asyncio
import contextlib
import time

import msgspec

from bus.build import build_id
from bus.client import Bus
from bus.errors import BusError
from bus.lock import owner_of
from bus.status import ActorStatus, GetStatus
from bus.supervision import ChildState, ClusterState, GetCluster
from cli.cluster import SUPERVISOR, running_names, supervisor_pid
from config.place import Place

PATIENCE_SECONDS = 2.0


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One actor.

    Attributes:
        state: the supervisor's word, or without one `ready`, `not answering`, `not running`.
        uptime_seconds: of the present incarnation; `None` when it does not run.
        running / waiting: messages at work and in the mailbox; `None` when it does not say.
    """

    name: str
    state: str
    pid: int = 0
    uptime_seconds: float | None = None
    restarts: int | None = None
    running: int | None = None
    waiting: int | None = None
    rss_bytes: int | None = None
    build: str = ""
    last_exit: str = ""
    log: str = ""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that runs.

    Attributes:
        mode: `background`, `pinned`, `private`; `foreground` for actors without a supervisor; empty = nothing runs.
    """

    mode: str = ""
    actors: tuple[Line, ...] = ()
    holders: int = 0
    idle_exit_seconds: float | None = None
    build: str = ""

    @property
    def troubled(self) -> list[Line]:
        """The actors that do not serve."""
        return [line for line in self.actors if line.state != "ready"]

    @property
    def other_builds(self) -> list[Line]:
        """The actors that run other code than this command."""
        return [line for line in self.actors if line.build and line.build != self.build]


async def survey(place: Place, bus: Bus) -> Survey:
    """Asks the supervisor, if there is one, and every actor that runs."""
    state: ClusterState | None = None
    pid = supervisor_pid(place)
    if pid:
        with contextlib.suppress(BusError):
            state = await bus.ask(GetCluster(), timeout=PATIENCE_SECONDS)
    names = [child.name for child in state.children] if state else running_names(place)
    owners = {name: owner_of(place.locks / f"{name}.lock") for name in names}
    if not pid and not any(owners.values()):
        return Survey(build=build_id())
    if pid:
        names = [SUPERVISOR, *names]
        owners[SUPERVISOR] = pid
    statuses = await asyncio.gather(*(_status(bus, name) if owners[name] else _nothing() for name in names))
    children = {child.name: child for child in state.children} if state else {}
    lines = [
        _line(name, owners[name], status, children.get(name)) for name, status in zip(names, statuses, strict=True)
    ]
    return Survey(
        mode=state.mode if state else "" if pid else "foreground",
        actors=tuple(lines),
        holders=state.holders if state else 0,
        idle_exit_seconds=state.idle_exit_seconds if state else None,
        build=build_id(),
    )


def _line(name: str, owner: int, status: ActorStatus | None, child: ChildState | None) -> Line:
    alone = "ready" if status else "not answering" if owner else "not running"
    state = child.state if child else alone
    if state == "ready" and status is None:
        state = "not answering"  # the supervisor has not noticed yet
    started = status.started if status else 0.0
    return Line(
        name=name,
        state=state,
        pid=child.pid if child else owner,
        uptime_seconds=max(0.0, time.time() - started) if status else None,
        restarts=child.restarts if child else None,
        running=status.running if status else None,
        waiting=status.waiting if status else None,
        rss_bytes=status.rss_bytes if status else None,
        build=status.build if status else "",
        last_exit=child.last_exit if child else "",
        log=child.log if child else "",
    )


async def _status(bus: Bus, name: str) -> ActorStatus | None:
    try:
        return await bus.ask(GetStatus(), timeout=PATIENCE_SECONDS, wait=PATIENCE_SECONDS / 2, actor=name)
    except BusError:
        return None


async def _nothing() -> None:
    return None
