"""Waiting for a condition, never for a length of time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE_SECONDS = 20.0


async def eventually(condition: Callable[[], object], patience: float = PATIENCE_SECONDS) -> None:
    """Returns once `condition()` is true; fails the test after `patience` seconds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"not within {patience} s: {condition}"
        await asyncio.sleep(0.01)


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """The same for a condition that has to be awaited."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():
            await asyncio.sleep(0.02)


def eventually_blocking(condition: Callable[[], object], patience: float = PATIENCE_SECONDS) -> None:
    """As `eventually`, for tests without an event loop."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"not within {patience} s: {condition}"
        time.sleep(0.02)
