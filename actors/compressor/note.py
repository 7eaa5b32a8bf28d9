"""The omission notes: one line that says what was kept, that the source is intact, and how to read on."""

from __future__ import annotations

from dataclasses import dataclass

_LONGEST_SAID = 120


@dataclass(frozen=True)
class Ticket:
    """What a reader needs to come back to an original: its key, its time to live in seconds, and whether it is held in
    memory only."""

    key: str
    ttl: int = 1800
    memory_only: bool = False


def shortened(said: str, ticket: Ticket) -> str:
    """The note of a shortened text; `said` is in the source's own units."""
    said = " ".join(said.split())
    if len(said) > _LONGEST_SAID:
        said = said[: _LONGEST_SAID - 1] + "…"
    return f"[shortened: {said} | {_way_back(ticket)}]"


def widest(ticket: Ticket) -> str:
    """A note as long as one can get, with its line ends: what must be kept free for it."""
    return "\n" + shortened("9" * 16 + " other" * (_LONGEST_SAID // 6), ticket) + "\n"


def structured_left_out(chars: int, ticket: Ticket) -> str:
    """The note for structured content that is not a copy of a text and had to go."""
    return f"[shortened: structuredContent of {chars} characters left out | {_way_back(ticket)}]"


def blocks_left_out(first: int, total: int, ticket: Ticket) -> str:
    """The note of a response of very many text blocks."""
    return f"[shortened: {first} of {total} text blocks | {_way_back(ticket)}]"


def _way_back(ticket: Ticket) -> str:
    until = f"ttl={ticket.ttl}s" + (", until restart" if ticket.memory_only else "")
    return f'source intact | stm_proxy_read_more(key="{ticket.key}", offset=0) or find="…" | {until}'
