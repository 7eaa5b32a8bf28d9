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
from bus.tasks import end

STOP_SECONDS = 12
"""From the wish to stop on, the kernel ends the process after this long, whatever it hangs in. Longer than draining
takes, so that it is only the last resort; a supervisor is quicker."""


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
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        signal.alarm(STOP_SECONDS)
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    watcher = loop.create_task(watch_parent(parent, stop)) if parent else None
    start, until_stopped = loop.create_task(actor.start()), loop.create_task(stopped.wait())
    await asyncio.wait((start, until_stopped), return_when=asyncio.FIRST_COMPLETED)
    if start.done():
        start.result()
        actor.log.info("ready", pid=os.getpid(), incarnation=actor.incarnation)
        await until_stopped
        await actor.stop()
    else:
        await end((start,))
    if watcher is not None:
        watcher.cancel()
    actor.log.info("stopped")
