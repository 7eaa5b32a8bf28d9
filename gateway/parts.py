"""Asking the actors that a call can do without."""

from __future__ import annotations

from typing import TypeVar

from bus.client import Bus
from bus.errors import PeerUnavailable
from bus.message import Reply, Request

R = TypeVar("R", bound=Reply | None)


class Parts:
    """Remembers which actors were not there: once one was missed, nobody waits for it again until it is back."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._down: set[str] = set()

    async def ask(self, request: Request[R], *, timeout: float, wait: float, trace_id: str) -> R:
        """As `Bus.ask`; `wait` is what an actor that is still starting is given."""
        actor = request.actor
        try:
            reply = await self._bus.ask(
                request, timeout=timeout, trace_id=trace_id, wait=0.0 if actor in self._down else wait
            )
        except PeerUnavailable:
            self._down.add(actor)
            raise
        self._down.discard(actor)
        return reply
