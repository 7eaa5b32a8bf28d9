"""The output of `git log`: what each commit is about, newest first and without holes."""

from __future__ import annotations

import re

from actors.compressor.budget import cost
from actors.compressor.relevance import score
from actors.compressor.strategies.task import Draft, Task

_HASH = 8
_MOST_MATCHES = 5
_LINE = re.compile(r"[*|/\\_ ]{0,20}([0-9a-f]{7,40}) (\S.*)")
"""A commit of `git log --oneline`, with or without its graph."""


def history(task: Task) -> Draft | None:
    """`hash subject` for every commit where all fit, else as many subjects as fit; commits the query asks for whole.

    `None` where no commit has a subject.
    """
    if task.text.lstrip().startswith("commit "):
        blocks = [block for block in ("\n" + task.text).split("\ncommit ") if block.strip()]
        commits = [(block[:_HASH], subject) for block in blocks if (subject := _subject(block))]
        form = "commit {}\n\n"
    else:
        found = [match for match in map(_LINE.match, task.text.split("\n")) if match is not None]
        blocks = [match[0] for match in found]
        commits = [(match[1][:_HASH], match[2]) for match in found]
        form = "{}\n"
    if not commits:
        return None
    asked = _asked(blocks, task.query, form)
    room = task.budget.minus(asked)
    for lines in ([f"{name} {subject}" for name, subject in commits], [subject for _, subject in commits]):
        text = "\n".join(lines)
        if room.fits(text):
            return Draft(
                asked + text,
                f"{'hash and ' if lines[0].startswith(commits[0][0]) else ''}subject of all {len(commits)} commits",
            )
    left = f"\n[commits {len(commits)}-{len(commits)}]"
    kept, chars, tokens = 0, float(len(left)), cost(left)
    for _, subject in commits:
        chars, tokens = chars + len(subject) + 1, tokens + cost(subject + "\n")
        if chars > room.chars or tokens > room.tokens:
            break
        kept += 1
    lines = [subject for _, subject in commits[:kept]]
    return Draft(
        asked + "\n".join([*lines, f"[commits {kept + 1}-{len(commits)}]"]),
        f"subject of {kept} of {len(commits)} commits",
    )


def _subject(block: str) -> str:
    return next((line.strip() for line in block.split("\n")[1:] if line.startswith("    ") and line.strip()), "")


def _asked(blocks: list[str], query: str, form: str) -> str:
    """The commits that answer the query best, as they stand."""
    if not query:
        return ""
    starts, at = [], 0
    for block in blocks:
        starts.append(at)
        at += len(block)
    scores = score("".join(blocks), starts, query)
    best = sorted(scores, key=lambda index: (-scores[index], index))[:_MOST_MATCHES]
    good = [blocks[index].strip() for index in best if scores[index] >= 0.6 * scores[best[0]]]
    return "".join(form.format(block[:1000]) for block in good)
