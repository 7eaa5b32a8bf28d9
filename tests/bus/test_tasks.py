"""Ending tasks for certain."""

from __future__ import annotations

import asyncio

import pytest

from bus import tasks


async def test_a_task_that_swallows_one_cancellation_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ROUND_SECONDS", 0.05)
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed += 1
        await asyncio.Event().wait()

    task = asyncio.ensure_future(stubborn())
    await asyncio.sleep(0)
    await tasks.end([task])
    assert task.cancelled()
    assert swallowed == 1


async def test_clean_up_is_waited_for_and_errors_are_dropped() -> None:
    cleaned = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)
            raise ValueError("while ending")

    task = asyncio.ensure_future(tidy())
    await asyncio.sleep(0)
    await tasks.end([task])
    assert cleaned == [True]
    assert isinstance(task.exception(), ValueError)
