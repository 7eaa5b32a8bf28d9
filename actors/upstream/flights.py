"""Identical calls that are under way at the same time are made once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")
P = TypeVar("P")


class Flight(Generic[T, P]):
    """One piece of work, with a result `T` and progress `P`, and everybody who waits for it.

    It belongs to none of them: it goes on while anybody waits and is cancelled when the last one has left.

    Args:
        work: is given what relays its progress to those who want it.
        landed: called with the result, after it has been handed to everybody.
        over: called when nobody may join any more.
    """

    def __init__(
        self,
        work: Callable[[Callable[[P], None]], Awaitable[T]],
        landed: Callable[[T], None],
        over: Callable[[], None],
    ) -> None:
        self._waiting: dict[asyncio.Future[T], Callable[[P], None] | None] = {}
        self._landed = landed
        self._over = over
        self.task = asyncio.get_running_loop().create_task(self._run(work))

    async def wait(self, deadline: float, relay: Callable[[P], None] | None) -> T:
        """The result.

        Args:
            deadline: loop time until which this caller waits.
            relay: takes the progress from now on.

        Raises:
            TimeoutError: the deadline has passed; others may go on waiting. Else what the work raises.
        """
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting[future] = relay
        try:
            async with asyncio.timeout_at(deadline):
                return await future
        finally:
            del self._waiting[future]
            if not self._waiting and not self.task.done():
                self._over()
                self.task.cancel()

    def _relay(self, progress: P) -> None:
        for relay in self._waiting.values():
            if relay is not None:
                relay(progress)

    async def _run(self, work: Callable[[Callable[[P], None]], Awaitable[T]]) -> None:
        try:
            result = await work(self._relay)
        except asyncio.CancelledError:
            for future in self._waiting:
                future.cancel()
            raise
        except Exception as error:
            for future in self._waiting:
                if not future.done():
                    future.set_exception(error)
        else:
            for future in self._waiting:
                if not future.done():
                    future.set_result(result)
            self._landed(result)
        finally:
            self._over()
