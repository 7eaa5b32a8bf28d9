"""Cuts a text into the units that are kept or left out: lines, and pieces of very long lines."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import accumulate, compress, count
from operator import add

LONGEST_UNIT = 600
_LONGEST_FENCE = 800
_FENCES = ("```", "~~~")
_INDENTED = 40
"""Code points that a fence may be indented by: in lists it is."""
_CLOSED = re.compile(r"[ \t]{0,40}(?:`{3,20}|~{3,20})[ \t]*$", re.M)
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")


@dataclass(slots=True)
class Units:
    """The units of one text, in order; blank lines belong to the unit before them.

    Attributes:
        starts / ends: code points of each unit; `ends` leaves out the line end and blank lines after it.
        contents: the words of each unit.
        lines / last_lines: the line numbers (from 1) that each unit begins and ends in.
        total_lines: lines of the text.
        thinned: the text only holds stretches of the source that the line numbers belong to.
        overrides: other words for a unit, e.g. a long fenced block with its middle left out.
        written: the statement that wrote each unit of a log, once that was asked for.
    """

    text: str
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    contents: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    last_lines: list[int] = field(default_factory=list)
    total_lines: int = 0
    overrides: dict[int, str] = field(default_factory=dict)
    thinned: bool = False
    written: list[str] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def delivered(self, index: int) -> str:
        """The words of a unit as they would be delivered."""
        return self.overrides.get(index) or self.contents[index]

    def length(self, index: int) -> int:
        """Code points of a unit as it would be delivered."""
        return len(self.delivered(index))

    def size(self, indices: Collection[int]) -> int:
        """Code points of some units as they would be delivered."""
        size = sum(map(len, map(self.contents.__getitem__, indices)))
        changed = [index for index in indices if index in self.overrides] if self.overrides else ()
        return size + sum(len(self.overrides[index]) - len(self.contents[index]) for index in changed)

    def full(self, index: int) -> str:
        """The unit with the white space up to the next one."""
        stop = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[index] : stop]

    def at(self, position: int) -> int:
        """The unit that holds a code point."""
        return max(0, bisect_right(self.starts, position) - 1)

    def follows(self, index: int) -> bool:
        """Whether nothing of the source is missing between a unit and the one before it."""
        # Blank lines are no units: in a stretch that was left out more is missing than those.
        return not self.thinned or self.lines[index] - self.last_lines[index - 1] <= 1 or not self._skips(index)

    def _skips(self, index: int) -> bool:
        between = self.text.count("\n", self.ends[index - 1], self.starts[index])
        return self.lines[index] - self.last_lines[index - 1] > between

    def ends_line(self, index: int) -> bool:
        return index + 1 >= len(self.starts) or self.lines[index + 1] != self.last_lines[index]


def split(text: str, longest: int = LONGEST_UNIT) -> Units:
    """The lines of a text; those longer than `longest` in pieces, cut at a space or a separator if possible."""
    lines = text.split("\n")
    lengths = [*map(len, lines)]
    if max(lengths) > longest:
        return _split_long(text, lines)
    words = [*map(str.rstrip, lines)]
    contents = [*filter(None, words)]
    starts = [*compress(accumulate(map((1).__add__, lengths), initial=0), words)]
    numbers = [*compress(count(1), words)]
    total = len(lines) - 1 if text.endswith("\n") else len(lines)
    return Units(text, starts, [*map(add, starts, map(len, contents))], contents, numbers, numbers, total)


def _split_long(text: str, lines: list[str]) -> Units:
    """The same where some lines are too long for one unit."""
    starts: list[int] = []
    ends: list[int] = []
    contents: list[str] = []
    numbers: list[int] = []
    position, number = 0, 0
    for number, line in enumerate(lines, 1):
        length = len(line)
        if length > LONGEST_UNIT:
            for start, end in _pieces(text, position, position + length):
                starts.append(start)
                ends.append(end)
                contents.append(text[start:end])
                numbers.append(number)
        elif line and not line.isspace():
            words = line.rstrip()
            starts.append(position)
            ends.append(position + len(words))
            contents.append(words)
            numbers.append(number)
        position += length + 1
    total = number - 1 if text.endswith("\n") else number
    return Units(text, starts, ends, contents, numbers, numbers, total)


def merge_fences(units: Units) -> Units:
    """The same units with each closed fenced block as one, so that none is left open; long ones keep their head."""
    openers = [at for at, line in enumerate(units.contents) if "```" in line or "~~~" in line]
    if not openers:
        return units
    merged = Units(units.text, total_lines=units.total_lines)
    closing = closing_fences(units.text)
    copied = 0
    for index in openers:
        last = _fence_end(units, index, closing) if index >= copied else index
        if last == index:
            continue
        _copy(units, merged, copied, index)
        stop = units.ends[last]
        if stop - units.starts[index] > _LONGEST_FENCE:
            merged.overrides[len(merged)] = _short_fence(units, index, last)
        merged.starts.append(units.starts[index])
        merged.ends.append(stop)
        merged.contents.append(units.text[units.starts[index] : stop])
        merged.lines.append(units.lines[index])
        merged.last_lines.append(units.lines[last])
        copied = last + 1
    _copy(units, merged, copied, len(units))
    return merged


def _copy(units: Units, merged: Units, first: int, after: int) -> None:
    """Appends units as they are."""
    merged.starts += units.starts[first:after]
    merged.ends += units.ends[first:after]
    merged.contents += units.contents[first:after]
    merged.lines += units.lines[first:after]
    merged.last_lines += units.last_lines[first:after]


def fences(text: str) -> dict[int, str]:
    """Where the lines begin that may open or close a fence, in order, and the first three characters of the fence."""
    found: dict[int, str] = {}
    for mark in _FENCES:
        at = text.find(mark)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            if at - start <= _INDENTED and not text[start:at].strip(" \t"):
                found[start] = mark
            stop = text.find("\n", at)
            at = text.find(mark, stop) if stop >= 0 else -1
    return dict(sorted(found.items()))


def closing_fences(text: str) -> dict[str, list[int]]:
    """Where the lines begin that may close a fence, by its first three characters."""
    found: dict[str, list[int]] = {mark: [] for mark in _FENCES}
    for start, mark in fences(text).items():
        if _CLOSED.match(text, start):
            found[mark].append(start)
    return found


def _fence_end(units: Units, index: int, closing: dict[str, list[int]]) -> int:
    """The unit that closes the fence opened at `index`; `index` itself where none opens or closes."""
    mark = units.contents[index].lstrip()[:3]
    places = closing.get(mark, [])
    at = bisect_right(places, units.ends[index])
    return units.at(places[at]) if at < len(places) else index


def _short_fence(units: Units, first: int, last: int) -> str:
    """The opening line and the next ones, closed again, with the number of lines left out."""
    at, room = first + 1, _LONGEST_FENCE // 2
    while at < last and units.ends[at] - units.starts[first] <= room:
        at += 1
    mark = units.contents[last].rstrip()
    kept = units.text[units.starts[first] : units.ends[at - 1]]
    return f"{kept} …+{units.lines[last] - units.lines[at - 1] - 1}\n{mark}\n"


def fence_around(block: str, position: int) -> str:
    """A long fenced block with the lines around a place in it, and how many are left out before and behind."""
    lines = block.rstrip().split("\n")
    at = block.count("\n", 0, position)
    first, last = max(1, at - 1), max(1, min(at, len(lines) - 2))
    size = sum(map(len, lines[first : last + 1]))
    while last + 1 < len(lines) - 1 and size + len(lines[last + 1]) <= _LONGEST_FENCE // 2:
        last += 1
        size += len(lines[last])
    before, behind = first - 1, len(lines) - 2 - last
    return "\n".join(
        [
            lines[0],
            *([f"…+{before}"] if before else []),
            *lines[first:last],
            f"{lines[last]} …+{behind}" if behind else lines[last],
            f"{lines[-1]}\n",
        ]
    )


def _pieces(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    found = []
    while start < stop:
        end = min(start + LONGEST_UNIT, stop)
        if end < stop:
            half = start + LONGEST_UNIT // 2
            cut = max(text.rfind(mark, half, end) + len(mark) for mark in (". ", "。", " ", ",", ">", ";"))
            end = cut if cut > half else safe_cut(text, end, start + 1)
        found.append((start, end))
        start = end
    return found


def safe_cut(text: str, position: int, lowest: int) -> int:
    """The last place at or before `position` that does not part a grapheme cluster, but not before `lowest`."""
    at = min(position, len(text))
    while at > lowest and at < len(text) and _continues(text[at - 1], text[at]):
        at -= 1
    # A cluster longer than the room is cut anyway: progress comes first.
    return (
        at
        if at > lowest or lowest >= position
        else (position if _continues(text[at - 1 : at], text[at : at + 1]) else at)
    )


def _continues(before: str, after: str) -> bool:
    if not before or not after:
        return False
    if after in _JOINERS or before == "\u200d" or unicodedata.combining(after):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or (before == "\r" and after == "\n"):
        return True
    if "\udc00" <= after <= "\udfff" and "\ud800" <= before <= "\udbff":
        return True
    return "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff"
