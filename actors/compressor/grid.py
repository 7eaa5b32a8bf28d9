"""Tables in plain text: separated values, framed cells, aligned columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from itertools import islice
from operator import ge

from actors.compressor.far import far
from actors.compressor.tabular import delimiter, headless, indexed, plain, preamble, wide_cells

_RULE = re.compile(r"^[\s|+:=-]*[-=]{2,}[\s|+:=-]*$")
_NUMBER = re.compile(r"^[-+]?\d[\d,]*(?:\.\d+)?%?$")
_FRAME_SIZE = re.compile(r"\[\d+ rows x \d+ columns\]$")
_FEWEST_ROWS = 8
_MOST_SHAPES = 12
_MOST_ODD = 12
_MOST_FAR = 3
_MOST_LARGEST, _LARGE = 5, 6.0
"""Numbers of a column that stand out, where they are so many times larger than half of the others."""
_FEWEST_STEPS = 8
_RULE_START = " \t|+:=-"
_SAMPLED = 200


Measures = tuple[list[float], Sequence[int]]
"""Numbers, and the positions they stand in."""


@dataclass(frozen=True)
class Grid:
    """A table: its header, and of each row the line it stands in and its cells (as many as the header has).

    Attributes:
        rules: lines of nothing but a frame, and those on which a cell of the row above goes on.
    """

    header: list[str]
    lines: list[int]
    rows: list[list[str]]
    rules: frozenset[int] = frozenset()

    @cached_property
    def columns(self) -> list[list[str]]:
        return [list(values) for values in zip(*self.rows, strict=True)]

    @cached_property
    def measures(self) -> list[Measures]:
        """Of each column its numbers and the rows they stand in; none where hardly any value is one."""
        return [_numbers(values) for values in self.columns]


def read(lines: Sequence[str]) -> Grid | None:
    """The table that the lines are; `None` where they are none. Blank lines and rules are no rows."""
    lines = plain(lines)
    kept: list[int] = []
    rules: list[int] = []
    for at, line in enumerate(lines):
        if line and not (line[0] in _RULE_START and line.isspace()):
            is_rule = line[0] in _RULE_START and line[-1] in _RULE_START and _RULE.match(line)
            (rules if is_rule else kept).append(at)
    kept = kept[preamble([lines[at] for at in kept[:_SAMPLED]]) :]
    if len(kept) < 4:
        return None
    mark = delimiter([lines[at] for at in kept[:200]])
    if mark in ("", "|"):
        kept = _from_first_bar(lines, kept)
    texts = [lines[at] for at in kept]
    cells = _separated(texts, mark) if mark and mark != "|" else _framed(texts) or _aligned(texts) or _indexed(texts)
    if cells is None:
        return _without_header(kept, headless(texts))
    if len(cells) != len(texts):
        return None
    width = len(cells[0])
    fits = [at for at, row in enumerate(cells) if len(row) == width or (mark and mark != "|")]
    if width < 2 or len(fits) < 0.9 * len(texts):
        return None
    header = [name.strip() for name in cells[0]]
    rows = [cells[at] if len(cells[at]) == width else [*cells[at], *[""] * width][:width] for at in fits[1:]]
    places = [kept[at] for at in fits[1:]]
    if texts[0][:1] == "|":
        more = {at for at, row in enumerate(rows) if not row[0] and 2 * row.count("") >= width}
        rules += [places[at] for at in more]
        rows = [row for at, row in enumerate(rows) if at not in more]
        places = [place for at, place in enumerate(places) if at not in more]
    _drop_label(header, rows)
    return Grid(header, places, rows, frozenset(rules))


def _from_first_bar(lines: Sequence[str], kept: list[int]) -> list[int]:
    """The lines without what is said before a framed table."""
    first = next((place for place, at in enumerate(kept[:_FEWEST_ROWS]) if lines[at][:1] == "|"), 0)
    return kept[first:]


def _without_header(kept: list[int], cells: list[list[str]] | None) -> Grid | None:
    """The rows that have as many cells as most have, under made-up names."""
    if cells is None:
        return None
    (width, _), *_ = Counter(map(len, cells)).most_common(1)
    rows = [(at, row) for at, row in zip(kept, cells, strict=True) if len(row) == width]
    return Grid([f"column {at}" for at in range(1, width + 1)], [at for at, _ in rows], [row for _, row in rows])


def _indexed(lines: list[str]) -> list[list[str]] | None:
    """Rows with an index that the header has no name for, or one on a line of its own."""
    head = indexed(lines)
    if not head:
        return None
    index = lines[1].strip() if head == 2 else "index"
    rows = [[] if _FRAME_SIZE.match(line) else line.split() for line in lines[head:]]
    return [[index, *lines[0].split()], *([[]] if head == 2 else []), *rows]


def _drop_label(header: list[str], rows: list[list[str]]) -> None:
    """Takes off the first column what a tool puts before each of its lines."""
    names = [header[0], *(row[0] for row in rows)]
    low, high = min(names), max(names)
    label = low[: next((at for at, (one, other) in enumerate(zip(low, high, strict=False)) if one != other), len(low))]
    label = label[: max(label.rfind(" "), label.rfind(":")) + 1]
    if label.strip():
        header[0] = header[0][len(label) :].strip()
        for row in rows:
            row[0] = row[0][len(label) :].strip()


def _separated(lines: list[str], mark: str) -> list[list[str]] | None:
    """Cells with a mark between them; `None` where a quote never ends, or a line end stands within a cell."""
    if not any('"' in line or "\r" in line for line in lines):  # takes half of the time
        return [line.split(mark) for line in lines]
    try:
        return [*csv.reader(lines, delimiter=mark)]
    except csv.Error:
        return None


def _framed(lines: list[str]) -> list[list[str]] | None:
    """Cells between bars."""
    if "|" not in lines[0] or sum(1 for line in lines if "|" in line) < 0.9 * len(lines):
        return None
    return [[*map(str.strip, line.strip().strip("|").split("|"))] for line in lines]


def _aligned(lines: list[str]) -> list[list[str]] | None:
    """Columns with two spaces between them; or words, where the last column takes the rest and a column has numbers."""
    if len(lines) < _FEWEST_ROWS or len(lines[0]) > 400:
        return None
    wide = [wide_cells(line) for line in lines]
    width = len(wide[0])
    if width >= 3 and sum(1 for row in wide if len(row) == width) >= 0.9 * len(lines) and _like_header(wide[0]):
        return wide
    width = len(lines[0].split())
    if not 4 <= width <= 16 or not _like_header(lines[0].split()):
        return None
    words = [line.split(None, width - 1) for line in lines]
    full = [row for row in words if len(row) == width]
    if len(full) < 0.95 * len(lines):
        return None
    if not lines[0].isupper() and sum(1 for row in full if " " in row[-1].strip()) > 0.2 * len(full):
        return None  # a sentence over columns that have nothing to do with it
    numeric = any(sum(1 for row in full[1:] if _NUMBER.match(row[at])) >= 0.9 * (len(full) - 1) for at in range(width))
    return words if numeric else None


def _like_header(names: list[str]) -> bool:
    """Names of columns are short, and no numbers."""
    return all(0 < len(name) <= 40 and not name[0].isdigit() for name in names) and len(set(names)) >= len(names) - 1


def odd(grid: Grid) -> list[int]:
    """Positions of the rows that stand out, rarest first: a value of a shape that hardly any other row has in a column
    of few shapes, or a number far from all others."""
    found: dict[int, float] = {}
    total = len(grid.rows)
    if total < 2 * _FEWEST_ROWS:
        return []
    for values, measures in zip(grid.columns, grid.measures, strict=True):
        shapes = "\n".join(values).encode("utf-8", "replace").translate(None, b"0123456789").split(b"\n")
        counts = Counter(shapes)
        if 1 < len(counts) <= _MOST_SHAPES:
            most = min(max(3, total // 40), total // 8)
            rare = {shape: count for shape, count in counts.items() if count <= most}
            for at, shape in enumerate(shapes):
                if shape in rare:
                    found[at] = min(found.get(at, total), rare[shape])
        numbers, places = measures
        for at in far(numbers)[:_MOST_FAR]:
            found[places[at]] = min(found.get(places[at], total), 1)
        for place, at in enumerate(_largest(numbers, places)):
            found[at] = min(found.get(at, total), 2 + place)
    return sorted(found, key=lambda at: (found[at], at))[:_MOST_ODD]


def ranking(grid: Grid) -> bool:
    """Whether the rows go down by one of their measures, so that the first ones are what it is about."""
    return any(
        len(numbers) == len(grid.rows) and numbers[0] > numbers[-1] and _falls(numbers) for numbers, _ in grid.measures
    )


def _falls(numbers: list[float]) -> bool:
    return all(map(ge, numbers, islice(numbers, 1, None))) and len(set(numbers)) >= _FEWEST_STEPS


def _numbers(values: list[str]) -> Measures:
    """The numbers of a column and their positions."""
    sample = values[:_SAMPLED]
    places: Sequence[int] = range(len(values))
    if _are_plain(sample) and _are_plain(values):
        numbers = _floats(values)
    elif sum(1 for value in sample if _NUMBER.match(value)) < 0.9 * len(sample):
        return [], []
    else:
        places = [at for at in places if _NUMBER.match(values[at])]
        numbers = _floats([values[at].replace(",", "").rstrip("%") for at in places])
    return (numbers, places) if len(numbers) >= 0.9 * len(values) else ([], [])


def _are_plain(values: list[str]) -> bool:
    """Whether all are digits and points, which is quicker to see of all together."""
    joined = "".join(values)
    return joined.isascii() and joined.replace(".", "").isdecimal() and all(values)


def _largest(numbers: list[float], places: Sequence[int]) -> list[int]:
    """Positions of the largest numbers of a column in which most are small."""
    if not numbers or min(numbers) < 0 or max(numbers) <= _LARGE * min(numbers):
        return []
    usual = sorted(numbers)[len(numbers) // 2]
    if not 0 < _LARGE * usual < max(numbers):
        return []
    largest = nlargest(_MOST_LARGEST, zip(numbers, places, strict=True))
    return [at for number, at in largest if number > _LARGE * usual]


def _floats(values: list[str]) -> list[float]:
    """The numbers; none where one of the values has several points."""
    try:
        return [*map(float, values)]
    except ValueError:
        return []
