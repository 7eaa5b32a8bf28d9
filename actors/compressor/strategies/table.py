"""Tables: the header, the first rows, the last one, rows that stand out, counts of the columns with few values, and the
telling columns of all rows."""

from __future__ import annotations

from collections import Counter

from actors.compressor.budget import Budget
from actors.compressor.excerpt import FILLER, MUST, SALIENT, Gaps, choose
from actors.compressor.grid import Grid, odd, ranking, read
from actors.compressor.strategies.columns import identifies, place
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.thin import LARGE
from actors.compressor.units import split

_FEW_VALUES = 12
_NUMERIC = "+-.0123456789"
_HEAD = 25
"""First rows of a table that is sorted from the largest to the smallest."""
_MOST_COUNTED = 6
_ROWS_SHARE = 0.2
"""Of the soft target; like rows say little."""
_COLUMNS_SHARE = 1.3
"""Of the soft target, with the columns of all rows: they say more than rows do."""
_MOST_COLUMNS = 4
_LONGEST_NAME, _LONGEST_HEADER = 48, 40
_CUT_TITLES = (40, 28, 20)
"""Code points that are left of long titles, so that all of them have room."""
_IN_LINE = 10
_DISTINCT, _NEARLY_ALL = 0.3, 0.9
"""Fewest values that differ, of all rows, in a column that tells them apart."""


def table(task: Task) -> Draft | None:
    """Rows stay as they stand; `None` where the lines are not rows of one width."""
    if len(task.text) > LARGE:
        return None
    units = split(task.text)
    grid = read(units.contents)
    if grid is None or units.lines[-1] - units.lines[0] + 1 < len(units):
        return None
    columns = grid.columns
    few = {
        at: Counter(values)
        for at, values in enumerate(columns)
        if len(set(values)) <= max(2, min(_FEW_VALUES, len(grid.rows) // 4))
    }
    rows = set(grid.lines)
    # Lines that are no rows are the header, rules, and what the tool says under its table.
    ranked = [FILLER if index in rows else MUST for index in range(len(units))]
    for at in (*grid.lines[: _HEAD if ranking(grid) else 3], grid.lines[-1]):
        ranked[at] = SALIENT
    for at in odd(grid):
        ranked[grid.lines[at]] = SALIENT + 1
    ask(units, ranked, task.query)
    extra = _counts(grid.header, few)
    excerpt = choose(units, ranked, task.budget.minus(extra), task.soft.scaled(_ROWS_SHARE), Gaps.BLOCK)
    shown = excerpt.text + extra
    wide = task.budget.capped(task.soft.scaled(_COLUMNS_SHARE))
    listed, names = _telling(grid, columns, set(few), wide.minus(shown))
    extra += listed
    excerpt = choose(units, ranked, task.budget.minus(extra), task.soft.minus(extra), Gaps.BLOCK)
    kept = max(0, excerpt.kept - (len(units) - len(grid.rows)))
    others = f", the others by {', '.join(names)}" if names else ""
    return Draft(excerpt.text + extra, f"{kept} of {len(grid.rows)} rows{others}", complete=excerpt.complete)


def _counts(header: list[str], few: dict[int, Counter[str]]) -> str:
    parts = []
    for at, counts in list(few.items())[:_MOST_COUNTED]:
        if len(counts) > 1:
            parts.append(
                f"{header[at][:_LONGEST_HEADER]}: "
                + ", ".join(f"{value[:40] or '(empty)'} {count}" for value, count in counts.most_common())
            )
    return "\n[counts | " + " | ".join(parts) + "]" if parts else ""


def _telling(grid: Grid, columns: list[list[str]], few: set[int], room: Budget) -> tuple[str, list[str]]:
    """The columns that tell rows apart, of all rows, as many as fit the room, and their names.

    A running number says nothing on its own: it names every tenth row. Nor does a measure, without a name or in the
    place of one that has no room.
    """
    counting = next((at for at, values in enumerate(columns) if at not in few and _counting(values)), None)
    best = ""
    chosen: list[int] = []
    short = False
    for at in _ranked(grid.header, columns, few):
        if at == counting:
            continue
        measure = at and not _identity(grid.header[at]) and columns[at][0][:1] in _NUMERIC
        if measure and (short or (not chosen and counting is None)):
            break
        names = sorted([*chosen, at])
        text = _listed(grid.header, columns, names, counting)
        if not room.fits(text) and not chosen and _identity(grid.header[at]) and _worded(columns[at]):
            # The beginning of every title says more than other columns do.
            cut = [*columns]
            for length in _CUT_TITLES:
                cut[at] = [value if len(value) <= length else f"{value[:length].rstrip()}…" for value in columns[at]]
                text = _listed(grid.header, cut, names, counting)
                if room.fits(text):
                    break
        if room.fits(text):
            best, chosen = text, names
        else:
            short = True
        if len(chosen) == _MOST_COLUMNS:
            break
    return best, [grid.header[at][:_LONGEST_HEADER] for at in chosen]


def _ranked(header: list[str], columns: list[list[str]], few: set[int]) -> list[int]:
    """Columns whose values differ from row to row: the first, those with a name's name (titles before references),
    texts before numbers, then the shortest."""
    found = []
    for at, values in enumerate(columns):
        length = sum(map(len, values)) / max(1, len(values))
        distinct = len(set(values)) / max(1, len(values))
        if at in few or distinct < _DISTINCT or not 1 < length <= _LONGEST_NAME:
            continue
        named = _identity(header[at])
        order = (
            0
            if distinct >= _NEARLY_ALL and (at == 0 or named)
            else 1
            if named
            else 2
            if values[0][:1] not in _NUMERIC
            else 3
        )
        found.append((order, place(header[at]) if named else 0, length, at))
    return [at for *_, at in sorted(found)]


def _worded(values: list[str]) -> bool:
    """Whether values are titles of some words, which are known by their beginning; a handle is not."""
    return sum(1 for value in values if " " in value) >= 0.5 * len(values)


def _identity(name: str) -> bool:
    return identifies(name) or identifies(name.rstrip("sS"))


def _counting(values: list[str]) -> bool:
    """Whether a column only numbers its rows."""
    return all(value.isdecimal() for value in values) and [int(value) for value in values] == list(
        range(int(values[0]), int(values[0]) + len(values))
    )


def _listed(header: list[str], columns: list[list[str]], chosen: list[int], counting: int | None) -> str:
    """The chosen columns of all rows; ten rows in a line that a running number begins, where there is one."""
    names = ", ".join(header[at][:_LONGEST_HEADER] for at in chosen)
    if len(chosen) == 1:
        cells = columns[chosen[0]]
        joint = "; " if any(" " in value for value in cells) else " "
    else:
        cells = [", ".join(row) for row in zip(*(columns[at] for at in chosen), strict=True)]
        joint = "; "
    if counting is None:
        return f"\n[{names} of all rows: {joint.join(cells)}]"
    first = columns[counting]
    lines = [f"{first[at]}: {joint.join(cells[at : at + _IN_LINE])}" for at in range(0, len(cells), _IN_LINE)]
    by = header[counting][:_LONGEST_HEADER]
    return f"\n[{names} of all rows, {_IN_LINE} in a line from each {by}:\n" + "\n".join(lines) + "]"
