"""Starts and stops the processes of a cluster. On the way of a gateway's start, so it imports next to nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from actors import ACTORS
from bus.census import is_stopping, orphans
from bus.errors import AlreadyRunning, BusError, StateError
from bus.launch import PARENT_VARIABLE, ChildSpec, environment, last_words, output, rotated
from bus.lock import OwnerLock, owner_of
from bus.replicas import replica
from config.place import Place

SUPERVISOR = "supervisor"
REPLICATED = "compressor"
"""The actor of which there can be several."""
STOP_SECONDS = 25.0
"""A supervisor needs twice its bound for its actors and a little for itself."""
POLL_SECONDS = 0.02


def actor_specs(compressors: int = 1) -> list[ChildSpec]:
    """The actors in the order of their start. Telemetry ends last: it takes the others' last events.

    Args:
        compressors: how many replicas of the compressor there are.
    """
    specs = []
    for name in ACTORS:
        argv = (sys.executable, "-P", "-m", f"actors.{name}")
        specs.append(ChildSpec(name, argv, stops_last=name == "telemetry"))
        if name == REPLICATED:
            specs += [ChildSpec(replica(name, n), (*argv, str(n))) for n in range(2, compressors + 1)]
    return specs


def running_names(place: Place) -> list[str]:
    """The five actors, and after theirs the names of further replicas that run."""
    found = []
    for name in ACTORS:
        found.append(name)
        if name == REPLICATED:
            owned = [path.stem for path in place.locks.glob(f"{name}-*.lock") if owner_of(path)]
            found += sorted(owned, key=lambda other: (len(other), other))
    return found


def supervisor_pid(place: Place) -> int:
    """The process that supervises the cluster; 0 when there is none."""
    return owner_of(place.locks / f"{SUPERVISOR}.lock")


def unsupervised(place: Place) -> dict[str, int]:
    """Actors that run without a supervisor, under honcho say: name → process id."""
    if supervisor_pid(place):
        return {}
    leaving = orphans(place.locks)
    owners = {name: owner_of(place.locks / f"{name}.lock") for name in running_names(place)}
    return {name: pid for name, pid in owners.items() if pid and leaving.get(name) != pid}


def is_running(place: Place) -> bool:
    """Whether a supervisor or any actor of this place runs. An actor that a dead supervisor has left is about to end
    and does not count."""
    return bool(supervisor_pid(place) or unsupervised(place))


def ensure_cluster(place: Place, *, mode: str = "background") -> None:
    """Starts the cluster in the background if nothing runs. Returns at once: clients wait for the actors on the bus.

    Safe to call from many processes at the same time, and again whenever the cluster is missed. While one is just
    stopping, it waits for its end.

    Args:
        mode: `background` or `pinned`.

    Raises:
        ConfigError: a directory of the place cannot be used; StateError: a file in it cannot be written.
    """
    outlast_stopping(place)
    process = _start(place, mode)
    if process is not None:
        # Nobody else takes note of its end while this process lives.
        threading.Thread(target=process.wait, daemon=True).start()


def outlast_stopping(place: Place) -> None:
    """Waits for the end of a supervisor that is about to stop."""
    pid = supervisor_pid(place)
    if pid and is_stopping(place.locks, pid):
        wait_for_end(place, pid, STOP_SECONDS)


def stop_cluster(place: Place) -> bool:
    """Ends the supervisor and with it everything; returns whether one ran.

    Raises:
        BusError: it did not end in time; it and its actors have been killed.
    """
    pid = supervisor_pid(place)
    if not pid:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if not wait_for_end(place, pid, STOP_SECONDS):
        # Its actors end by themselves when it is gone.
        os.kill(pid, signal.SIGKILL)
        raise BusError(
            f"the supervisor (process {pid}) did not stop within {STOP_SECONDS:g} s and was killed; "
            f"see {place.logs / 'supervisor.log'}"
        )
    return True


def wait_for_end(place: Place, pid: int, seconds: float) -> bool:
    """Whether the supervisor `pid` has given up its name within `seconds`."""
    end = time.monotonic() + seconds
    while supervisor_pid(place) == pid:
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True


class PrivateCluster:
    """A cluster that belongs to this process and ends with it.

    Attributes:
        place: the place's own state, or a scratch one when a cluster that runs already owns that.
    """

    def __init__(self, place: Place) -> None:
        _sweep(place)
        self._process = _start(place, "private")
        self._scratch: Path | None = None
        if self._process is None:
            self._scratch = place.state / "private" / str(os.getpid())
            place = place.with_state(self._scratch)
            self._process = _start(place, "private")
        self.place = place

    def ensure(self) -> None:
        """Starts it again if it has ended."""
        if self._process is None or self._process.poll() is not None:
            self._process = _start(self.place, "private")

    def stop(self) -> None:
        """Ends it and removes what was only for it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._scratch is not None:
            _remove(self._scratch, self.place)


def _start(place: Place, mode: str) -> subprocess.Popen[bytes] | None:
    """Starts a supervisor, unless something runs. It gets the lock on its name as an open descriptor, so that there is
    no moment in which two could start."""
    if is_running(place):
        return None
    place.prepare()
    try:
        return _launch(place, mode)
    except AlreadyRunning:
        return None
    except OSError as error:
        where = error.filename or place.locks
        raise StateError(
            f"the cluster cannot start: {where}: {error.strerror}; mend that, or set MEMTOMEM_STM_HOME to another place"
        ) from None


def _launch(place: Place, mode: str) -> subprocess.Popen[bytes]:
    """The same. Raises AlreadyRunning, or OSError when a file cannot be made."""
    lock = OwnerLock(place.locks / f"{SUPERVISOR}.lock")
    lock.acquire()
    argv = [sys.executable, "-P", "-m", "cli.supervise", f"--{mode}", f"--lock-fd={lock.fd}"]
    from config.environment import without_session

    # What one client wants for itself must not become everybody's.
    env = without_session(environment(place))
    if mode == "private":
        env[PARENT_VARIABLE] = str(os.getpid())
    try:
        with open(os.open(rotated(place.logs, SUPERVISOR), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
            process = subprocess.Popen(
                argv,
                cwd=place.locks,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=mode != "private",
                pass_fds=(lock.fd,),
            )
        lock.name_owner(process.pid)
        return process
    finally:
        lock.release()


def start_failure(place: Place) -> str:
    """Why a supervisor that has ended could not start, as it said itself."""
    return last_words(place.logs, SUPERVISOR) or f"see {output(place.logs, SUPERVISOR)}"


def _sweep(place: Place) -> None:
    """Removes the scratch states of private clusters whose gateway was killed."""
    for scratch in (place.state / "private").glob("*"):
        if scratch.name.isdigit() and not _is_alive(int(scratch.name)):
            left = place.with_state(scratch)
            if not is_running(left) and not orphans(left.locks):
                _remove(scratch, left)


def _remove(scratch: Path, place: Place) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    if place.runtime is not None:
        shutil.rmtree(place.runtime, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
