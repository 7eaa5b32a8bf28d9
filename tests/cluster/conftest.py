"""A whole cluster of real processes in a scratch home."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actors import ACTORS
from bus import groups
from bus.launch import environment
from bus.lock import owner_of
from config.place import Place
from tests.eventually import eventually_blocking

ROOT = Path(__file__).parent.parent.parent
NAMES = ("supervisor", *ACTORS)
Mms = Callable[..., "subprocess.CompletedProcess[str]"]


@contextlib.contextmanager
def scratch_place() -> Iterator[Place]:
    """A place of its own; whatever still runs there at the end is killed."""
    folder = Path(tempfile.mkdtemp(prefix="mms-"))
    place = Place.from_environment({"MEMTOMEM_STM_HOME": str(folder / "home"), "MMS_RUNTIME_DIR": str(folder / "run")})
    place.prepare()
    try:
        yield place
    finally:
        for pid in owners(place).values():  # the supervisor first, so that it restarts nothing
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually_blocking(lambda: not owners(place))
        groups.reap(place.groups)  # killed all at once, nobody was left to do it
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def home() -> Iterator[Place]:
    """A scratch place for one test."""
    with scratch_place() as place:
        yield place


@pytest.fixture
def mms(home: Place, tmp_path: Path) -> Mms:
    """Runs `mms` as a process."""

    def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "cli", *argv]
        env = environment(home)
        return subprocess.run(command, cwd=tmp_path, env=env, input=stdin, capture_output=True, text=True, timeout=60)

    return run


def owners(place: Place) -> dict[str, int]:
    """The processes that hold the cluster's names at this moment."""
    found = {name: owner_of(place.locks / f"{name}.lock") for name in NAMES}
    return {name: pid for name, pid in found.items() if pid}


def until_all_run(place: Place) -> dict[str, int]:
    """Every name's process, once all are held."""
    eventually_blocking(lambda: len(owners(place)) == len(NAMES))
    return owners(place)


def has_process(pid: int) -> bool:
    """Whether it runs; one that has ended and waits for its parent does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


def events(place: Place, name: str, event: str) -> list[dict[str, Any]]:
    """The lines of a log that tell of an event."""
    path = place.logs / f"{name}.log"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in map(json.loads, lines) if line["event"] == event]
