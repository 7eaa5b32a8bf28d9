"""Tables: the header, the first rows, the last one, rows that stand out, counts of the columns with few values, and the
telling columns of all rows."""

from __future__ import annotations

from collections import Counter

from actors.compressor.budget import Budget
from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, Gaps, choose
from actors.compressor.grid import Grid, odd, ranking, read
from actors.compressor.relevance import window
from actors.compressor.strategies.columns import identifies, place
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.survey import LONGEST, survey
from actors.compressor.thin import LARGE
from actors.compressor.units import LONGEST_UNIT, Units, safe_cut, split

_LONGEST_ROW = 400
"""Code points that are left of a row longer than a unit."""
_SAMPLED, _MOST_JUDGED = 400, 4_000
"""Values of a column that show that they are not few, and that are judged at most."""
_FEW_VALUES = 12
_NUMERIC = "+-.0123456789"
_MOST_RULES = 4
_HEAD = 25
"""First rows of a table that is sorted from the largest to the smallest."""
_MOST_COUNTED = 6
_ROWS_SHARE = 0.2
"""Of the soft target; like rows say little."""
_COLUMNS_SHARE = 1.3
"""Of the soft target, with the columns of all rows: they say more than rows do."""
_NAMES_SHARE = 1.7
"""Likewise, where even the names of the rows do not fit otherwise."""
_MOST_COLUMNS = 4
_LONGEST_NAME, _LONGEST_HEADER = 48, 40
_CUT_TITLES = (40, 28, 20)
"""Code points that are left of long titles, so that all of them have room."""
_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Of the rows that are named where there is no room for the names of all."""
_IN_LINE = 10
_DISTINCT, _NEARLY_ALL = 0.3, 0.9
"""Fewest values that differ, of all rows, in a column that tells them apart."""


def table(task: Task) -> Draft | None:
    """Rows stay as they stand; `None` where the lines are not rows of one width."""
    surveyed = None
    if len(task.text) > LARGE:
        surveyed = survey(task.text, task.query, _FEW_VALUES) if len(task.text) <= LONGEST else None
        if surveyed is None:
            return None
    text = task.text if surveyed is None else surveyed.rows.text
    units = split(text, longest=len(text))
    grid = read(units.contents)
    if grid is None:
        return None
    few = _few(grid) if surveyed is None else surveyed.counts
    rows = set(grid.lines)
    # Lines that are no rows are the header, rules, and what the tool says under its table.
    ranked = [FILLER if index in rows else MUST for index in range(len(units))]
    for at in sorted(grid.rules)[_MOST_RULES:]:
        ranked[at] = NOISE
    for at in (*grid.lines[: _HEAD if ranking(grid) else 3], grid.lines[-1]):
        ranked[at] = SALIENT
    for at in odd(grid):
        ranked[grid.lines[at]] = SALIENT + 1
    ask(units, ranked, task.query)
    _cut_rows(units, task.query)
    extra = _counts(grid.header, few)
    names: list[str] = []
    total = len(grid.rows)
    if surveyed is None:
        excerpt = choose(units, ranked, task.budget.minus(extra), task.soft.scaled(_ROWS_SHARE), Gaps.BLOCK)
        shown = excerpt.text + extra
        wide, most = (task.budget.capped(task.soft.scaled(share)) for share in (_COLUMNS_SHARE, _NAMES_SHARE))
        listed, names = _telling(grid, set(few), wide.minus(shown), most.minus(shown))
        extra += listed
    else:
        surveyed.rows.restore(units)
        total += surveyed.rows.total_lines - len(units)
    excerpt = choose(units, ranked, task.budget.minus(extra), task.soft.minus(extra), Gaps.BLOCK)
    kept = max(0, excerpt.kept - (len(units) - len(grid.rows) - max(0, len(grid.rules) - _MOST_RULES)))
    others = f", the others by {', '.join(names)}" if names else ""
    return Draft(excerpt.text + extra, f"{kept} of {total} rows{others}", complete=excerpt.complete)


def _cut_rows(units: Units, query: str) -> None:
    """Of rows that are far too long the beginning, or what answers the query."""
    if max(map(len, units.contents)) <= LONGEST_UNIT:
        return
    for at, row in enumerate(units.contents):
        if len(row) > LONGEST_UNIT:
            start = max(0, window(row, query, _LONGEST_ROW // 2) - _LONGEST_ROW // 2) if query else 0
            start = safe_cut(row, start, 0)
            stop = safe_cut(row, start + _LONGEST_ROW, start)
            left = len(row) - stop + start
            units.overrides[at] = f"{'…' if start else ''}{row[start:stop]} […{left} characters]\n"


def _few(grid: Grid) -> dict[int, Counter[str]]:
    """How often each value stands in the columns of few values."""
    most = max(2, min(_FEW_VALUES, len(grid.rows) // 4))
    return {
        at: Counter(values)
        for at, values in enumerate(grid.columns)
        if len(set(values[:_SAMPLED])) <= most and len(set(values)) <= most
    }


def _counts(header: list[str], few: dict[int, Counter[str]]) -> str:
    parts = []
    for at, counts in list(few.items())[:_MOST_COUNTED]:
        if len(counts) > 1:
            parts.append(
                f"{header[at][:_LONGEST_HEADER]}: "
                + ", ".join(f"{value[:40] or '(empty)'} {count}" for value, count in counts.most_common())
            )
    return "\n[counts | " + " | ".join(parts) + "]" if parts else ""


def _telling(grid: Grid, few: set[int], room: Budget, most: Budget) -> tuple[str, list[str]]:
    """The columns that tell rows apart, of all rows, as many as fit the room, and their names.

    A running number says nothing on its own: it names every tenth row. Nor does a measure, without a name or in the
    place of one that has no room.

    Args:
        most: the room for the names of the rows, where `room` is too small for them.
    """
    columns = grid.columns
    counting = next((at for at, values in enumerate(columns) if at not in few and _counting(values)), None)
    best = ""
    chosen: list[int] = []
    short = False
    ranked = _ranked(grid.header, columns, few)
    for at in ranked:
        if at == counting:
            continue
        measure = at and not _identity(grid.header[at]) and columns[at][0][:1] in _NUMERIC
        if measure and (short or (not chosen and counting is None)):
            break
        names = sorted([*chosen, at])
        text = _listed(grid.header, columns, names, counting)
        if not chosen and at == ranked[0] and not room.fits(text) and most.fits(text):
            best, chosen = text, names
            break
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
    if not chosen:
        return _first_names(grid, ranked, most)
    return best, [grid.header[at][:_LONGEST_HEADER] for at in chosen]


def _first_names(grid: Grid, ranked: list[int], room: Budget) -> tuple[str, list[str]]:
    """The best column of words, of as many first rows as fit, where it is too long for all of them."""
    columns = grid.columns
    at = next((at for at in ranked if columns[at][0][:1] not in _NUMERIC), None)
    if at is None:
        return "", []
    whole = Budget.of("; ".join(columns[at]))
    part = min(room.chars / whole.chars, room.tokens / whole.tokens)
    for share in [share for share in _SHARES if share <= part]:
        count = int(share * len(grid.rows))
        first = [values[:count] for values in columns]
        which, up_to = ("all rows", "") if share == 1 else (f"the first {count} rows", f" up to row {count}")
        text = _listed(grid.header, first, [at], None, which)
        if count and room.fits(text):
            return text, [f"{grid.header[at][:_LONGEST_HEADER]}{up_to}"]
    return "", []


def _ranked(header: list[str], columns: list[list[str]], few: set[int]) -> list[int]:
    """Columns whose values differ from row to row: the first, those with a name's name (titles before references),
    texts before numbers, then the shortest."""
    found = []
    for at, whole in enumerate(columns):
        values = whole[:: 1 + len(whole) // _MOST_JUDGED]
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


def _listed(
    header: list[str], columns: list[list[str]], chosen: list[int], counting: int | None, which: str = "all rows"
) -> str:
    """The chosen columns of rows; ten rows in a line that a running number begins, where there is one."""
    names = ", ".join(header[at][:_LONGEST_HEADER] for at in chosen)
    if len(chosen) == 1:
        cells = columns[chosen[0]]
        joint = "; " if any(" " in value for value in cells) else " "
    else:
        cells = [", ".join(row) for row in zip(*(columns[at] for at in chosen), strict=True)]
        joint = "; "
    if counting is None:
        return f"\n[{names} of {which}: {joint.join(cells)}]"
    first = columns[counting]
    lines = [f"{first[at]}: {joint.join(cells[at : at + _IN_LINE])}" for at in range(0, len(cells), _IN_LINE)]
    by = header[counting][:_LONGEST_HEADER]
    return f"\n[{names} of {which}, {_IN_LINE} in a line from each {by}:\n" + "\n".join(lines) + "]"
