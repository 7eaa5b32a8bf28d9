"""Lists of paths: each directory once, with its entries behind it, or with their number."""

from __future__ import annotations

from actors.compressor.relevance import score
from actors.compressor.strategies.task import Draft, Task
from config.tokens import cost

_MOST_MATCHES = 20
_FEWEST_PER_DIRECTORY = 2


def paths(task: Task) -> Draft | None:
    """All paths grouped by directory where that fits; else the number of entries of each directory, and entries as far
    as the soft target allows. `None` where the directories alone are too many."""
    lines = [line for line in task.text.splitlines() if line.strip()]
    groups: dict[str, list[str]] = {}
    for line in lines:
        directory, slash, name = line.rpartition("/")
        groups.setdefault(directory + slash, []).append(name)
    if len(lines) < _FEWEST_PER_DIRECTORY * len(groups):
        return None
    whole = {directory: f"{directory}: {' '.join(names)}" for directory, names in groups.items()}
    text = "\n".join(whole.values())
    if task.budget.fits(text):
        return Draft(text, f"all {len(lines)} paths, each directory once")
    out = {directory: f"{directory} ({len(names)} entries)" for directory, names in groups.items()}
    asked = _asked(lines, task.query)
    text = "\n".join([*asked, *out.values()])
    if not task.budget.fits(text):
        return _directories(task, lines, groups, asked)
    chars, tokens = len(text), cost(text)
    shown = 0
    for directory in groups:
        more = whole[directory]
        chars += len(more) - len(out[directory])
        tokens += cost(more) - cost(out[directory])
        if chars > task.soft.chars or tokens > task.soft.tokens:
            break
        out[directory] = more
        shown += len(groups[directory])
    return Draft(
        "\n".join([*asked, *out.values()]), f"{shown} of {len(lines)} paths, the others by number in each directory"
    )


def _directories(task: Task, lines: list[str], groups: dict[str, list[str]], asked: list[str]) -> Draft | None:
    """Each directory by its name behind its parent, with the number of its entries."""
    parents: dict[str, list[str]] = {}
    for directory, names in groups.items():
        parent, slash, name = directory.rstrip("/").rpartition("/")
        parents.setdefault(parent + slash, []).append(f"{name or '.'} {len(names)}")
    text = "\n".join([*asked, *(f"{parent}: {', '.join(found)}" for parent, found in parents.items())])
    if not task.budget.fits(text):
        return None
    return Draft(text, f"{len(lines)} paths as {len(groups)} directories with their numbers of entries")


def _asked(lines: list[str], query: str) -> list[str]:
    """The paths that answer the query best."""
    if not query:
        return []
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    scores = score("\n".join(lines), starts, query)
    best = sorted(scores, key=lambda index: (-scores[index], index))[:_MOST_MATCHES]
    return [lines[index] for index in best if scores[index] >= 0.6 * scores[best[0]]]
