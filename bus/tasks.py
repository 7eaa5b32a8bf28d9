"""Ending tasks for certain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

ROUND_SECONDS = 4.0
"""Longer than what a task may have to clean up: ending a child that ignores the end of its input and TERM, say."""
ROUNDS = 2


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels tasks and waits until they are over; what they raise is dropped.

    A single cancellation can get lost: `asyncio.wait_for` of Python 3.11 swallows one that meets the end of what it
    waits for. So whoever is still there is cancelled again.
    """
    pending = {task for task in tasks if not task.done()}
    for _ in range(ROUNDS):
        if not pending:
            return
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=ROUND_SECONDS)
