"""Which statement of a program wrote each line of a log, and which lines are the rare ones."""

from __future__ import annotations

import re
from collections import Counter

from actors.compressor.units import Units

_NUMBERS = bytes(range(0x30, 0x3A)) + b"abcdefABCDEF-.,"
_WORD = re.compile(r"\[[^\]\d\s]{1,8}\]|(?<![^\s\[(<{|'])[^\W\d][^\W\d/]*(?:[.-][^\W\d/]+)*(?![\w/.\\-])")
"""A word of letters, whole or in front of a separator, or a flag in brackets: what a program writes each time alike."""
_CONSIDERED = 300
"""Code points of a line that say which statement wrote it."""
_MOST_WORDS = 12
_SELDOM = 200
"""A word in fewer than one of so many lines is a value."""
_MOST_FLAGS = 16
"""Flags in brackets up to which a rare one is no value either."""
_COMMON = 0.01
_TEMPLATED = 0.6
_MOST_RARE, _RARE_SHARE = 80, 0.04
_MOST_ALIKE, _MOST_OF_HEAD = 8, 12
"""Lines of one rare statement that are shown, and of all rare ones that begin alike."""
_SHARE_OF_RARE = 0.02
_USUAL = 0.5


def shapes_of(units: Units) -> list[bytes]:
    """The constant part of each line: what is left without digits, hex letters and separators. Equal for lines that one
    statement wrote without names in them."""
    lines = units.text.encode("utf-8", "replace").translate(None, _NUMBERS).split(b"\n")
    return [lines[number - 1] for number in units.lines]


def statements(units: Units, shapes: list[bytes]) -> list[str]:
    """The words of each line that occur in others too, in order: equal for lines that differ only by values and names.

    Lines of one shape are looked at once, and a text once.
    """
    if units.written is not None:
        return units.written
    counts = Counter(shapes)
    words: dict[bytes, list[str]] = {}
    for index, shape in enumerate(shapes):
        if shape not in words:
            words[shape] = _WORD.findall(units.contents[index][:_CONSIDERED])
    times: Counter[str] = Counter()
    for shape, found in words.items():
        many = counts[shape]
        for word in set(found):
            times[word] += many
    least = max(3, len(units) // _SELDOM)
    flags = [word for word in times if word[0] == "["]
    if len(flags) <= _MOST_FLAGS:
        times.update(dict.fromkeys(flags, least))
    known = {
        shape: " ".join([word for word in found if times[word] >= least][:_MOST_WORDS])
        for shape, found in words.items()
    }
    units.written = [known[shape] for shape in shapes]
    return units.written


def rare(written: list[str]) -> list[int]:
    """The lines of the rarest statements, rarest first, not too many that begin alike; none where most lines are unlike
    one another, so that being rare says nothing."""
    counts = Counter(written)
    common = max(5, _COMMON * len(written))
    if sum(count for count in counts.values() if count >= common) < _TEMPLATED * len(written):
        return []
    room = min(_MOST_RARE, int(_RARE_SHARE * len(written)))
    if sum(1 for count in counts.values() if count == 1) > room:
        return []
    heads = _heads(counts, len(written))
    places: dict[str, list[int]] = {}
    for index, statement in enumerate(written):
        if counts[statement] <= _SHARE_OF_RARE * len(written):
            places.setdefault(statement, []).append(index)
    shown: Counter[str] = Counter()
    found: list[int] = []
    for statement, lines in sorted(places.items(), key=lambda item: len(item[1])):
        head = heads[statement]
        some = lines[:: -(-len(lines) // min(_MOST_ALIKE, max(1, _MOST_OF_HEAD - shown[head])))]
        if len(found) + len(some) > room:
            break
        shown[head] += len(some)
        found += some
    return found


def _heads(counts: Counter[str], total: int) -> dict[str, str]:
    """The first word of each statement that is not in most lines, such as a level: what is done."""
    times: Counter[str] = Counter()
    for statement, count in counts.items():
        for word in set(statement.split(" ")):
            times[word] += count
    return {
        statement: next((word for word in statement.split(" ") if times[word] < _USUAL * total), "")
        for statement in counts
    }
