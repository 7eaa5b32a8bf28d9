"""`python -P -m cli.supervise [--background | --pinned | --private] [--idle-exit SECONDS]`: runs a cluster.

The first actor decides how soon a client gets its tools, so it is started before the supervisor loads the rest of
itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from bus.errors import BusError
from bus.launch import launch
from bus.lock import OwnerLock, owner_of
from cli.cluster import SUPERVISOR, actor_specs, unsupervised
from config.place import Place

if TYPE_CHECKING:
    from bus.supervision import Mode

USAGE = "usage: python -P -m cli.supervise [--background | --pinned | --private] [--idle-exit SECONDS] [--lock-fd FD]"


def main(argv: list[str]) -> None:
    """Runs until TERM, INT, `Shutdown`, or nobody needs the cluster."""
    mode, idle_exit, lock_fd = _options(argv)
    place = Place.from_environment()
    try:
        place.prepare()
        lock = _own(place, lock_fd)
    except BusError as error:
        sys.exit(f"{SUPERVISOR}: {error.message}")
    specs = actor_specs()
    first = launch(specs[0], place) if not owner_of(place.locks / f"{specs[0].name}.lock") else None

    from config.load import load_settings

    settings = load_settings(place).settings.bus
    specs = actor_specs(settings.compressor_replicas)
    if idle_exit is None:
        idle_exit = settings.idle_exit_seconds

    from actors.telemetry.messages import FaultEvent
    from bus.run import run_actor
    from bus.supervisor import Fault, Supervisor

    def note(fault: Fault) -> None:
        supervisor.events.add(FaultEvent(component=fault.name, what=fault.what, detail=fault.detail))

    supervisor = Supervisor(place, specs, mode=mode, idle_exit_seconds=idle_exit, first=first, on_fault=note)
    run_actor(supervisor, lock=lock, outlives_parent=mode != "private")


def _options(argv: list[str]) -> tuple[Mode, float | None, int]:
    mode, idle_exit, lock_fd = "background", None, -1
    words = [part for word in argv for part in word.split("=", 1)]
    while words:
        word = words.pop(0)
        if word in ("--background", "--pinned", "--private"):
            mode = word[2:]
            continue
        try:
            if word == "--idle-exit":
                idle_exit = float(words.pop(0))
                continue
            if word == "--lock-fd":
                lock_fd = int(words.pop(0))
                continue
        except (IndexError, ValueError):
            pass
        print(USAGE, file=sys.stderr)
        sys.exit(2)
    return cast("Mode", mode), idle_exit, lock_fd


def _own(place: Place, lock_fd: int) -> OwnerLock:
    path = place.locks / f"{SUPERVISOR}.lock"
    if lock_fd >= 0:
        return OwnerLock.adopt(path, lock_fd)
    others = unsupervised(place)
    if others:
        listed = ", ".join(f"{name} (process {pid})" for name, pid in others.items())
        raise BusError(f"the actors run already without a supervisor: {listed}; stop honcho first")
    lock = OwnerLock(path)
    lock.acquire()
    return lock


if __name__ == "__main__":
    main(sys.argv[1:])
