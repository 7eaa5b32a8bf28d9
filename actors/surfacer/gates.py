"""What a client session may do: the same question not again at once, and so many searches a minute."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

SAME_QUERY_JACCARD = 0.95
_WINDOW_SECONDS = 60.0
_MOST_SESSIONS = 4096
_MOST_QUERIES = 64


@dataclass
class _Session:
    searches: deque[float] = field(default_factory=deque)
    queries: deque[tuple[float, frozenset[str]]] = field(default_factory=lambda: deque(maxlen=_MOST_QUERIES))


class Sessions:
    """Rate limit and cooldown per client session; the least recently seen of many sessions is forgotten.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def is_repeated(self, session: str, words: frozenset[str], cooldown_seconds: float) -> bool:
        """Whether nearly the same query (Jaccard over 0.95 of the token sets) was searched within the cooldown."""
        since = self._clock() - cooldown_seconds
        return any(
            at > since and _jaccard(words, known) > SAME_QUERY_JACCARD for at, known in self._of(session).queries
        )

    def is_limited(self, session: str, per_minute: int) -> bool:
        """Whether the session has used up its searches of the last 60 seconds."""
        searches = self._of(session).searches
        while searches and searches[0] <= self._clock() - _WINDOW_SECONDS:
            searches.popleft()
        return len(searches) >= per_minute

    def spend(self, session: str) -> None:
        """Counts a search that is really made."""
        self._of(session).searches.append(self._clock())

    def remember(self, session: str, words: frozenset[str]) -> None:
        """Notes a query for the cooldown."""
        self._of(session).queries.append((self._clock(), words))

    def _of(self, session: str) -> _Session:
        found = self._sessions.setdefault(session, _Session())
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return found


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a or b else 1.0
