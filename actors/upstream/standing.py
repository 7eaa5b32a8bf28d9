"""How a server is at the moment, and since when."""

from __future__ import annotations

import asyncio
import time

from actors.upstream.messages import ServerStateName

_AWAY: tuple[ServerStateName, ...] = ("failed", "reconnecting")


class Standing:
    """The state of one connection.

    Attributes:
        since: UTC seconds of the last change of state.
        error, error_type: as in `actors.upstream.messages.ServerState`.
    """

    def __init__(self) -> None:
        self.state: ServerStateName = "starting"
        self.since = time.time()
        self.error = ""
        self.error_type = ""
        self._entered = time.monotonic()
        self._away_from: float | None = None
        self._changed = asyncio.Event()

    @property
    def age(self) -> float:
        """Seconds since the last change of state."""
        return time.monotonic() - self._entered

    @property
    def away_seconds(self) -> float:
        """For how long it has been failing to come (back), however often it was tried; 0 when it is there or just
        starting."""
        return time.monotonic() - self._away_from if self._away_from is not None else 0.0

    def become(self, state: ServerStateName, *, error: str = "", error_type: str = "") -> None:
        if state != self.state:
            self.state, self.since, self._entered = state, time.time(), time.monotonic()
        if state not in _AWAY:
            self._away_from = None
        elif self._away_from is None:
            self._away_from = time.monotonic()
        self.error, self.error_type = error, error_type
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Waits for the next time that something is said of it."""
        await self._changed.wait()
