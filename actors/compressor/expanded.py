"""Rows that databases write out with a line for each column (`\\G`, `\\x`), as the JSON records they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

_LONGEST = 4_000_000
_FEWEST = 2
_LONGEST_NAME = 100


@dataclass(frozen=True)
class _Form:
    """How one database writes: the line before each row, what stands behind the name of a column, what ends the last
    row.

    Attributes:
        is_left: names of columns begin at the margin; else all of them end in the same place.
    """

    between: re.Pattern[str]
    mark: str
    end: re.Pattern[str]
    is_left: bool


_FORMS = (
    _Form(re.compile(r"\*{8,40} \d{1,9}\. row \*{8,40}$"), ":", re.compile(r"\d+ rows? in set"), is_left=False),
    _Form(re.compile(r"-\[ RECORD \d{1,9} \][-+]*$"), "|", re.compile(r"\(\d+ rows?\)$"), is_left=True),
)


def rows_as_json(text: str) -> str | None:
    """An array of objects, with values as they were printed: numbers, else strings; `None` for every other text."""
    head = text.lstrip()[:100].split("\n", 1)[0].rstrip()
    form = next((form for form in _FORMS if form.between.match(head)), None)
    if form is None or len(text) > _LONGEST:
        return None
    rows: list[dict[str, str]] = []
    name, edge = "", 0
    for line in text.split("\n"):
        label, mark, value = line.partition(form.mark)
        if form.between.match(line.rstrip()):
            rows.append({})
            name = ""
        elif not rows:
            continue
        elif form.end.match(line):
            break
        elif mark and len(label) <= _LONGEST_NAME and (form.is_left or not edge or len(label) == edge):
            if called := label.strip():
                if called in rows[-1]:
                    return None  # two columns of one name
                name, edge = called, len(label)
                rows[-1][name] = value.strip()
            elif name:
                rows[-1][name] = f"{rows[-1][name].rstrip('+').rstrip()}\n{value.strip()}"
        elif name and line.strip():
            rows[-1][name] += f"\n{line}"  # a value of several lines
    if len(rows) < _FEWEST or not all(rows):
        return None
    return f"[{','.join(map(_row, rows))}]"


def _row(row: dict[str, str]) -> str:
    return f"{{{','.join(f'{json.dumps(name)}:{_value(value)}' for name, value in row.items())}}}"


_NUMBER: Callable[[str], object] = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?").fullmatch


def _value(value: str) -> str:
    return value if _NUMBER(value) else json.dumps(value, ensure_ascii=False)
