"""What compilers and linters found: each kind of finding with its number, its messages and their places."""

from __future__ import annotations

from collections import Counter, defaultdict

from actors.compressor import ranks
from actors.compressor.budget import Budget
from actors.compressor.excerpt import ASKED, FILLER, MUST, SALIENT, USEFUL, Gaps, choose
from actors.compressor.findings import ERROR, Finding, in_common, labels, read
from actors.compressor.stamps import unstamped
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.thin import LARGE
from actors.compressor.units import Units, split
from config.tokens import cost

_EACH = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 130, 210, 340)
"""Messages of each kind, as many as fit."""
_ASKED_SHARE = 0.3
_LONGEST = 240
_MOST_SUMMARIES, _LAST = 12, 40
_FIRST = "\n\n[the first lines as they stand:]\n"
_FEWEST_LINES = 12
_MOSTLY = 0.5
_MANY_ALIKE = 24
"""Findings of one kind, other than errors, that are counted rather than printed one by one."""
_SAID_ONCE = 8
"""Messages that differ by names only, from which on what they share is said once."""
_MOST_SHOWN = 20
"""Errors of which the lines behind them are shown too."""


def findings(task: Task) -> Draft | None:
    """The lines that state the findings, where they fit, with what stands around them; else the findings by kind, or
    where these are too many, as many lines as fit, errors first. `None` where there are no findings."""
    if len(task.text) > LARGE:
        return None
    units = split(task.text)
    lines = unstamped(units.contents)
    found = read(lines)
    if not found:
        return None
    ranked = [FILLER] * len(units)
    for finding in found:
        for index in finding.lines:
            ranked[index] = MUST if finding.severity == ERROR else SALIENT
        if finding.head >= 0:
            # A finding without its file says nothing.
            ranked[finding.head] = MUST if finding.severity == ERROR else max(ranked[finding.head], SALIENT + 1)
    for index in _totals(lines, found):
        ranked[index] = MUST
    errors = [finding for finding in found if finding.severity == ERROR][:_MOST_SHOWN]
    shown = {finding: labels(lines, finding) for finding in errors}
    for at in shown.values():
        for index in at:
            ranked[index] = max(ranked[index], SALIENT + 1)
    ranks.ends(ranked, 2, 3)
    ask(units, ranked, task.query)
    needed = sum(units.length(index) + 1 for index, rank in enumerate(ranked) if rank >= SALIENT)
    alike = Counter(finding.kind for finding in found if finding.severity != ERROR)
    if needed > task.soft.chars or max(alike.values(), default=0) > _MANY_ALIKE:
        said = {finding: [lines[index] for index in at] for finding, at in shown.items()}
        draft = _by_kind(task, units, ranked, found, said)
        if draft is not None:
            return draft
        ranked = [USEFUL + 1 if rank == SALIENT else rank for rank in ranked]
    excerpt = choose(units, ranked, task.budget, task.soft, Gaps.INLINE)
    return Draft(excerpt.text, f"{excerpt.kept} of {excerpt.total} lines, …+N = N lines left out", excerpt.complete)


def _totals(lines: list[str], found: list[Finding]) -> list[int]:
    """The lines at the end that sum up the run."""
    said = {index for finding in found for index in finding.lines}
    last = range(max(0, len(lines) - _LAST), len(lines))
    return [at for at in last if at not in said and "|" not in lines[at][:12] and ranks.sums_up(lines[at][:220])]


def _by_kind(
    task: Task, units: Units, ranked: list[int], found: list[Finding], shown: dict[Finding, list[str]]
) -> Draft | None:
    """Errors first, then the rarest kinds, each with as many of its messages as fit."""
    asked = ""
    if task.query:
        only = [rank if rank >= ASKED - 1 else 0 for rank in ranked]
        room = task.budget.scaled(_ASKED_SHARE)
        asked = choose(units, only, room, room, Gaps.BLOCK).text + "\n\n" if any(only) else ""
    lines = unstamped(units.contents)
    tail = [units.contents[index] for index in _totals(lines, found)]
    foot = "".join(f"{line}\n" for line in tail[-_MOST_SUMMARIES:])
    kinds: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in found:
        kinds[finding.kind].append(finding)
    order = sorted(kinds.values(), key=lambda each: (min(one.severity for one in each), len(each)))
    parts = _filled(order, shown, task.budget.minus(f"{asked}{foot}"), task.soft.minus(f"{asked}{foot}"))
    if not parts:
        return None
    text = f"{asked}{''.join(parts)}\n{foot}".rstrip()
    if sum(len(finding.lines) + len(labels(lines, finding)) for finding in found) <= _MOSTLY * len(units):
        # The source says more than the findings: the first lines show what.
        left = task.soft.minus(text + _FIRST)
        first = choose(units, [FILLER] * len(units), left, left, Gaps.SILENT).text
        text += f"{_FIRST}{first}" if first.count("\n") >= _FEWEST_LINES else ""
    return Draft(text, f"{len(found)} findings of {len(order)} kinds")


def _filled(order: list[list[Finding]], shown: dict[Finding, list[str]], room: Budget, soft: Budget) -> list[str]:
    """One message of each kind, then more and more of them up to the first that is beyond the soft target; empty where
    not even one of each kind fits the room."""
    parts: list[str] = [""] * len(order)
    chars, tokens = 1.0, 1.0
    for count in _EACH:
        for at, found in enumerate(order):
            if count > 1 and len(found) <= _EACH[_EACH.index(count) - 1]:
                continue
            text = _kind(found, shown, count)
            chars += len(text) - len(parts[at])
            tokens += cost(text) - cost(parts[at])
            limit = room if count == 1 else soft
            if chars > limit.chars or tokens > limit.tokens:
                return parts if count > 1 else []
            parts[at] = text
    return parts


def _kind(found: list[Finding], shown: dict[Finding, list[str]], count: int) -> str:
    """One kind of finding: each message once, behind it the places where it was found, with the names that the messages
    differ by where that is all; of errors what is said at the place."""
    some = found[:count]
    form, values = "", list[str]()
    if len({finding.message for finding in some}) >= _SAID_ONCE and not any(finding in shown for finding in some):
        form, values = in_common([finding.message for finding in some])
    lines = [form[:_LONGEST], *_places(some, values)] if form else _messages(some, shown)
    left = len(found) - count
    if left > 0:
        lines.append(f"  and {left} like this in {len({finding.file for finding in found[count:]})} files")
    return "\n".join(lines) + "\n"


def _places(found: list[Finding], values: list[str]) -> list[str]:
    """Where findings are, by file, each with the names in its message."""
    where: defaultdict[str, list[str]] = defaultdict(list)
    for finding, value in zip(found, values, strict=True):
        where[finding.file].append(f"{finding.place} {value}")
    return [f"  {file}{'' if at[0][:1] == '(' else ':'}{', '.join(at)}" for file, at in where.items()]


def _messages(found: list[Finding], shown: dict[Finding, list[str]]) -> list[str]:
    places: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    said: defaultdict[str, list[str]] = defaultdict(list)
    for finding in found:
        places[finding.message][finding.file].append(finding.place)
        said[finding.message] += shown.get(finding, [])
    lines = []
    for message, files in places.items():
        where = ", ".join(f"{file}{'' if at[0][:1] == '(' else ':'}{' '.join(at)}" for file, at in files.items())
        lines += [f"{message[:_LONGEST]}\n  {where}", *(f"    {line.rstrip()}" for line in said[message])]
    return lines
