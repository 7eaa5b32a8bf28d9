"""Search results of the last minute, and which of their memories have been rated away since."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from actors.surfacer.ltm_reply import Found

_MOST_RESULTS = 256
Key = tuple[str, str]
"""Query digest and namespace."""


@dataclass
class Cached:
    """A search result; `invalidated` are the ids rated negative after it was made."""

    found: Found
    expires: float
    invalidated: set[str] = field(default_factory=set)


class ResultCache:
    """Bounded; an entry lives `ttl_seconds`.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[Key, Cached] = OrderedDict()

    def get(self, key: Key) -> Cached | None:
        entry = self._entries.get(key)
        if entry is not None and entry.expires <= self._clock():
            del self._entries[key]
            return None
        return entry

    def put(self, key: Key, found: Found, ttl_seconds: float) -> Cached:
        """Keeps a result unless `ttl_seconds` is 0; returns its entry either way."""
        entry = Cached(found, self._clock() + ttl_seconds)
        if ttl_seconds > 0:
            self._entries[key] = entry
            self._entries.move_to_end(key)
            if len(self._entries) > _MOST_RESULTS:
                self._entries.popitem(last=False)
        return entry

    def invalidate(self, memory_ids: Iterable[str]) -> None:
        """These memories are left out of every result that is kept now."""
        ids = set(memory_ids)
        for entry in self._entries.values():
            entry.invalidated |= ids

    def clear(self) -> None:
        self._entries.clear()
