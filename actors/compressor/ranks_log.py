"""How much each line of a log or of a report of a run matters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from heapq import nlargest
from itertools import pairwise

from actors.compressor.excerpt import FILLER, MUST, SALIENT, USEFUL
from actors.compressor.ranks import alarms, ends, summaries
from actors.compressor.statements import rare, shapes_of, statements
from actors.compressor.units import Units

_SERVICE = re.compile(r"([\w./-]{1,60}) *\| ?")
"""What composed services put before each of their lines."""
_STAMP = re.compile(
    r"\W{0,3}(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{10}|[IWEF]\d{4} )"
    r"|\W{0,3}(?:TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|FATAL)\b|\S{1,60} \S{1,40} \S{1,60} \["
)
_BEHIND = ("at ", "File ", "... ", "^", "|", "-->", "goroutine ", "stack backtrace", "created by ", "Caused by", "#")
_SECTION = re.compile(
    r"(?:\S{10,40}Z )?(?:#\d+ \[[^\]]+\] \S|(?:TASK|PLAY|RUNNING HANDLER) \[|##\[(?:group|section)\]|::group::|> Task :"
    r"|Step \d+/\d+ ?:|\[Pipeline\] (?:\{ )?\(?\w|==> |={3,} \w|-{3,} \w.* -{3,}$|\[INFO\] -{3,} \w|\*{3,} \w"
    r"|\"[^\"]{1,80}\" #\d+|Thread \d+ \(|goroutine \d+ \[)"
)
"""What opens a step of a build, a task, a thread."""
_MOST_SECTIONS = 0.15
_TRACE_LINES = 40
_MOST_ALIKE = 3
"""Lines of one statement with a word of trouble that matter as much as the first."""
_ORDINARY = 0.3
"""Share of all lines from which on a statement is no trouble but what the program does."""
_FIRST_RARE = 40
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|%|[KMGT]i?B|B)?\W{0,3}")
_SCALES = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "m": 60.0, "h": 3_600.0,
    "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
}  # fmt: skip
_FEWEST_MEASURED = 20
_MEASURED = 60
"""Code points at the end of a line in whose last words its measure is looked for."""
_FAR = 6.0
"""Standard deviations from the mean beyond which a measure stands out."""
_MOST_FAR = 3
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_FEWEST_STAMPED = 50
_JUMP = 30.0
"""How many times longer than nearly all others a silence is that stands out."""
_MOST_JUMPS = 2
_SAMPLED = 200


def log(units: Units) -> list[int]:
    """Trouble and the trace behind it, summaries, both ends, steps, rare statements, measures far above the others of
    their statement, long silences; then one line of each statement."""
    services, units = _services(units)
    ranks = [FILLER] * len(units)
    shapes = shapes_of(units)
    written = statements(units, shapes)
    counts = Counter(written)
    found = alarms(units, shapes, written)
    _fresh(written, counts, ranks)
    trouble = Counter(written[index] for index, rank in found.items() if rank >= SALIENT)
    seen: Counter[str] = Counter()
    for index, rank in found.items():
        statement = written[index]
        if rank < SALIENT:
            ranks[index] = rank
            continue
        seen[statement] += 1
        # The hundredth line of one statement says less than the first of another.
        if seen[statement] <= _MOST_ALIKE or seen[statement] == trouble[statement]:
            ranks[index] = rank
        elif trouble[statement] < _ORDINARY * len(units):
            ranks[index] = SALIENT
    _traces(units, services, ranks)
    for index in summaries(units):
        ranks[index] = MUST
    sections = [index for index, line in enumerate(units.contents) if _SECTION.match(line)]
    for index in sections if len(sections) <= _MOST_SECTIONS * len(units) else ():
        ranks[index] = max(ranks[index], SALIENT)
    for place, index in enumerate(rare(written)):
        ranks[index] = max(ranks[index], SALIENT if place < _FIRST_RARE else USEFUL)
    for index in [*_far(units, written, counts), *_silences(units)]:
        ranks[index] = max(ranks[index], SALIENT + 1)
    return ends(ranks, 5, 8)


def _services(units: Units) -> tuple[list[str], Units]:
    """The service that each line came from, and the lines without its name; empty names where lines have none."""
    sample = units.contents[:300]
    if not sample or "|" not in sample[0] or sum(1 for line in sample if _SERVICE.match(line)) < 0.8 * len(sample):
        return [""] * len(units), units
    names, bodies = [], []
    for line in units.contents:
        found = _SERVICE.match(line)
        names.append(found[1] if found else "")
        bodies.append(line[found.end() :] if found else line)
    return names, replace(units, contents=bodies)


def _fresh(written: list[str], counts: Counter[str], ranks: list[int]) -> None:
    """Lifts the first line of each statement."""
    known: set[str] = set()
    for index, statement in enumerate(written):
        if statement not in known:
            known.add(statement)
            ranks[index] = USEFUL if counts[statement] > 1 else FILLER + 1


def _traces(units: Units, services: list[str], ranks: list[int]) -> None:
    """Gives the lines of a stack trace the rank of the line that opens it: head and tail, not its middle; less of each
    where there are many."""
    lines = units.contents
    many = sum(1 for index in range(len(units)) if ranks[index] == MUST and _opens_trace(lines, index))
    most = max(4, _TRACE_LINES // max(1, many // 2))
    stamped = _stamped(lines, services)
    index = 0
    while index < len(lines):
        if ranks[index] == MUST and "Traceback" in lines[index]:
            last = index + 1
            while last < len(lines) and lines[last][:1] in (" ", "\t"):
                last += 1
            for at in range(index, min(last + 1, len(lines))):
                if at - index < most // 2 or last - at < most // 2:
                    ranks[at] = max(ranks[at], MUST if at == last else SALIENT)
            index = last
        elif ranks[index] == MUST:
            if index + 1 < len(lines) and "panicked at" in lines[index]:
                ranks[index + 1] = MUST
            _behind(lines, services, stamped, ranks, index, min(6, most // 2 + 1))
        index += 1


def _behind(
    lines: list[str], services: list[str], stamped: dict[str, bool], ranks: list[int], index: int, most: int
) -> None:
    """Lifts what the same service wrote behind a line of trouble, as long as it belongs to it: frames, indented lines,
    and lines without a time in a log in which others have one."""
    service, at = services[index], index + 1
    unstamped = stamped.get(service, False)
    while at < len(lines) and most:
        if services[at] == service:
            line = lines[at]
            bare = line.lstrip()
            frame = bare.startswith(_BEHIND) or (
                line is not bare and line[:1] in " \t" and lines[index][:1] not in " \t"
            )
            if not frame and not (unstamped and not _STAMP.match(line)):
                return
            ranks[at] = max(ranks[at], SALIENT)
            most -= 1
        elif at - index > 60:
            return
        at += 1


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


def _far(units: Units, written: list[str], counts: Counter[str]) -> list[int]:
    """Lines whose last measure is far above those of the other lines of the same statement."""
    measured: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for index, statement in enumerate(written):
        if counts[statement] >= _FEWEST_MEASURED:
            value = _measure(units.contents[index])
            if value is not None:
                measured[statement].append((value, index))
    far: list[int] = []
    for values in measured.values():
        numbers = [value for value, _ in values]
        mean = sum(numbers) / len(numbers)
        deviation = (sum([(number - mean) * (number - mean) for number in numbers]) / len(numbers)) ** 0.5
        if deviation and len(numbers) >= _FEWEST_MEASURED and max(numbers) - mean > _FAR * deviation:
            far += [index for value, index in values if value - mean > _FAR * deviation][:_MOST_FAR]
    return far


def _measure(line: str) -> float | None:
    """The last number of a line that stands at its end, or before its last word: in seconds or bytes if it says so."""
    for word in reversed(line[-_MEASURED:].split()[-2:]):
        bare = word.rpartition("=")[2]
        if bare[:1].isdigit() and (found := _MEASURE.fullmatch(bare)):
            return float(found[1]) * _SCALES.get(found[2] or "", 1.0)
    return None


def _silences(units: Units) -> list[int]:
    """The lines around the longest times in which nothing was written, where these are much longer than all others."""
    first = next((found for line in units.contents[:5] if (found := _CLOCK.search(line, 0, 60))), None)
    if first is None or len(units) < _FEWEST_STAMPED:
        return []
    # Most lines of a log have their time in the same place.
    at = first.start()
    dated = first.string[max(0, at - 3) : at - 1].isdecimal()
    clocks: list[tuple[int, int]] = []
    for index, line in enumerate(units.contents):
        try:
            seconds = 3_600 * int(line[at : at + 2]) + 60 * int(line[at + 3 : at + 5]) + int(line[at + 6 : at + 8])
            clocks.append((seconds + 86_400 * int(line[at - 3 : at - 1]) if dated else seconds, index))
        except ValueError:
            continue
    if len(clocks) < max(_FEWEST_STAMPED, len(units) // 2):
        return []
    gaps = nlargest(
        _MOST_JUMPS + 1,
        ((after - before, first, last) for (before, first), (after, last) in pairwise(clocks)),
    )
    usual = max(1, gaps[-1][0])
    return [at for gap, *around in gaps[:_MOST_JUMPS] if gap > _JUMP * usual for at in around]
