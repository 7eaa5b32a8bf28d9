"""Which parts of a text answer a query: BM25 over its units, Unicode words, linear in the text.

The text is never cut into words. Each word of the query is looked for with `str.find`, so two megabytes cost a few
milliseconds per word. A hit inside a longer word counts less than a whole word; that also serves languages that glue
particles to their words.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

_WORD = re.compile(r"\w+(?:[.\-]\w+)*")
_QUOTED = re.compile(r'"([^"]{1,200})"')
_MOST_TERMS = 24
_MOST_HITS = 20_000
_PARTIAL = 0.4
_NEARBY = 0.8
_K1, _B = 1.2, 0.5
_STOP = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "that",
        "this",
        "from",
        "are",
        "was",
        "not",
        "you",
        "all",
        "any",
        "can",
        "has",
        "have",
        "what",
        "which",
        "when",
        "where",
        "how",
        "why",
        "who",
    ]
)


def fold(text: str) -> str:
    """Lower case with the length kept (the one letter whose lower case is longer is replaced first)."""
    return text.replace("İ", "I").lower()


def terms(query: str) -> list[str]:
    """What is looked for: quoted strings whole, then words; those beyond ASCII also without their last letter."""
    folded = fold(query.replace("“", '"').replace("”", '"'))
    found = [term.strip() for term in _QUOTED.findall(folded) if term.strip()]
    for word in _WORD.findall(_QUOTED.sub(" ", folded)):
        if (len(word) >= 2 and word not in _STOP) or not word.isascii() or word.isdigit():
            found.append(word)
            if not word.isascii() and len(word) > 2:
                found.append(word[:-1])
    return list(dict.fromkeys(found))[:_MOST_TERMS]


@dataclass(frozen=True)
class Term:
    """One word of a query in a text.

    Attributes:
        rarity: inverse document frequency over the units.
        hits: the units that hold it, ascending, with the weight of its occurrences.
    """

    rarity: float
    hits: dict[int, float]


def look_up(text: str, starts: Sequence[int], query: str, total: int = 0) -> list[Term]:
    """Where the words of a query stand; words that occur nowhere are left out.

    Args:
        starts: where the units begin, ascending.
        total: how many units there are, where the text holds but some of them.
    """
    folded = fold(text)
    total = max(total, len(starts))
    found = []
    for term in terms(query) if starts else []:
        hits = _hits(folded, starts, term)
        if not hits and not term.isascii() and "\\u" in folded:
            hits = _hits(folded, starts, _escaped(term))
        if hits:
            found.append(Term(math.log(1 + (total - len(hits) + 0.5) / (len(hits) + 0.5)), hits))
    return found


def spellings(query: str) -> list[str]:
    """The words of a query in lower case, and as JSON writers put them that keep to ASCII."""
    words = terms(query)
    return [*words, *(_escaped(word) for word in words if not word.isascii())]


def _escaped(term: str) -> str:
    """The term as JSON writers put it that keep to ASCII."""
    return json.dumps(term)[1:-1]


def score(text: str, starts: Sequence[int], query: str) -> dict[int, float]:
    """How well each unit answers the query (BM25); units without a hit are left out."""
    average = max(1.0, len(text) / max(1, len(starts)))
    scores: dict[int, float] = {}
    for term in look_up(text, starts, query):
        for unit, weight in term.hits.items():
            stop = starts[unit + 1] if unit + 1 < len(starts) else len(text)
            length = 1 - _B + _B * (stop - starts[unit]) / average
            scores[unit] = scores.get(unit, 0.0) + term.rarity * weight * (_K1 + 1) / (weight + _K1 * length)
    return scores


def near(text: str, starts: Sequence[int], query: str, around: int, total: int = 0) -> dict[int, float]:
    """How many words of the query, and how rare ones, stand within `around` code points of each unit with a hit.

    Args:
        total: how many units there are, where the text holds but some of them.
    """
    found = look_up(text, starts, query, total)
    places = [list(term.hits) for term in found]
    scores: dict[int, float] = {}
    for unit in {unit for term in found for unit in term.hits}:
        low = bisect_left(starts, starts[unit] - around)
        high = bisect_right(starts, starts[unit] + around)
        points = 0.0
        for term, units in zip(found, places, strict=True):
            at = bisect_left(units, low)
            if at < len(units) and units[at] < high:
                own = term.hits.get(unit, 0.0)
                points += term.rarity * (min(own, 2.0) if own else _NEARBY * min(term.hits[units[at]], 1.0))
        scores[unit] = points
    return scores


def closest(text: str, starts: Sequence[int], query: str, around: int) -> list[int]:
    """Units with a hit, those first that `near` scores best."""
    scores = near(text, starts, query, around)
    return sorted(scores, key=lambda unit: (-scores[unit], unit))


def window(text: str, query: str, length: int) -> int:
    """Where the `length` code points begin that hold most words of the query; -1 where none stands anywhere."""
    folded = fold(text)
    found: list[tuple[int, str]] = []
    for term in terms(query):
        at = folded.find(term)
        while at >= 0 and len(found) < _MOST_HITS:
            found.append((at, term))
            at = folded.find(term, at + len(term))
    found.sort()
    best, place, first = (0, 0), -1, 0
    inside: dict[str, int] = {}
    weight = 0
    for last, (at, term) in enumerate(found):
        inside[term] = inside.get(term, 0) + 1
        weight += len(term) if inside[term] == 1 else 0
        while first < last and found[first][0] < at + len(term) - length:
            gone = found[first][1]
            inside[gone] -= 1
            weight -= len(gone) if not inside[gone] else 0
            first += 1
        span = at + len(term) - found[first][0]
        if (weight, -span) > best:
            best, place = (weight, -span), found[first][0]
    return place


def _hits(folded: str, starts: Sequence[int], term: str) -> dict[int, float]:
    """Units that hold the term, with the weight of its occurrences there."""
    found: dict[int, float] = {}
    at, seen, length = folded.find(term), 0, len(term)
    while at >= 0 and seen < _MOST_HITS:
        unit = bisect_right(starts, at) - 1
        whole = not (folded[at - 1 : at].isalnum() and term[0].isalnum()) and not (
            folded[at + length : at + length + 1].isalnum() and term[-1].isalnum()
        )
        if unit >= 0:
            found[unit] = found.get(unit, 0.0) + (1.0 if whole else _PARTIAL)
        seen += 1
        at = folded.find(term, at + length)
    return found
