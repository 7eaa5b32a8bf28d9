"""A circuit breaker: after failures in a row a peer is left alone for a while, then one probe decides. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Closed → open after `max_failures` failures in a row → half-open after `reset_seconds` → one probe decides.

    Args:
        max_failures: 0 = it never opens.
        clock: monotonic seconds.

    Attributes:
        failures: in a row, up to now.
    """

    def __init__(self, max_failures: int, reset_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_failures = max_failures
        self.reset_seconds = reset_seconds
        self.failures = 0
        self._clock = clock
        self._opened_at: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        if self._opened_at is None or not self.max_failures:
            return "closed"
        return "open" if self.wait else "half_open"

    @property
    def wait(self) -> float:
        """Seconds until a probe may go through; 0 when anything may."""
        if self._opened_at is None:
            return 0.0
        return max(0.0, self._opened_at + self.reset_seconds - self._clock())

    @property
    def refuses(self) -> bool:
        """No call may go through now: open, or half-open with its probe under way."""
        state = self.state
        return state == "open" or (state == "half_open" and self._probing)

    def begin(self) -> bool:
        """A call goes through, as the probe (true) when half-open; `succeeded`, `failed` or `abandoned` must follow.

        Between `refuses` and this nothing may be waited for, or two calls go through as the probe.
        """
        probe = self.state == "half_open"
        self._probing = self._probing or probe
        return probe

    def succeeded(self) -> None:
        self.failures = 0
        self._opened_at = None
        self._probing = False

    def failed(self, *, probe: bool) -> bool:
        """Counts a failure; true when this one opened the breaker.

        Once it is open, a call that had begun before is no news: it does not make the rest longer.

        Args:
            probe: what `begin` said.
        """
        self.failures += 1
        was_closed = self._opened_at is None
        if not was_closed and not probe:
            return False
        self._probing = False
        if self.max_failures and (not was_closed or self.failures >= self.max_failures):
            self._opened_at = self._clock()
            return was_closed
        return False

    def abandoned(self, *, probe: bool) -> None:
        """The call ended without saying anything about the peer (cancelled, or the peer was busy).

        Args:
            probe: what `begin` said; the next call becomes the probe then.
        """
        if probe:
            self._probing = False
