"""Looking at a server's tools again when it says that they have changed, once for many announcements at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

DEBOUNCE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0


class Relisting:
    """Runs `look` a little after it was asked to, and never twice at a time.

    A server whose announcements turn out to be about nothing (some make one whenever they are asked for their tools)
    is looked at less and less often.

    Args:
        look: says whether it has found a change.
    """

    def __init__(self, look: Callable[[], Coroutine[None, None, bool]]) -> None:
        self._look = look
        self._asked = False
        self._pause = DEBOUNCE_SECONDS
        self._looked = 0.0
        self._task: asyncio.Task[None] | None = None

    def soon(self) -> None:
        self._asked = True
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> set[asyncio.Task[None]]:
        """Returns what is under way, for the caller to end."""
        return {self._task} if self._task is not None else set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._asked:
            if loop.time() - self._looked > LONGEST_PAUSE_SECONDS:
                self._pause = DEBOUNCE_SECONDS
            await asyncio.sleep(self._pause)
            self._asked = False
            found = await self._look()
            self._looked = loop.time()
            self._pause = DEBOUNCE_SECONDS if found else min(self._pause * 2, LONGEST_PAUSE_SECONDS)
