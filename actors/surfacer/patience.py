"""For how long a response waits for a search that nobody asked for: as long as its LTM usually takes, with a margin."""

from __future__ import annotations

MOST_SECONDS = 0.5
"""No unasked search holds a response up for longer, however slow its LTM is."""
MARGIN, LEAST_MARGIN = 3.0, 1.5
"""How many times its usual length a search is waited for, and below which waiting is in vain."""
FIRST_GUESS_SECONDS = 0.1
NEW_SHARE = 0.3
"""Weight of the last search in what is usual."""


class Patience:
    """Learns from searches that succeeded; those that failed say nothing about the next."""

    def __init__(self) -> None:
        self._usual = FIRST_GUESS_SECONDS

    def note(self, seconds: float) -> None:
        """Takes over how long a search has taken."""
        self._usual += NEW_SHARE * (seconds - self._usual)

    def seconds(self, least: float) -> float:
        """How long to wait; `least` is all for an LTM that would hold up every response in vain."""
        if LEAST_MARGIN * self._usual > MOST_SECONDS:
            return least
        return max(least, min(MARGIN * self._usual, MOST_SECONDS))
