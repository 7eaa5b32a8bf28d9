"""A memory as the LTM returned it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_DERIVED = "text-"


@dataclass(frozen=True, slots=True)
class Memory:
    """One hit.

    Attributes:
        id: the LTM's chunk id; one derived from source and text where the LTM gives none or an unprintable one.
        score: the LTM's own score, on the scale it names; it orders, it does not gate.
        rank: 0 for the LTM's first.
        pinned: shown whatever the query, without score and rating.
    """

    id: str
    text: str
    source: str = ""
    hierarchy: str = ""
    namespace: str = ""
    score: float = 0.0
    rank: int = 0
    pinned: bool = False


def is_own_id(memory_id: str) -> bool:
    """Whether the id is the LTM's own, so that the LTM can be told about it."""
    return not memory_id.startswith(_DERIVED)


def memory_id(given: object, source: str, text: str) -> str:
    """The id to show: the LTM's if it is harmless to print, else one derived from source and text."""
    if isinstance(given, str) and _SAFE_ID.fullmatch(given) and not given.startswith(_DERIVED):
        return given
    return _DERIVED + hashlib.sha256(f"{source}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
