"""The output of `git log`: what each commit is about, newest first and without holes."""

from __future__ import annotations

import re

from actors.compressor.budget import Budget
from actors.compressor.detect import COMMIT_TOLD
from actors.compressor.relevance import score
from actors.compressor.strategies.task import Draft, Task
from config.tokens import cost

_HASH = 8
_MOST_MATCHES = 5
_BETWEEN = re.compile(r"\n(?:commit |Commit: '?)(?=[0-9a-f]{7,64}\b)")
_LINE = re.compile(r"[*|/\\_ ]{0,20}([0-9a-f]{7,40}) (\S.*)")
"""A commit of `git log --oneline`, with or without its graph."""
_HEAD = re.compile(r"(?:Author|Date): +(?:<git\.Actor \")?(.*?)(?: <[^<>]*>)?(?:\">)?$")
_MESSAGE = "Message: "
_CHANGED = re.compile(r" (\S[^|]*?) +\| +(\d+|Bin)\b|[ACDMRTU]\d{0,3}\t(\S.*)")
_TOTAL = re.compile(r" \d+ files? changed")


def history(task: Task) -> Draft | None:
    """`hash subject` for every commit where all fit, else as many subjects as fit; commits the query asks for whole.

    `None` where no commit has a subject.
    """
    if (text := task.text.lstrip()).startswith("commit ") or COMMIT_TOLD.search(text):
        _, *others = _BETWEEN.split("\n" + text)
        told = [(block, _subject(block)) for block in others]
        blocks = [block for block, subject in told if subject]
        commits = [(block[:_HASH], subject) for block, subject in told if subject]
        form = "commit {}\n\n"
    else:
        found = [match for match in map(_LINE.match, task.text.split("\n")) if match is not None]
        blocks = [f"{match[0]}\n" for match in found]
        commits = [(match[1][:_HASH], match[2]) for match in found]
        form = "{}\n"
    if not commits:
        return None
    asked = _asked(blocks, task.query, form)
    room = task.budget.minus(asked)
    lines = [f"{name} {subject}" for name, subject in commits]
    if room.fits("\n".join(lines)):
        said = f"hash and subject of all {len(commits)} commits"
        wide = task.soft.minus(asked)
        shown = _detailed(lines, blocks, wide) if form.startswith("commit") else 0
        said += f", authors, days and files of the first {shown}" if shown else ""
        return Draft(asked + "\n".join(lines), said)
    text = "\n".join(subject for _, subject in commits)
    if room.fits(text):
        return Draft(asked + text, f"subject of all {len(commits)} commits")
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


def _detailed(lines: list[str], blocks: list[str], room: Budget) -> int:
    """Adds who, when, the rest of the message and the files to the first commits, as far as the room goes; returns to
    how many."""
    text = "\n".join(lines)
    chars, tokens = float(len(text)), cost(text)
    for index, block in enumerate(blocks):
        more = _detail(block)
        chars, tokens = chars + len(more), tokens + cost(more)
        if chars > room.chars or tokens > room.tokens:
            return index
        lines[index] += more
    return len(blocks)


def _detail(block: str) -> str:
    """The author and the day, the message behind its subject, the files with the numbers of changed lines."""
    lines = block.split("\n")[1:]
    heads = [match[1] for line in lines if (match := _HEAD.match(line))]
    said = _message(lines)[1:]
    files = [" ".join(match.groups("")).strip() for line in lines if (match := _CHANGED.match(line))]
    files += [line.strip() for line in lines if _TOTAL.match(line)]
    parts = [", ".join(heads), " ".join(said), "; ".join(files)]
    return "".join(f"\n  {part}" for part in parts if part)


def _subject(block: str) -> str:
    return next(iter(_message(block.split("\n")[1:])), "")


def _message(lines: list[str]) -> list[str]:
    """What a commit says of itself: the indented lines, or those from the one with the label on."""
    labelled = next((at for at, line in enumerate(lines) if line.startswith(_MESSAGE)), None)
    if labelled is None:
        return [line.strip() for line in lines if line.startswith("    ") and line.strip()]
    said = "\n".join([lines[labelled].removeprefix(_MESSAGE), *lines[labelled + 1 :]]).strip()
    if said[:1] in ("'", '"') and said[-1:] == said[:1]:  # as Python prints it
        said = said[1:-1].replace("\\n", "\n")
    return [line.strip() for line in said.split("\n") if line.strip()]


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
