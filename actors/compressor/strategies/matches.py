"""What a search found: the matches of each file behind its name, or the files with their numbers of lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from actors.compressor.excerpt import NOISE
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.paths import cut, tree
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.units import split

_MATCH = re.compile(r"([^\s:,][^\s:,]{0,200}):(\d{1,7}:.*)")
_LONGEST = 4_000_000
_MOSTLY = 0.9
_EACH = (40, 20, 12, 8, 5, 3, 2)
"""Matches of each file that are shown where not all of them fit."""
_MOST_OTHERS = 12
"""Lines of another form, such as what a search says about itself."""

_Files = dict[str, list[str]]


def matches(task: Task) -> Draft | None:
    """All matches, each file named once, where that fits; else the first ones of each file as far as the soft target
    allows, one of each at least; else the files and how many matches each has, or the folders. `None` where not even
    these fit, and for searches of other forms."""
    if len(task.text) > _LONGEST:
        return None
    lines = [line for line in task.text.splitlines() if line.strip()]
    files, others = _files(lines)
    if not files or len(others) > (1 - _MOSTLY) * len(lines):
        return None
    total = sum(map(len, files.values()))
    first = [*map(cut, others[:_MOST_OTHERS])]
    whole = _text(first, files, total)
    if len(first) == len(others) and task.budget.fits(whole):
        return Draft(whole, f"all {total} lines, each file named once")
    first += _answers(task)
    for most in _EACH:
        text = _text(first, files, most)
        if task.soft.fits(text):
            return Draft(text, _said(files, total, most))
    text = _text(first, files, 1)
    if task.budget.fits(text):
        return Draft(text, _said(files, total, 1))
    counts = "\n".join([*first, *(f"{path}:{len(found)}" for path, found in files.items())])
    if task.budget.fits(counts):
        return Draft(counts, f"numbers of lines in each file, {total} in all")
    names = tree({path: len(found) for path, found in files.items()}, first, task.budget)
    return Draft(names, f"numbers of lines in each file or folder, {total} in all") if names else None


def _answers(task: Task) -> list[str]:
    """The lines that answer the query, with those around them."""
    if not task.query:
        return []
    units = split(task.text)
    ranked = [NOISE] * len(units)
    ask(units, ranked, task.query)
    return [line for line, rank in zip(units.contents, ranked, strict=True) if rank > NOISE]


def _files(lines: list[str]) -> tuple[_Files, list[str]]:
    """The matches of each file, and the lines that are none."""
    found: _Files = {}
    others: list[str] = []
    for line in lines:
        match = _MATCH.match(line)
        if match:
            found.setdefault(match[1], []).append(cut(match[2]))
        else:
            others.append(line)
    return found, others


def _text(first: list[str], files: _Files, most: int) -> str:
    return "\n".join([*first, *(line for path, found in files.items() for line in _shown(path, found, most))])


def _shown(path: str, found: list[str], most: int) -> Iterable[str]:
    """The first match as it was printed, the next ones under it without the path."""
    left = len(found) - most
    for at, match in enumerate(found[:most]):
        mark = f" …+{left}" if left > 0 and at == most - 1 else ""
        yield f"{path}:{match}{mark}" if at == 0 else f"  {match}{mark}"


def _said(files: _Files, total: int, most: int) -> str:
    shown = sum(min(most, len(found)) for found in files.values())
    return f"{shown} of {total} lines, the first {most} of each file, …+N = N lines left out"
