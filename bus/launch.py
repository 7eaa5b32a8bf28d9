"""Starts a supervisor's processes. Imports next to nothing, so that the first child can start before the rest loads."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

SHADOWING = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
"""Variables with which a project could put modules of its own before ours."""
PARENT_VARIABLE = "MMS_PARENT"
"""Tells a child whom it belongs to, so that it notices a parent that died before the child could look."""
TAIL_BYTES = 4_096


class Place(Protocol):
    """What is needed of `config.place.Place`."""

    @property
    def logs(self) -> Path: ...
    @property
    def locks(self) -> Path: ...
    def environment(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class ChildSpec:
    """One process to keep running.

    Attributes:
        name: the actor that it serves.
        argv: the whole command.
        stops_last: the others hand it what they have left when they stop.
    """

    name: str
    argv: tuple[str, ...]
    stops_last: bool = False


def launch(spec: ChildSpec, place: Place) -> subprocess.Popen[bytes]:
    """Starts a child in the private working directory. Call it from the main thread: the child asks the kernel to be
    told when the thread that started it ends.

    Raises:
        OSError: the command cannot be started.
    """
    with open(rotated(place.logs, spec.name), "wb", opener=_private) as out:
        return subprocess.Popen(
            spec.argv,
            cwd=place.locks,
            env={**environment(place), PARENT_VARIABLE: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )


def environment(place: Place) -> dict[str, str]:
    """The environment of a process of ours: what shadows our modules taken out, the place put in."""
    left_out = (*SHADOWING, PARENT_VARIABLE)
    inherited = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**inherited, **place.environment()}


def rotated(logs: Path, name: str) -> Path:
    """A fresh `<logs>/NAME.out`; what the process before has said stays as `NAME.out.1`."""
    path = output(logs, name)
    if path.exists():
        path.replace(path.with_suffix(".out.1"))
    return path


def output(logs: Path, name: str) -> Path:
    """Where the raw stdout and stderr of a process go."""
    return logs / f"{name}.out"


def last_words(logs: Path, name: str) -> str:
    """The last line that a process has written there; that the disk is full, where that kept it from writing one."""
    try:
        with open(output(logs, name), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return said or (f"the disk of {logs} is full; make room" if _is_full(logs) else "")


def _is_full(directory: Path) -> bool:
    """Whether not even a line can be written there."""
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize < TAIL_BYTES or found.f_favail == 0 < found.f_files


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
