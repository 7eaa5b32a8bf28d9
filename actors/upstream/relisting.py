"""Looking at a server's tools again when it says that they have changed, once for many announcements at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

DEBOUNCE_SECONDS = 0.1


class Relisting:
    """Runs `look` a little after it was asked to."""

    def __init__(self, look: Callable[[], Coroutine[None, None, bool]]) -> None:
        self._look = look
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[bool]] = set()

    def soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DEBOUNCE_SECONDS, self._begin)

    def stop(self) -> set[asyncio.Task[bool]]:
        """Begins nothing more; returns what is under way, for the caller to end."""
        if self._timer is not None:
            self._timer.cancel()
        return self._tasks

    def _begin(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self._look())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
