"""Labelled situations: what an agent is doing, and which notes a colleague would have put on its desk.

`labelled.json` was written before the constants of `relevance` were chosen, `labelled_second.json` after; the first
answers to the second set (precision 0.94, recall@2 0.89, silence 0.93) then led to better stems and compounds. A third
of the situations and more has no fitting note; many of those share a word or two with some note on purpose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    namespace: str
    source: str
    heading: str
    text: str


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call and the notes that fit it, best first; none means: say nothing."""

    tool: str
    fitting: tuple[str, ...]
    arguments: dict[str, Any] = {}
    context_query: str = ""


class Labelled(msgspec.Struct, frozen=True):
    """Notes by id, and the situations."""

    notes: dict[str, Note]
    situations: tuple[Situation, ...]


SETS = ("labelled", "labelled_second")


def load(name: str) -> Labelled:
    return msgspec.json.decode(Path(__file__).with_name(f"{name}.json").read_bytes(), type=Labelled)
