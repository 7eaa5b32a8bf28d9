"""How tables look: a mark between the cells of each line, frames, columns under a header, or rows of one form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_BARS = "│┃║"
_PLAIN = str.maketrans(
    {**dict.fromkeys(_BARS, "|"), **dict.fromkeys("─━═", "-"), **dict.fromkeys("├┼┤┌┬┐└┴┘╞╪╡╭╮╰╯╟╢╠╣╬╦╩╔╗╚╝", "+")}
)
_RAGGED_FROM, _RAGGED = 4, 2
_WIDE = re.compile(r"\t+| {2,}")
_MEASURE = re.compile(r"[-+]?\d[\d.,/:]*[%kKMGTmunbsB]{0,3}$")
_LONGEST_PREAMBLE, _FEWEST_MEASURED, _FEWEST_MEASURES = 12, 10, 3
_FEWEST_ALIKE = 40
"""Rows from which on a table needs no header to be one."""
_HEADER = re.compile(r"[\w \",;\t./%()#-]{3,2000}$")
_FEWEST_MARKS, _LONGEST_QUOTED = 2, 4_000_000
_LOOKED_AT = 12
_ALIKE, _FEWEST_CELLS, _MOST_CELLS = 0.9, 3, 12
_DISTINCT = 0.9
_NAME = re.compile(r"[^\W\d]|[/.~_-]?[^\W\d]")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+$")


def plain(lines: Sequence[str]) -> Sequence[str]:
    """The lines with frames as `|`, `-` and `+`."""
    if not any(bar in line for line in lines[:_LONGEST_PREAMBLE] for bar in _BARS):
        return lines
    return [line.translate(_PLAIN) for line in lines]


def delimiter(lines: Sequence[str]) -> str:
    """The separator of a table with a header, or `""`: the same number of fields in nearly every line."""
    rows = [line for line in lines if line.strip()]
    if len(rows) < 4:
        return ""
    for mark in ("\t", ",", ";", "|"):
        width = rows[0].count(mark)
        if width and not rows[0].startswith(("|", "#", "//")) and '"' not in rows[0]:
            counts = [row.count(mark) for row in rows]
            like = sum(
                1 for row, count in zip(rows, counts, strict=True) if count == width or (count > width and '"' in row)
            )
            # Some writers leave out the empty cells at the end of a row.
            if width >= _RAGGED_FROM:
                like += sum(1 for count in counts if width - _RAGGED <= count < width)
            if like >= 0.95 * len(rows) and (width >= 2 or len(rows) >= 8) and ". " not in rows[0]:
                return mark
    return ""


def one_line_rows(text: str, head: str) -> str | None:
    """Separated values with the line breaks within their quoted cells as spaces; `None` where there are none, or where
    the first line is no header.

    Args:
        head: the beginning of the text.
    """
    first = head.partition("\n")[0]
    if max(map(first.count, ",;\t")) < _FEWEST_MARKS or not _HEADER.match(first) or len(text) > _LONGEST_QUOTED:
        return None
    parts = text.split('"')
    if not len(parts) % 2 or not any("\n" in part for part in parts[1::2]):
        return None
    parts[1::2] = [part.replace("\r\n", " ").replace("\n", " ") for part in parts[1::2]]
    return '"'.join(parts)


def wide_cells(line: str) -> list[str]:
    """The cells of a line of aligned columns, with tabs or at least two spaces between them."""
    if "\t" in line:
        return _WIDE.split(line.strip())
    return [cell.strip() for cell in line.strip().split("  ") if cell]


def aligned(lines: Sequence[str]) -> bool:
    """Whether the lines are framed cells, or columns under a header in capitals."""
    if len(lines) < 12 or lines[0].startswith(("#", "//")):
        return False
    framed = sum(1 for line in lines if line.startswith(("| ", "+-", "|-")) and line.endswith(("|", "+")))
    if framed >= 0.95 * len(lines):
        return True
    names = wide_cells(lines[0])
    names = names if len(names) >= 3 else lines[0].split()
    if not 3 <= len(names) <= 20 or not all(name[:1].isupper() or name[:1] == "%" for name in names):
        return False
    if names[0] == names[-1]:
        return False  # the head of a manual page
    capitals = sum(1 for name in names if name.isupper())
    rows = [len(wide_cells(line)) for line in lines[1:]]
    if 2 * sum(1 for width in rows if width >= max(2, len(names) // 3)) < len(rows):
        return False
    alike = sum(1 for width in rows if abs(width - len(names)) <= 1)
    # A title in capitals has no room between its words.
    spaced = "  " in lines[0].strip() or "\t" in lines[0].strip()
    return (spaced and capitals >= 0.6 * len(names)) or (alike >= 0.9 * len(rows) and len(names) >= 3)


def preamble(lines: Sequence[str]) -> int:
    """How many lines stand before the header of a table of measures that a tool says something about first; 0 where no
    such table follows."""
    for at, line in enumerate(lines[1:_LONGEST_PREAMBLE], 1):
        names = line.lstrip("# ").split()
        if 4 <= len(names) <= 16 and not any(name[0].isdigit() for name in names):
            rows = [row.split(None, len(names) - 1) for row in lines[at + 1 : at + 1 + _FEWEST_MEASURED]]
            if len(rows) == _FEWEST_MEASURED and all(len(row) == len(names) for row in rows):
                measured = [all(_MEASURE.match(row[column]) for row in rows) for column in range(len(names))]
                if sum(measured) >= _FEWEST_MEASURES:
                    return at
    return 0


def indexed(lines: Sequence[str]) -> int:
    """How many lines head a table whose rows have one cell more than the header has names, as data frames are printed:
    the header, and the name of the index; 0 where the lines are none."""
    if len(lines) < _FEWEST_ALIKE // 2 or not lines[0][:1].isspace():
        return 0
    names = lines[0].split()
    head = 2 if len(lines[1].split()) == 1 else 1
    rows = [line.split() for line in lines[head:]]
    like = [row for row in rows if len(row) == len(names) + 1]
    if not 2 <= len(names) <= 40 or any(map(_MEASURE.match, names)) or len(like) < _ALIKE * len(rows):
        return 0
    return head if any(map(_MEASURE.match, like[0][1:])) else 0


def headless(lines: Sequence[str]) -> list[list[str]] | None:
    """The cells of each line, where nearly all lines have as many and one column names them, but no line the columns;
    `None` otherwise. Lines of another form have other numbers of cells."""
    if len(lines) < _FEWEST_ALIKE:
        return None
    for cut in (wide_cells, str.split):
        # Most texts are none, and few of their lines show it.
        width, share = _usual([*map(cut, lines[:: 1 + len(lines) // _LOOKED_AT])])
        if share < _ALIKE - 0.2 or not _FEWEST_CELLS <= width <= _MOST_CELLS:
            continue
        cells = [*map(cut, lines)]
        width, share = _usual(cells)
        if share >= _ALIKE and any(map(_names, zip(*(row for row in cells if len(row) == width), strict=True))):
            return cells
    return None


def _usual(cells: list[list[str]]) -> tuple[int, float]:
    """The number of cells that most lines have, and the share of these."""
    (width, count), *_ = Counter(map(len, cells)).most_common(1)
    return width, count / len(cells)


def _names(values: tuple[str, ...]) -> bool:
    """Whether the values of a column tell the rows apart, and are words and not numbers."""
    some = values[:: 1 + len(values) // 200]
    if len({*some}) < _DISTINCT * len(some):
        return False
    return sum(1 for value in some if _NAME.match(value) and not _HEX.match(value)) >= _DISTINCT * len(some)
