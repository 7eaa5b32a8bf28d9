"""When a server is left alone: the breaker of its calls.

A failure is a call that timed out, or under which the server went away, after all its retries. A server that cannot be
reached at all needs no breaker: its connection has its own waits, and its calls fail at once.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from actors.upstream.calling import Ask
from actors.upstream.messages import (
    ResponseTooLarge,
    UpstreamDied,
    UpstreamInvalid,
    UpstreamResting,
    UpstreamTimeout,
)
from bus.breaker import Breaker
from config.schema_upstream import UpstreamSettings


class Resting:
    """The breaker of one server.

    Args:
        settings: those that hold now.
        on_open: called with what people shall know when the breaker opens.
    """

    def __init__(self, name: str, settings: Callable[[], UpstreamSettings], on_open: Callable[[str], None]) -> None:
        self._name = name
        self._settings = settings
        self._on_open = on_open
        self._breaker = Breaker(0, 0)

    @property
    def breaker(self) -> Breaker:
        """As the settings want it; when they change, failures stay counted."""
        settings = self._settings()
        self._breaker.max_failures = settings.circuit_max_failures
        self._breaker.reset_seconds = settings.circuit_reset_seconds
        return self._breaker

    def begin(self) -> bool:
        """A call begins; true when it is the probe. `answered` or `failed` must follow.

        Raises:
            UpstreamResting: not now.
        """
        if not self._breaker.failures:
            return False
        breaker = self.breaker
        if breaker.refuses:
            raise UpstreamResting(self._text())
        return breaker.begin()

    def answered(self) -> None:
        """The server has answered, with whatever."""
        if self._breaker.failures:
            self.breaker.succeeded()

    def failed(self, error: BaseException, ask: Ask, *, probe: bool) -> None:
        """The call ended without an answer that can be passed on."""
        if isinstance(error, (ResponseTooLarge, UpstreamInvalid)):
            self.answered()
        elif isinstance(error, UpstreamDied) or (isinstance(error, UpstreamTimeout) and _was_given_time(ask)):
            if self.breaker.failed(probe=probe):
                self._on_open(self._text())
        else:
            self.breaker.abandoned(probe=probe)

    def _text(self) -> str:
        failures, seconds = self.breaker.failures, math.ceil(self.breaker.wait)
        times = "1 failure" if failures == 1 else f"{failures} failures"
        when = f"next try in {seconds} s" if seconds else "one call is trying it now"
        return f"upstream {self._name} is resting after {times}, {when}"


def _was_given_time(ask: Ask) -> bool:
    """Whether the server had its whole time. A caller with less patience than that proves nothing."""
    return asyncio.get_running_loop().time() < ask.deadline
