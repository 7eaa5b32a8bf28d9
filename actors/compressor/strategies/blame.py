"""The output of `git blame`: the lines that matter as code, each behind the commit that it is from."""

from __future__ import annotations

import re
from collections import Counter

from actors.compressor.budget import Budget
from actors.compressor.excerpt import Gaps, choose
from actors.compressor.ranks_code import code
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.thin import LARGE
from actors.compressor.units import split

_LINE = re.compile(
    r"(\^?[0-9a-f]{7,40}) (?:\S+ +)?\(([^\n]{1,80}?) +(\d{4}-\d\d-\d\d) [\d:]{8} [-+]\d{4} +(\d+)\) ?(.*)"
)
_HEAD_SHARE = 0.2


def blame(task: Task) -> Draft | None:
    """`number commit line` for the lines that matter, under a list of the commits with author, day and number of lines;
    `None` where a line is not of that form, or the text is too long to be read whole."""
    if len(task.text) > LARGE:
        return None
    found = [_LINE.match(line) for line in task.text.split("\n") if line.strip()]
    rows = [match for match in found if match is not None]
    if len(rows) < 0.9 * len(found) or not rows:
        return None
    commits = Counter((row[1], row[2], row[3]) for row in rows)
    names = {commit: f"c{place}" for place, (commit, _) in enumerate(commits.most_common(), 1)}
    head = _heads(commits, names, task.budget.scaled(_HEAD_SHARE))
    ranks, lines = _ranked(rows, names)
    units = split("\n".join(lines))
    if len(units) != len(ranks):
        return None
    ask(units, ranks, task.query)
    excerpt = choose(units, ranks, task.budget.minus(head), task.soft.minus(head), Gaps.SILENT)
    shown = 1 + excerpt.text.count("\n") if excerpt.text else 0
    return Draft(head + excerpt.text, f"{shown} of {len(rows)} lines, by commit")


def _heads(commits: Counter[tuple[str, str, str]], names: dict[tuple[str, str, str], str], room: Budget) -> str:
    """What each commit is, those with most lines first, as many as the room allows."""
    out: list[str] = []
    left = room.minus(f"and {len(commits)} commits more\n\n")
    for commit, count in commits.most_common():
        name, author, day = commit
        line = f"{names[commit]} = {name} {author} {day}, {count} lines\n"
        if not left.fits(line):
            out.append(f"and {len(commits) - len(out)} commits more\n")
            break
        left = left.minus(line)
        out.append(line)
    return "".join(out) + "\n"


def _ranked(rows: list[re.Match[str]], names: dict[tuple[str, str, str], str]) -> tuple[list[int], list[str]]:
    """The lines that are not blank, in their short form, and how much each matters as code."""
    bodies = split("\n".join(row[5] for row in rows))
    ranks: dict[int, int] = {}
    for index, rank in enumerate(code(bodies)):
        number = bodies.lines[index] - 1
        ranks[number] = max(rank, ranks.get(number, 0))
    lines = [f"{row[4]} {names[row[1], row[2], row[3]]} {row[5]}" for row in rows]
    return [*ranks.values()], [lines[at] for at in ranks]
