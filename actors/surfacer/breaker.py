"""A circuit breaker: after failures in a row the LTM is left alone for a while, then one probe decides."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Closed → open after `max_failures` failures in a row → half-open after `reset_seconds` → one probe decides.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, max_failures: int, reset_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_failures = max_failures
        self.reset_seconds = reset_seconds
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._clock() - self._opened_at >= self.reset_seconds else "open"

    @property
    def refuses(self) -> bool:
        """No call may go through now: open, or half-open with its probe under way."""
        state = self.state
        return state == "open" or (state == "half_open" and self._probing)

    def begin(self) -> None:
        """A call goes through, as the probe when half-open; `succeeded`, `failed` or `abandoned` must follow."""
        self._probing = self.state == "half_open"

    def succeeded(self) -> None:
        self._failures = 0
        self._opened_at = None
        self._probing = False

    def failed(self) -> bool:
        """Counts a failure; true when this one opened the breaker."""
        self._failures += 1
        reopened = self._opened_at is not None
        self._probing = False
        if reopened or self._failures >= self.max_failures:
            self._opened_at = self._clock()
            return not reopened
        return False

    def abandoned(self) -> None:
        """The call ended without saying anything about the LTM (cancelled, or the LTM was busy)."""
        self._probing = False
