"""An actor as a process of its own, which nobody supervises."""

from __future__ import annotations

import os
import subprocess
import sys

from config.place import Place


def start_process(place: Place, actor: str) -> subprocess.Popen[bytes]:
    """Starts `python -m actors.ACTOR` in a place; whoever starts it ends it."""
    argv = [sys.executable, "-m", f"actors.{actor}"]
    return subprocess.Popen(argv, env={**os.environ, **place.environment()}, stderr=subprocess.DEVNULL)
