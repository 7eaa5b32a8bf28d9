"""Runs one actor as a process: lock, socket, ready, signals, drain, end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import uvloop

from bus import groups
from bus.actor import Actor
from bus.errors import BusError
from bus.lock import OwnerLock
from bus.parent import die_with_parent, watch_parent


def run_actor(actor: Actor, *, lock: OwnerLock | None = None, outlives_parent: bool = False) -> None:
    """Serves until SIGTERM or SIGINT, or until the parent is gone. Exits 1 with one line when it cannot start.

    Args:
        lock: the lock of the actor's name, when it is held already.
    """
    parent = 0 if outlives_parent else die_with_parent()
    try:
        actor.place.prepare()
        actor.reopen_log()
        if lock is None:
            lock = OwnerLock(actor.place.locks / f"{actor.name}.lock")
            lock.acquire()
    except BusError as error:
        sys.exit(f"{actor.name}: {error.message}")
    try:
        uvloop.run(_serve(actor, parent))
    except BusError as error:
        actor.log.error("start_failed", error=error.message)
        sys.exit(f"{actor.name}: {error.message}")
    finally:
        if parent and os.getppid() != parent:
            # The supervisor is gone, so nobody else ends what a killed neighbour left behind.
            groups.reap(actor.place.groups)


async def _serve(actor: Actor, parent: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    watcher = loop.create_task(watch_parent(parent, stop.set)) if parent else None
    await actor.start()
    actor.log.info("ready", pid=os.getpid(), incarnation=actor.incarnation)
    await stop.wait()
    if watcher is not None:
        watcher.cancel()
    await actor.stop()
    actor.log.info("stopped")
