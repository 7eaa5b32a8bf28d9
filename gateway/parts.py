"""Asking the actors that a call can do without."""

from __future__ import annotations

import asyncio
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

    async def ask(
        self,
        request: Request[R],
        *,
        timeout: float,
        wait: float,
        trace_id: str,
        actor: str = "",
        repeat: bool = True,
    ) -> R:
        """As `Bus.ask`; `wait` is what an actor that is still starting is given."""
        name = actor or request.actor
        try:
            reply = await self._bus.ask(
                request,
                timeout=timeout,
                trace_id=trace_id,
                wait=0.0 if name in self._down else wait,
                actor=name,
                repeat=repeat,
            )
        except PeerUnavailable:
            self._down.add(name)
            raise
        self._down.discard(name)
        return reply

    def connect(self, actor: str) -> None:
        """Opens the connection ahead of the first ask, which then finds it open."""
        self._bus.is_connected(actor)

    def is_connected(self, actor: str) -> bool:
        """Whether the actor's end of the connection is open at this moment."""
        return self._bus.is_connected(actor)

    async def replicas_of(self, actor: str) -> list[str]:
        """The replicas of an actor that run, whatever the configuration says now."""
        return await asyncio.to_thread(self._bus.runtime.replicas_of, actor)
