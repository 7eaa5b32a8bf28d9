"""Tables in plain text: separated values, framed cells, aligned columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.compressor.detect import delimiter, wide_cells

_RULE = re.compile(r"^[\s|+:=-]*[-=]{2,}[\s|+:=-]*$")
_NUMBER = re.compile(r"^[-+]?\d[\d,]*(?:\.\d+)?%?$")
_FEWEST_ROWS = 8
_MOST_SHAPES = 12
_MOST_ODD = 10
_FAR = 6.0
"""Standard deviations from the mean beyond which a number stands out."""
_RULE_START = " \t|+:=-"
_SAMPLED = 200


@dataclass(frozen=True)
class Grid:
    """A table: its header, and of each row the line it stands in and its cells (as many as the header has)."""

    header: list[str]
    lines: list[int]
    rows: list[list[str]]

    @cached_property
    def columns(self) -> list[list[str]]:
        return [list(values) for values in zip(*self.rows, strict=True)]


def read(lines: Sequence[str]) -> Grid | None:
    """The table that the lines are; `None` where they are none. Blank lines and rules are no rows."""
    kept = [
        at
        for at, line in enumerate(lines)
        if line and not (line[0] in _RULE_START and (line.isspace() or _RULE.match(line)))
    ]
    if len(kept) < 4:
        return None
    texts = [lines[at] for at in kept]
    mark = delimiter(texts[:200])
    cells = [*csv.reader(texts, delimiter=mark)] if mark and mark != "|" else _framed(texts) or _aligned(texts)
    if cells is None or len(cells) != len(texts):
        return None
    width = len(cells[0])
    fits = [at for at, row in enumerate(cells) if len(row) == width or (mark and mark != "|")]
    if width < 2 or len(fits) < 0.9 * len(texts):
        return None
    rows = [
        (kept[at], cells[at] if len(cells[at]) == width else [*cells[at], *[""] * width][:width]) for at in fits[1:]
    ]
    return Grid([name.strip() for name in cells[0]], [at for at, _ in rows], [row for _, row in rows])


def _framed(lines: list[str]) -> list[list[str]] | None:
    """Cells between bars."""
    if "|" not in lines[0] or sum(1 for line in lines if "|" in line) < 0.9 * len(lines):
        return None
    return [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]


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
    numeric = any(sum(1 for row in full[1:] if _NUMBER.match(row[at])) >= 0.9 * (len(full) - 1) for at in range(width))
    return words if numeric else None


def _like_header(names: list[str]) -> bool:
    """Names of columns are short, and no numbers."""
    return all(0 < len(name) <= 40 and not name[0].isdigit() for name in names) and len(set(names)) == len(names)


def odd(grid: Grid) -> list[int]:
    """Positions of the rows that stand out, rarest first: a value of a shape that hardly any other row has in a column
    of few shapes, or a number far from all others."""
    found: dict[int, float] = {}
    total = len(grid.rows)
    if total < 2 * _FEWEST_ROWS:
        return []
    for values in grid.columns:
        shapes = "\n".join(values).encode("utf-8", "replace").translate(None, b"0123456789").split(b"\n")
        counts = Counter(shapes)
        if 1 < len(counts) <= _MOST_SHAPES:
            most = min(max(3, total // 40), total // 8)
            rare = {shape: count for shape, count in counts.items() if count <= most}
            for at, shape in enumerate(shapes):
                if shape in rare:
                    found[at] = min(found.get(at, total), rare[shape])
        for at in _far(values):
            found[at] = min(found.get(at, total), 1)
    return sorted(found, key=lambda at: (found[at], at))[:_MOST_ODD]


def _far(values: list[str]) -> list[int]:
    """Positions of numbers far from the others of their column."""
    sample = values[:_SAMPLED]
    if sum(1 for value in sample if _NUMBER.match(value)) < 0.9 * len(sample):
        return []
    plain = "".join(values).replace(".", "")
    places: Sequence[int] = range(len(values))
    if plain.isascii() and plain.isdecimal() and all(values):
        numbers = _floats(values)
    else:
        places = [at for at in places if _NUMBER.match(values[at])]
        numbers = _floats([values[at].replace(",", "").rstrip("%") for at in places])
    if len(numbers) < 0.9 * len(values):
        return []
    mean = sum(numbers) / len(numbers)
    # A product may be infinite where a power of so large a number is an error.
    far = _FAR * (sum([(number - mean) * (number - mean) for number in numbers]) / len(numbers)) ** 0.5
    if not far or max(max(numbers) - mean, mean - min(numbers)) <= far:
        return []
    return [at for at, number in zip(places, numbers, strict=True) if abs(number - mean) > far][:3]


def _floats(values: list[str]) -> list[float]:
    """The numbers; none where one of the values has several points."""
    try:
        return [*map(float, values)]
    except ValueError:
        return []
