"""Process groups written down on disk, so that what a killed owner left behind can be found and ended.

Every child is started in a group of its own, with a random mark in its environment. The mark tells our processes from
strangers that got the same number later, and finds descendants that left the group (Linux; elsewhere the group number
alone counts).
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from bus.files import write_private

MARK_VARIABLE = "MMS_GROUP"
LOOK_SECONDS = 0.01
MOST_LOOKS = 100


@dataclass(frozen=True)
class Group:
    """One group: where it is written down (`None`: nowhere), its id, the process that owns it, its members' mark."""

    path: Path | None
    pgid: int
    owner: int
    mark: str


def record(directory: Path, pgid: int, mark: str) -> Group:
    """Writes down a group that this process has started."""
    path = directory / f"{pgid}-{mark}"
    with contextlib.suppress(OSError):  # on a full disk only the owner itself can end the group
        write_private(path, str(os.getpid()))
    return Group(path, pgid, os.getpid(), mark)


def forget(group: Group) -> None:
    if group.path is not None:
        with contextlib.suppress(FileNotFoundError):
            group.path.unlink()


def kill(group: Group) -> int:
    """SIGKILL to every member and marked descendant; returns how many processes were there. Blocks for some 20 ms.

    A process that forks or calls exec at this very moment can be missed once, so it ends only after two looks in a row
    that find nobody.
    """
    killed: set[int] = set()
    quiet = 0
    for _ in range(MOST_LOOKS):
        members = _members(group)
        quiet = 0 if members else quiet + 1
        if quiet == 2:
            break
        for pid in members:
            killed.add(pid)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
    return len(killed)


def reap(directory: Path, *, dead_owner: int = 0) -> int:
    """Ends every recorded group whose owner is gone, or is `dead_owner`; returns how many processes were killed."""
    killed = 0
    for group in abandoned(directory, dead_owner=dead_owner):
        killed += kill(group)
        forget(group)
    return killed


def abandoned(directory: Path, *, dead_owner: int = 0) -> list[Group]:
    """Every recorded group whose owner is gone, or is `dead_owner`."""
    return [group for group in recorded(directory) if group.owner == dead_owner or not _is_alive(group.owner)]


def recorded(directory: Path) -> list[Group]:
    """All records; unreadable ones are skipped."""
    found = []
    for path in directory.glob("*-*"):
        number, _, mark = path.name.partition("-")
        with contextlib.suppress(OSError, ValueError):
            found.append(Group(path, int(number), int(path.read_text()), mark))
    return found


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return True


def _members(group: Group) -> list[int]:
    """Processes that carry the group's mark, zombies left out."""
    if not Path("/proc/self/environ").exists():
        return _group_without_proc(group)
    wanted = f"{MARK_VARIABLE}={group.mark}".encode()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/environ", "rb") as file:
                    if wanted not in file.read().split(b"\0"):
                        continue
                if _is_alive(int(name)):
                    found.append(int(name))
    return found


def _group_without_proc(group: Group) -> list[int]:
    try:
        os.killpg(group.pgid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return []
    return [group.pgid]
