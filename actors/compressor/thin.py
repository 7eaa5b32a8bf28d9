"""Very long texts are not read whole: both ends, lines of trouble, lines that answer the query, and samples between.

Everything is found by literal search, so the time grows with the text only as fast as `str.find` does.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from typing import AnyStr

import re2

from actors.compressor.relevance import fold, terms
from actors.compressor.units import Units

LARGE = 1_000_000
"""Code points from which a text is thinned; what is left is at most about half of that."""
_END = 120_000
_SAMPLES, _SAMPLE = 60, 2_000
_AROUND = 700
"""Code points kept on each side of a hit."""
_MOST_HITS = 60
"""Of one word of the query, spread over the text."""
_SAID = re2.compile(rb"ERROR|FATAL|CRITICAL|SEVERE|PANIC|Traceback \(most|Exception in |panic: |BUILD FAILED")
"""In the text as it is: levels and reports are written so, and sentences are not."""
_TROUBLE = tuple(
    re2.compile(words)
    for words in (
        b"fatal|panic|traceback|segfault|oom|corrupt|critical|killed|exit code|caused by",
        b"exception|error|fail",
        b"refused|denied|warn",
    )
)
_LONGEST_WORD = 15
_MOST_TROUBLE = 120
"""Of each group of words."""
_RARE, _MOST_RARE = 24, 96
"""Times that a word of a group is found up to which it is wanted everywhere, and of all such words of a group."""
_COUNTED = 500
"""Hits of a group that are looked at one by one."""


@dataclass(frozen=True)
class Thin:
    """Stretches of a text, joined.

    Attributes:
        lines: for each line of `text`, its number in the whole text.
        total_lines: lines of the whole text.
    """

    text: str
    lines: list[int]
    total_lines: int

    def restore(self, units: Units) -> None:
        """Gives the units of `text` their places in the whole text."""
        places = self.lines
        units.lines = [places[number - 1] for number in units.lines]
        units.last_lines = [places[number - 1] for number in units.last_lines]
        units.total_lines = self.total_lines
        units.thinned = True


def thin(text: str, query: str) -> Thin:
    """The stretches of a long text that are worth ranking, at line ends where lines are not too long."""
    spans = [(0, _END), (len(text) - _END, len(text))]
    step = len(text) // _SAMPLES
    spans += [(at * step, at * step + _SAMPLE) for at in range(1, _SAMPLES)]
    data = text.encode("ascii", "replace")  # one byte for each code point
    found = _trouble(data, _SAID)
    data = data.lower()
    for words in _TROUBLE:
        found += _trouble(data, words)
    asked = terms(query)
    folded = text if all(map(str.isascii, asked)) else fold(text)
    for word in asked:
        found += _hits(data, word.encode()) if word.isascii() else _hits(folded, word)
    spans += [(at - _AROUND, at + _AROUND) for at in found]
    parts: list[str] = []
    lines: list[int] = []
    position, number = 0, 1
    for start, end in _merged(text, spans):
        number += text.count("\n", position, start)
        part = text[start:end].rstrip("\n")
        count = part.count("\n") + 1
        parts.append(part)
        lines += range(number, number + count)
        number += text.count("\n", start, end)
        position = end
    number += text.count("\n", position)
    return Thin("\n".join(parts), lines, number - text.endswith("\n"))


def _trouble(data: bytes, words: re2._Regexp) -> list[int]:
    """Where one of the words stands: everywhere for words that are rare, and in each of as many equal parts as hits are
    wanted the first one of any."""
    hits = [(match[0], match.start()) for match in islice(words.finditer(data), _COUNTED)]
    step = len(data) // _MOST_TROUBLE + 1
    if len(hits) < _COUNTED:
        firsts = [*{at // step: at for _, at in reversed(hits)}.values()]
    else:
        found = (words.search(data, start, start + step + _LONGEST_WORD) for start in range(0, len(data), step))
        firsts = [match.start() for match in found if match is not None]
    places: defaultdict[bytes, list[int]] = defaultdict(list)
    for word, at in hits:
        places[word].append(at)
    rare: list[int] = []
    for each in sorted(places.values(), key=len):
        if len(each) <= _RARE and len(rare) + len(each) <= _MOST_RARE:
            rare += each
    return rare + firsts


def _hits(folded: AnyStr, word: AnyStr) -> list[int]:
    """Where a word stands: everywhere, or in each of as many equal parts as hits are wanted the first one."""
    found: list[int] = []
    at = folded.find(word)
    while at >= 0 and len(found) < _MOST_HITS:
        found.append(at)
        at = folded.find(word, at + len(word))
    if at < 0:
        return found
    step = len(folded) // _MOST_HITS + 1
    firsts = (folded.find(word, start, start + step + len(word)) for start in range(0, len(folded), step))
    return [at for at in firsts if at >= 0]


def _merged(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans widened to whole lines and joined where they meet, in order."""
    found: list[tuple[int, int]] = []
    for wanted in sorted(spans):
        start, end = max(0, wanted[0]), min(len(text), wanted[1])
        low = text.rfind("\n", max(0, start - _SAMPLE), start) + 1
        high = text.find("\n", end, end + _SAMPLE)
        if low or start <= _SAMPLE:
            start = low
        if high >= 0:
            end = high + 1
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
