"""A stored original, as a reader gets it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """An original and the call that it came from. `chunk` is the slice length of `progressive`, else 0."""

    text: str
    server: str
    tool: str
    trace_id: str
    chunk: int
    ttl: int
