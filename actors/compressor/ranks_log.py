"""How much each line of a log or of a report of a run matters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from heapq import nlargest
from itertools import islice, pairwise
from operator import sub

from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.far import far
from actors.compressor.ranks import alarms, ends, summaries
from actors.compressor.stamps import bodies
from actors.compressor.statements import rare, shapes_of, statements
from actors.compressor.states import states
from actors.compressor.traces import traces
from actors.compressor.units import Units

_SECTION = re.compile(
    r"(?:\S{10,40}Z )?(?:#\d+ \[[^\]]+\] \S|(?:TASK|PLAY|RUNNING HANDLER) \[|PLAY RECAP"
    r"|##\[(?:group|section)\]|::group::|> Task :"
    r"|Step \d+/\d+ ?:|\[Pipeline\] (?:\{ )?\(?\w|==> |={3,} \w|-{3,} \w.* -{3,}$|\[INFO\] -{3,} \w|\*{3,} \w"
    r"|\"[^\"]{1,80}\" #\d+|Thread \d+ \(|goroutine \d+ \[)"
)
"""What opens a step of a build, a task, a thread."""
_MOST_SECTIONS = 0.15
_MOST_ALIKE = 3
"""Lines of one statement with a word of trouble that matter as much as the first."""
_FEW_SEVERE = 12
"""Lines of severe trouble that all matter as much, of whatever statement."""
_RAISED = re.compile(r"\s{0,8}(?:Caused by: )?([A-Za-z_][\w.$]{0,120}(?:Error|Exception))\b")
_SELDOM_RAISED, _MOST_SELDOM = 2, 16
_ORDINARY = 0.3
"""Share of all lines from which on a statement is no trouble but what the program does."""
_FIRST_RARE = 40
_ENOUGH = 12
"""Lines of one statement that show how it goes."""
_ANNOUNCED = 3
_LONGEST_PARAGRAPH, _AROUND = 14, 8
_MEASURE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|%|[KMGT]i?B|B)?\W{0,3}")
_SCALES = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "m": 60.0, "h": 3_600.0,
    "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
}  # fmt: skip
_FEWEST_MEASURED = 20
_MEASURED = 60
"""Code points at the end of a line in whose last words its measure is looked for."""
_MOST_FAR = 3
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_SECONDS = {f"{second:02}": second for second in range(61)}
_FEWEST_STAMPED = 50
_JUMP = 30.0
"""How many times longer than nearly all others a silence is that stands out."""
_MOST_JUMPS = 2


def log(source: Units) -> list[int]:
    """Trouble and the trace behind it, summaries, both ends, steps, rare statements, measures far above the others of
    their statement, long silences; then one line of each statement."""
    stripped = bodies(source)
    units, services = stripped.units, stripped.services
    ranks = [FILLER] * len(units)
    shapes = shapes_of(units)
    written = source.written = statements(units, shapes)
    counts = Counter(written)
    found = alarms(units, shapes, written)
    _fresh(written, counts, ranks)
    _trouble(written, found, ranks)
    traces(units.contents, services, ranks)
    for index in _seldom_raised(units.contents, found):
        ranks[index] = MUST + 1
    _sums(units.contents, summaries(units, written), ranks)
    sections = [index for index, line in enumerate(units.contents) if _SECTION.match(line)]
    for index in sections if len(sections) <= _MOST_SECTIONS * len(units) else ():
        ranks[index] = max(ranks[index], SALIENT)
    rarest = rare(written)
    for place, index in enumerate(rarest):
        ranks[index] = max(ranks[index], SALIENT if place < _FIRST_RARE else USEFUL)
    _paragraphs(source, rarest[:_FIRST_RARE], ranks)
    for index in states(units):
        ranks[index] = max(ranks[index], SALIENT)
    for index in [*_far(units, written, counts), *_silences(source)]:
        ranks[index] = max(ranks[index], SALIENT + 1)
    return ends(ranks, 5, 8)


def _trouble(written: list[str], found: dict[int, int], ranks: list[int]) -> None:
    """Ranks the lines of trouble; the hundredth of one statement says less than the first of another."""
    severe = Counter(written[index] for index, rank in found.items() if rank >= SALIENT)
    most = _MOST_ALIKE if severe.total() > _FEW_SEVERE else _FEW_SEVERE
    seen: Counter[str] = Counter()
    mild: Counter[str] = Counter()
    for index, rank in found.items():
        statement = written[index]
        if rank < SALIENT:
            mild[statement] += 1
            if mild[statement] <= _MOST_ALIKE:
                ranks[index] = rank
            continue
        seen[statement] += 1
        if seen[statement] <= most or seen[statement] == severe[statement]:
            ranks[index] = rank
        elif severe[statement] < _ORDINARY * len(written):
            ranks[index] = SALIENT


def _seldom_raised(lines: list[str], found: dict[int, int]) -> list[int]:
    """Lines that begin with an exception of a class that is hardly ever raised, where trouble is frequent."""
    if sum(rank >= SALIENT for rank in found.values()) <= _FEW_SEVERE:
        return []
    raised: defaultdict[str, list[int]] = defaultdict(list)
    for index in found:
        if match := _RAISED.match(lines[index]):
            raised[match[1]].append(index)
    seldom = [index for places in raised.values() if len(places) <= _SELDOM_RAISED for index in places]
    return seldom if len(seldom) <= _MOST_SELDOM else []


def _sums(lines: list[str], found: list[int], ranks: list[int]) -> None:
    """Lifts what sums up a run, and the lines that such a line announces."""
    for index in found:
        ranks[index] = MUST
        for at in range(index + 1, min(len(lines), index + 1 + _ANNOUNCED) if lines[index][-1:] == ":" else 0):
            ranks[at] = max(ranks[at], SALIENT)


def _paragraphs(units: Units, found: list[int], ranks: list[int]) -> None:
    """Lifts the other lines of the paragraphs of rare lines, where a text consists of short paragraphs, as dumps of
    threads do: a rare one of those says little without its frames."""
    lines, last = units.lines, len(units) - 1
    if not found:
        return
    breaks = sum(after - before > 1 for before, after in pairwise(lines))
    if breaks * _LONGEST_PARAGRAPH < len(units):
        return
    for index in found:
        at = index
        while at > 0 and lines[at] - lines[at - 1] == 1 and index - at < _AROUND:
            at -= 1
            ranks[at] = max(ranks[at], SALIENT)
        at = index
        while at < last and lines[at + 1] - lines[at] == 1 and at - index < _AROUND:
            at += 1
            ranks[at] = max(ranks[at], SALIENT)


def _fresh(written: list[str], counts: Counter[str], ranks: list[int]) -> None:
    """Lifts the first line of each statement; of frequent ones the later lines only say the same again."""
    seen: Counter[str] = Counter()
    for index, statement in enumerate(written):
        seen[statement] += 1
        if seen[statement] == 1:
            ranks[index] = USEFUL if counts[statement] > 1 else FILLER + 1
        elif seen[statement] > _ENOUGH:
            ranks[index] = NOISE + 1


def _far(units: Units, written: list[str], counts: Counter[str]) -> list[int]:
    """Lines whose last measure, at their end or before their last word, is far above those of the other lines of the
    same statement."""
    frequent = {statement for statement, count in counts.items() if count >= _FEWEST_MEASURED}
    known: dict[str, float | None] = {}  # the measure of a word; few of them are said once only
    measured: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for index, statement in enumerate(written):
        if statement in frequent:
            for word in units.contents[index][-_MEASURED:].rsplit(None, 2)[:-3:-1]:
                value = known[word] if word in known else known.setdefault(word, _measure(word))
                if value is not None:
                    measured[statement].append((value, index))
                    break
    found: list[int] = []
    for values in measured.values():
        if len(values) >= _FEWEST_MEASURED:
            found += [values[at][1] for at in far([value for value, _ in values], above=True)[:_MOST_FAR]]
    return found


def _measure(word: str) -> float | None:
    """The number that a word is or that it sets a name to: in seconds or bytes if it says so."""
    bare = word.rpartition("=")[2]
    found = _MEASURE.fullmatch(bare) if bare[:1].isdigit() else None
    return float(found[1]) * _SCALES.get(found[2] or "", 1.0) if found else None


def _silences(units: Units) -> list[int]:
    """The lines around the longest times in which nothing was written, where these are much longer than all others."""
    first = next((found for line in units.contents[:5] if (found := _CLOCK.search(line, 0, 60))), None)
    if first is None or len(units) < _FEWEST_STAMPED:
        return []
    # Most lines of a log have their time in the same place.
    at = first.start()
    dated = at > 2 and first.string[at - 3 : at - 1].isdecimal()
    minutes: dict[str, int | None] = {}
    clocks: list[int] = []
    places: list[int] = []
    before = at - 3 if dated else at
    for index, line in enumerate(units.contents):
        stamp = line[before : at + 5]
        minute = minutes[stamp] if stamp in minutes else minutes.setdefault(stamp, _minute(stamp))
        second = _SECONDS.get(line[at + 6 : at + 8])
        if minute is not None and second is not None:
            clocks.append(minute + second)
            places.append(index)
    if len(clocks) < max(_FEWEST_STAMPED, len(units) // 2):
        return []
    silences = map(sub, islice(clocks, 1, None), clocks)
    gaps = nlargest(_MOST_JUMPS + 1, zip(silences, places, islice(places, 1, None), strict=False))
    usual = max(1, gaps[-1][0])
    return [at for gap, *around in gaps[:_MOST_JUMPS] if gap > _JUMP * usual for at in around]


def _minute(stamp: str) -> int | None:
    """`hh:mm`, with the day of the month before it or without, in seconds."""
    try:
        days = int(stamp[:-6]) if len(stamp) > 5 else 0
        return 86_400 * days + 3_600 * int(stamp[-5:-3]) + 60 * int(stamp[-2:])
    except ValueError:
        return None
