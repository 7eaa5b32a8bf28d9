"""`python -P -m bus.reaper`: ends what a cluster has left behind whose processes were all killed in the same instant.

Whoever of a cluster survives sweeps up: the supervisor after an actor, the actors after the supervisor. When nobody
does, this process is left. While the cluster lives it is a shell that waits for its standard input to end, which takes
next to no memory. What it needs stands in the environment: in its command it would look like one of ours.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

from bus import groups, launch
from bus.census import orphans
from bus.lock import owner_of

GRACE_SECONDS = 15.0
"""Longer than actors take to end by themselves; after that they hang."""
POLL_SECONDS = 0.1
LOCKS, GROUPS = "MMS_REAPER_LOCKS", "MMS_REAPER_GROUPS"
WAIT = 'cat >/dev/null 2>&1; exec "$0" -P -m bus.reaper'


class Place(launch.Place, Protocol):
    """What is needed of `config.place.Place`."""

    @property
    def groups(self) -> Path: ...


def start(place: Place) -> subprocess.Popen[bytes]:
    """Starts it for the cluster of the calling process. It goes on when that has ended without `stop`.

    Raises:
        OSError: there is no `sh`, or no process can be started.
    """
    return subprocess.Popen(
        ("/bin/sh", "-c", WAIT, sys.executable),
        cwd=place.locks,
        env={**launch.environment(place), LOCKS: str(place.locks), GROUPS: str(place.groups)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends it; there is nothing left to do for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def sweep(locks: Path, records: Path) -> None:
    """Ends the recorded groups of dead owners, and at last the actors that hang. Leaves it to the next supervisor as
    soon as there is one."""
    deadline = time.monotonic() + GRACE_SECONDS
    while not owner_of(locks / "supervisor.lock"):
        groups.reap(records)
        left = orphans(locks)
        if not left and not groups.recorded(records):
            return
        if time.monotonic() > deadline:
            for pid in left.values():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            groups.reap(records)
            return
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    sweep(Path(os.environ[LOCKS]), Path(os.environ[GROUPS]))
