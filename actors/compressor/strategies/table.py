"""CSV and TSV: the header, the first rows, the last one, rows that stand out, counts of the columns with few values."""

from __future__ import annotations

import csv
from collections import Counter

from actors.compressor.budget import cost
from actors.compressor.detect import delimiter
from actors.compressor.excerpt import FILLER, MUST, SALIENT, Gaps, choose
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.units import split

_FEW_VALUES = 12
_MOST_OUTLIERS = 8
_MOST_COUNTED = 6
_ROWS_SHARE = 0.2
"""Of the soft target; like rows say little."""
_NAMES_SHARE = 0.25
"""Most that the names of all rows may cost, of the whole table."""


def table(task: Task) -> Draft | None:
    """Rows stay as they stand; `None` where the lines are not rows of one width."""
    units = split(task.text)
    lines = [units.content(index) for index in range(len(units))]
    mark = delimiter(lines[:200])
    rows = list(csv.reader(lines, delimiter=mark)) if mark else []
    if len(rows) != len(lines) or len(rows) < 4:
        return None
    header, body = rows[0], rows[1:]
    columns = [[row[at] if at < len(row) else "" for row in body] for at in range(len(header))]
    few = {
        at: Counter(values)
        for at, values in enumerate(columns)
        if len(set(values)) <= max(2, min(_FEW_VALUES, len(body) // 4))
    }
    ranked = [FILLER] * len(units)
    ranked[0] = MUST
    for at in (1, 2, 3, len(units) - 1):
        ranked[at] = SALIENT
    for at in _outliers(columns, few):
        ranked[at + 1] = SALIENT + 1
    ask(units, ranked, task.query)
    extra = _counts(header, few)
    rows_only = task.soft.scaled(_ROWS_SHARE)
    excerpt = choose(units, ranked, task.budget.minus(extra), rows_only, Gaps.BLOCK)
    names = _identifiers(header, columns)
    if cost(names) <= _NAMES_SHARE * cost(task.text) and task.budget.fits(excerpt.text + extra + names):
        extra += names
    return Draft(excerpt.text + extra, f"{max(0, excerpt.kept - 1)} of {len(body)} rows", complete=excerpt.complete)


def _outliers(columns: list[list[str]], few: dict[int, Counter[str]]) -> list[int]:
    """Rows that hold a value found in hardly any other row of a column with few values, rarest first."""
    found: dict[int, int] = {}
    for at, counts in few.items():
        total = sum(counts.values())
        rare = {value: count for value, count in counts.items() if len(counts) > 1 and count <= max(1, total // 100)}
        if rare:
            for index, value in enumerate(columns[at]):
                if value in rare:
                    found[index] = min(found.get(index, total), rare[value])
    return sorted(found, key=lambda index: (found[index], index))[:_MOST_OUTLIERS]


def _counts(header: list[str], few: dict[int, Counter[str]]) -> str:
    parts = []
    for at, counts in list(few.items())[:_MOST_COUNTED]:
        if len(counts) > 1:
            parts.append(
                f"{header[at][:40]}: " + ", ".join(f"{value[:40]} {count}" for value, count in counts.most_common())
            )
    return "\n[counts | " + " | ".join(parts) + "]" if parts else ""


def _identifiers(header: list[str], columns: list[list[str]]) -> str:
    """The first column where it names the rows."""
    values = columns[0]
    if len(set(values)) < len(values) or sum(map(len, values)) > 24 * len(values):
        return ""
    return f"\n[{header[0][:40]} of all rows: " + " ".join(values) + "]"
