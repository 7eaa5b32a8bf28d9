"""What a supervisor writes down for others: its children, who it is, that it stays, that it is about to end."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bus.build import build_id
from bus.envelope import WIRE_VERSION
from bus.files import write_private
from bus.lock import owner_of

CHILDREN = "children"
STOPPING = "stopping"
PINNED = "pinned"
RUNNING = "running"


def write_census(locks: Path, children: Mapping[str, int]) -> None:
    """Writes down which processes belong to the supervisor: name → process id."""
    _write(locks / CHILDREN, "".join(f"{name} {pid}\n" for name, pid in children.items()))


def orphans(locks: Path) -> dict[str, int]:
    """Actors that a dead supervisor has left and that have not ended yet: name → process id.

    Meaningful only while no supervisor runs, or to the one that has just taken the name.
    """
    listed = [line.split(" ", 1) for line in _read(locks / CHILDREN).splitlines() if " " in line]
    return {name: int(pid) for name, pid in listed if pid == str(owner_of(locks / f"{name}.lock"))}


def note_pinned(locks: Path) -> None:
    """Says that the cluster stays until somebody ends it: a successor shall stay too if this supervisor crashes."""
    _write(locks / PINNED, str(os.getpid()))


def was_pinned(locks: Path) -> bool:
    """Whether the last supervisor should have stayed and did not end by anybody's wish."""
    return bool(_read(locks / PINNED))


class Running(NamedTuple):
    """What a running supervisor tells those who may not be able to ask it: its wire version, its build, and how many
    hold on to its cluster."""

    wire: int
    build: str
    holders: int


def note_running(locks: Path, holders: int) -> None:
    """Writes down that this process supervises, with how many hold on to the cluster at this moment."""
    _write(locks / RUNNING, f"{os.getpid()} {WIRE_VERSION} {holders} {build_id()}")


def running(locks: Path, supervisor: int) -> Running | None:
    """What the supervisor of that process id has written down; `None` when it has not yet."""
    pid, _, rest = _read(locks / RUNNING).partition(" ")
    words = rest.split(" ", 2)
    if pid != str(supervisor) or len(words) != 3 or not (words[0].isdigit() and words[1].isdigit()):
        return None
    return Running(int(words[0]), words[2], int(words[1]))


def note_stopping(locks: Path) -> None:
    """Says that this supervisor takes nobody in any more, and that its end is wished for."""
    _write(locks / STOPPING, str(os.getpid()))
    (locks / PINNED).unlink(missing_ok=True)


def is_stopping(locks: Path, supervisor: int) -> bool:
    """Whether the supervisor of that process id has said so."""
    return _read(locks / STOPPING) == str(supervisor)


def _write(path: Path, text: str) -> None:
    """Best effort: on a full disk a successor knows less, and everything else goes on."""
    with contextlib.suppress(OSError):
        write_private(path, text)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
