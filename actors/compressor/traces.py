"""What belongs to a line of trouble in a log: the frames of its trace, and what a tool found behind its headline."""

from __future__ import annotations

import re
from collections import defaultdict

from actors.compressor.excerpt import MUST, SALIENT

_STAMP = re.compile(
    r"\W{0,3}(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{10}|[IWEF]\d{4} )"
    r"|\W{0,3}(?:TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|FATAL)\b|\S{1,60} \S{1,40} \S{1,60} \["
)
_BEHIND = (
    "at ", "File ", "... ", "^", "|", "-->", "goroutine ", "stack backtrace", "created by ", "Caused by", "#", "❯ ",
    "--->", "DETAIL:", "HINT:", "CONTEXT:", "STATEMENT:",
)  # fmt: skip
_WENT_WELL = ("✓", "✔", "√", "ok ", "PASS")
"""How the next thing begins that a run reports."""
_HEADLINE = re.compile(r"\b[Dd]eadlock\b.{0,60}:$|\bDETECTED DEADLOCK\b|\bDATA RACE\b|\b\w+Sanitizer: ")
"""What heads a diagnosis: the lines behind it are why the text was asked for."""
_DIAGNOSIS = 24
_PLACE = re.compile(r"\.\w{1,5}\"?(?::|, |\()(?:line )?\d+")
_FOREIGN = re.compile(
    r"\bnode_modules/|\bnode:|/usr/(?:local/)?(?:lib|go)|-packages/|\b(?:java|javax|jdk|sun|kotlin|scala)[./]"
    r"|\borg\.(?:apache|springframework|junit|hibernate|gradle)\.|\b(?:System|Microsoft)\.|/rustc/|/gems/|\bvendor/"
    r"|<frozen |\.cargo/registry|\bruntime/"
)
"""Frames of a language's own library, or of somebody else's."""
_DEEPEST = 30
_TRACE_LINES = 40
_SAMPLED = 200


def traces(lines: list[str], services: list[str], ranks: list[int]) -> None:
    """Gives the lines of a stack trace the rank of the line that opens it: head and tail, not its middle, apart from
    the first frame in the program's own code; less of each where there are many.

    Args:
        services: which service wrote each line.
        ranks: how much each line matters so far; raised in place.
    """
    many = sum(1 for index in range(len(lines)) if ranks[index] == MUST and _opens_trace(lines, index))
    most = max(4, _TRACE_LINES // max(1, many // 2))
    stamped = _stamped(lines, services)
    done = -1
    for index in [at for at, rank in enumerate(ranks) if rank == MUST]:
        if index <= done:
            continue
        if "Traceback" in lines[index]:
            last = index + 1
            while last < len(lines) and lines[last][:1] in (" ", "\t"):
                last += 1
            for at in range(index, min(last + 1, len(lines))):
                if at - index < most // 2 or last - at < most // 2:
                    ranks[at] = max(ranks[at], MUST if at == last else SALIENT)
            done = last
        else:
            said = index
            if index + 1 < len(lines) and "panicked at" in lines[index]:
                said = index + 1
                ranks[said] = MUST
            _behind(lines, services, stamped, ranks, said, min(6, most // 2 + 1))
            if _HEADLINE.search(lines[index][:200]):
                for at in range(index + 1, min(len(lines), index + 1 + _DIAGNOSIS)):
                    ranks[at] = max(ranks[at], SALIENT + 1)


def _behind(
    lines: list[str], services: list[str], stamped: dict[str, bool], ranks: list[int], index: int, most: int
) -> None:
    """Lifts what the same service wrote behind a line of trouble, as long as it belongs to it: frames, indented lines,
    and lines without a time in a log in which others have one; further down only the first frame that is its own."""
    service, last, own = services[index], index, False
    unstamped = stamped.get(service, False)
    for at in range(index + 1, min(len(lines), index + 60 + _DEEPEST)):
        if services[at] != service:
            if at - last > 60:
                return
            continue
        line = lines[at]
        bare = line.lstrip()
        if bare.startswith(_WENT_WELL) or not (
            bare.startswith(_BEHIND)
            or (line[:1] in " \t" and lines[index][:1] not in " \t")
            or (unstamped and not _STAMP.match(line))
            or (line[:1] not in " \t" and at + 1 < len(lines) and lines[at + 1][:1] == "\t")
        ):
            return
        last = at
        placed = _PLACE.search(line) is not None and not _FOREIGN.search(line)
        if most > 0 or placed:
            ranks[at] = max(ranks[at], SALIENT)
        own = own or placed
        most -= 1
        if own and most <= 0:
            return


def _stamped(lines: list[str], services: list[str]) -> dict[str, bool]:
    """Whether the lines of each service begin with a time or a level."""
    found: defaultdict[str, list[bool]] = defaultdict(list)
    for line, service in zip(lines[:_SAMPLED], services[:_SAMPLED], strict=True):
        found[service].append(_STAMP.match(line) is not None)
    return {service: sum(begins) >= 0.6 * len(begins) for service, begins in found.items()}


def _opens_trace(lines: list[str], index: int) -> bool:
    return "Traceback" in lines[index] or (
        index + 1 < len(lines) and lines[index + 1].lstrip().startswith(("at ", "goroutine ", "stack backtrace"))
    )
