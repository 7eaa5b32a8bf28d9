"""A process that must not outlive its parent, however the parent dies."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable

from bus.launch import PARENT_VARIABLE

PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.5


def die_with_parent() -> int:
    """Asks the kernel for SIGTERM at the parent's death (Linux) and returns the parent's process id."""
    parent = int(os.environ.get(PARENT_VARIABLE) or os.getppid())
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    return parent


async def watch_parent(parent: int, on_death: Callable[[], None]) -> None:
    """Calls `on_death` once the process has another parent: it covers systems without a death signal, and a parent that
    died before the signal was asked for."""
    while os.getppid() == parent:
        await asyncio.sleep(POLL_SECONDS)
    on_death()
