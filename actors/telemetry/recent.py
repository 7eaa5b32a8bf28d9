"""Which events were seen lately: they are handed over at least once, so some come again."""

from __future__ import annotations

from collections import deque

REMEMBERED_IDS = 20_000


class RecentIds:
    """The last ids that were added."""

    def __init__(self, most: int = REMEMBERED_IDS) -> None:
        self._known: set[str] = set()
        self._order: deque[str] = deque()
        self._most = most

    def __contains__(self, event_id: str) -> bool:
        return event_id in self._known

    def add(self, event_id: str) -> None:
        if event_id in self._known:
            return
        self._known.add(event_id)
        self._order.append(event_id)
        if len(self._order) > self._most:
            self._known.discard(self._order.popleft())
