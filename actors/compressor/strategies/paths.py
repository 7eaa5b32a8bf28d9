"""Lists of paths: each directory once, with its entries behind it, or with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from actors.compressor.budget import Budget
from actors.compressor.relevance import score
from actors.compressor.strategies.task import Draft, Task
from config.tokens import cost

_MOST_MATCHES = 20
_DEEPEST = 16
_LONGEST = 300
"""Code points of a name or a line."""


def paths(task: Task) -> Draft | None:
    """All paths grouped by directory where that fits; else the number of entries of each directory, and entries as far
    as the soft target allows; else folders. `None` where not even the topmost ones fit."""
    lines = [line for line in task.text.splitlines() if line.strip()]
    answers = asked(lines, task.query)
    groups: dict[str, list[str]] = {}
    for line in lines:
        directory, slash, name = line.rpartition("/")
        groups.setdefault(directory + slash, []).append(name)
    whole = {directory: f"{directory}: {' '.join(names)}" for directory, names in groups.items()}
    text = "\n".join(whole.values())
    if task.budget.fits(text):
        return Draft(text, f"all {len(lines)} paths, each directory once")
    out = {
        directory: f"{directory} ({len(names)} entries)" if len(names) > 1 else directory + names[0]
        for directory, names in groups.items()
    }
    text = "\n".join([*answers, *out.values()])
    if not task.budget.fits(text):
        text = tree({directory: len(names) for directory, names in groups.items()}, answers, task.budget)
        return Draft(text, f"{len(lines)} paths as folders with their numbers of entries") if text else None
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
        "\n".join([*answers, *out.values()]), f"{shown} of {len(lines)} paths, the others by number in each directory"
    )


def tree(numbers: Mapping[str, int], answers: Sequence[str], budget: Budget) -> str:
    """Paths behind the folder they are in, each with its number, on the last level with the numbers of what is further
    down: as many levels as fit, and `""` where not even the topmost one does.

    Args:
        answers: lines that come first.
    """
    split = [(path.rstrip("/").split("/"), number) for path, number in numbers.items()]
    deepest = min(_DEEPEST, max((len(parts) for parts, _ in split), default=0))
    for depth in range(deepest, 0, -1):
        counts: Counter[tuple[str, ...]] = Counter()
        for parts, number in split:
            counts[tuple(parts[:depth])] += number
        inside: dict[str, list[str]] = {}
        for parts_of, count in counts.items():
            parent = "/".join([*parts_of[:-1], ""]) or "./"
            inside.setdefault(parent, []).append(f"{parts_of[-1] or '.'} {count}")
        text = "\n".join([*answers, *(f"{parent}: {', '.join(found)}" for parent, found in inside.items())])
        if budget.fits(text):
            return text
    return ""


def cut(words: str) -> str:
    """A name or a line, without the rest of an endless one."""
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def asked(lines: Sequence[str], query: str) -> list[str]:
    """The lines that answer the query best."""
    if not query:
        return []
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    scores = score("\n".join(lines), starts, query)
    best = sorted(scores, key=lambda index: (-scores[index], index))[:_MOST_MATCHES]
    return [lines[index] for index in best if scores[index] >= 0.6 * scores[best[0]]]
