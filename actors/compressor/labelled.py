"""How much each line matters in texts that are records written out: `Package: x`, `SUMMARY:y`, `<title>z</title>`,
`- heading "w"`. The same labels come again and again; what they are called and how their values differ says which lines
name a record, which say that it is odd, and which are the same everywhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence

from actors.compressor.deadlines import due
from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.labels import MOST_ODD, RARE, labelled, odd, read
from actors.compressor.often import often
from actors.compressor.outline import behind_blanks, cues
from actors.compressor.trouble import holders, trouble
from actors.compressor.units import Units

_TAG = re.compile("<")
_SECTION = re.compile(r"\[{1,2}[\w.\"' :/-]{1,120}\]{1,2}$")
_NAMES = (
    "title", "name", "subject", "summary", "package", "headline", "label", "heading", "section", "subsection",
    "chapter", "fn", "cn", "dn", "symbol", "filename", "file", "path", "artifactid", "link", "test", "testcase",
    "caption", "term", "question", "topic", "event", "alert", "button", "part", "paragraph", "begin",
)  # fmt: skip
_HANDLES = (
    "id",
    "key",
    "uid",
    "url",
    "uri",
    "guid",
    "number",
    "code",
    "version",
    "email",
    "author",
    "from",
    "to",
    "date",
)
_TEXTS = (
    "description",
    "message",
    "text",
    "body",
    "content",
    "comment",
    "note",
    "details",
    "reason",
    "abstract",
    "error",
)
_PLACE = {
    **dict.fromkeys(_NAMES, SALIENT + 1),
    **dict.fromkeys(_HANDLES, FILLER + 1),
    **dict.fromkeys(_TEXTS, USEFUL),
}
_FEWEST = 5
"""Lines with one label, below which it is not one of records."""
_OFTEN = 3
"""The same in a sample."""
_LABELLED = 0.4
_TAGGED = 0.7
_ENDS = ("</", "}", "]", ")")
"""Lines that only end something."""
_HEX = "0123456789abcdefABCDEF: "
"""What lines of a dump consist of."""
_SHORTEST_DUMP = 20
"""Code points from which on a line of nothing else is no word."""
_FAILURES = ("failure", "error", "exception", "rerunfailure", "systemerr")
_NO_FAILURE = frozenset(("", "0", "null", "none", "nil", "false", "no", "{}", "[]", '""', "-", "n/a"))
_EXPIRES = re.compile(r"not ?after|not_after|valid[ _]?(?:until|to|till|thru)|expir(?:es|y|ation|ing)")
_ISO = re.compile(r"[\"']?(\d{4})-(\d\d)-(\d\d)")
_OPENSSL = re.compile(r"([A-Z][a-z]{2}) +(\d{1,2}) .{0,20}?\b(\d{4})\b")
_MONTHS = ("", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_FIRST_ENDS = 3
_REPEATED = 0.6
_LONGEST_NAME = 300
_SINGLE = 0.05
"""Of the lines, with a label that hardly comes again; where more are, that says nothing."""
_DISTINCT = 0.5
_MOST_NAMES = 0.35
"""Of the text; where the lines with names are more of it, they are what it is made of."""
_LONGEST_HEAD, _MOST_HEADS = 100, 0.15
"""What stands at the margin behind a blank line, without a label, heads what follows."""


def written_out(lines: Sequence[str]) -> bool:
    """Whether non-blank lines are records: most have a label, and few labels make up most of them."""
    lines = [line for line in map(str.lstrip, lines) if not line.startswith(_ENDS) and line.strip(_HEX)]
    if lines and often(lines, _TAG.match, _TAGGED * len(lines)):
        return True
    if len(lines) < 2 * _FEWEST or not often(lines, labelled, _LABELLED * len(lines)):
        return False
    counts = Counter(label for label, _ in map(read, lines) if label)
    repeated = [count for count in counts.values() if count >= _OFTEN]
    return sum(repeated) >= _REPEATED * sum(counts.values()) and len(repeated) >= 2


def records(units: Units) -> list[int]:
    """Names of records, what comes once, odd values with what their record begins with, texts, the rest; what is alike
    everywhere last."""
    found = [read(line) for line in units.contents]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, (label, _) in enumerate(found):
        if label:
            places[label].append(index)
    scores = {label: _score(label, [found[at][1] for at in indices]) for label, indices in places.items()}
    for label, indices in places.items():
        if scores[label] > SALIENT and sum(units.length(at) for at in indices) > _MOST_NAMES * len(units.text):
            scores[label] = USEFUL
    single = [label for label, indices in places.items() if len(indices) < _FEWEST and scores[label] > SALIENT]
    if sum(len(places[label]) for label in single) > max(2 * _FEWEST, _SINGLE * len(units)):
        scores.update(dict.fromkeys(single, USEFUL))
    named = any(scores[label] > SALIENT and len(indices) >= _FEWEST for label, indices in places.items())
    openers = _openers(units, found)
    heads = [] if named else _heads(found, openers, max(map(len, places.values()), default=0))
    best = "" if named or heads else _best(places, found)
    if best:
        scores[best] = SALIENT + 1
    ranks = [scores.get(label, FILLER) for label, _ in found]
    for index in heads:
        ranks[index] = SALIENT + 1
    for index, line in enumerate(units.contents):
        if line.startswith("[") and _SECTION.match(line):
            ranks[index] = SALIENT + 1
        elif len(line) >= _SHORTEST_DUMP and not line.strip(_HEX):
            ranks[index] = NOISE + 1
    if not named and not best and not heads:
        counts = Counter(found)
        for index in openers:
            if counts[found[index]] <= 2:
                ranks[index] = max(ranks[index], SALIENT)
    for index in [*odd(places, found), *_expiring(places, found)]:
        ranks[index] = MUST
        at = bisect_right(openers, index)
        if at:
            ranks[openers[at - 1]] = MUST
    troubled = trouble(units) | _failures(places, found)
    for index, rank in troubled.items():
        ranks[index] = max(ranks[index], rank)
    for index in holders(units, troubled):
        ranks[index] = max(ranks[index], SALIENT)
    apart = behind_blanks(units)
    heads = [
        index
        for index, (line, (label, _)) in enumerate(zip(units.contents, found, strict=True))
        if not label and (apart[index] or not index) and line[:1].isalnum() and len(line) <= _LONGEST_HEAD
    ]
    for index in heads if len(heads) <= _MOST_HEADS * len(units) else ():
        ranks[index] = max(ranks[index], SALIENT)
    for index in due(units):
        ranks[index] = max(ranks[index], SALIENT)
    for index in cues(units):
        ranks[index] = MUST
    return ranks


def _place(label: str) -> int | None:
    """What the last word of a label makes it worth; `None` where that says nothing."""
    return _PLACE.get(label.rpartition(".")[2].rpartition(" ")[2].rpartition(":")[2])


def _score(label: str, values: list[str]) -> int:
    """What lines of a label are worth, by its name and by how its values differ."""
    distinct = len(set(values)) / len(values)
    if len(values) >= _FEWEST and len(set(values)) <= 2:
        return NOISE + 1
    length = sum(map(len, values)) / len(values)
    place = _place(label)
    if place is not None and place >= SALIENT:
        if not length or length > _LONGEST_NAME:
            return FILLER
        return place if distinct >= _DISTINCT or len(values) < _FEWEST else USEFUL
    if place is not None:
        return place
    # A label that hardly comes again opens something of its own, or sums up.
    return SALIENT + 2 if len(values) < _FEWEST and length else FILLER


def _best(places: dict[str, list[int]], found: Sequence[tuple[str, str]]) -> str:
    """The label whose values tell records apart best where none has a name's name: words, all different, not long."""
    best, most = "", 0.0
    for label, indices in places.items():
        values = [found[at][1] for at in indices]
        if len(values) < _FEWEST or _place(label) == FILLER + 1:
            continue
        words = sum(1 for value in values if value[:1].isalpha()) / len(values)
        distinct = len(set(values)) / len(values)
        length = sum(map(len, values)) / len(values)
        points = round(words * distinct, 1) if 3 <= length <= 120 else 0.0
        # Of labels that serve as well the first one opens the record.
        if points > max(most, _DISTINCT):
            best, most = label, points
    return best


def _expiring(places: dict[str, list[int]], found: Sequence[tuple[str, str]]) -> list[int]:
    """What ends first and last: of certificates, licences, tokens."""
    days: list[tuple[tuple[int, int, int], int]] = []
    for label in filter(_EXPIRES.match, places):
        days += [(day, at) for at in places[label] if (day := _day(found[at][1]))]
    days.sort()
    return [at for _, at in [*days[:_FIRST_ENDS], *days[_FIRST_ENDS:][-1:]]] if len(days) >= _FEWEST else []


def _day(value: str) -> tuple[int, int, int] | None:
    """The year, month and day that a value begins with, as ISO 8601 or OpenSSL write them."""
    if match := _ISO.match(value):
        return int(match[1]), int(match[2]), int(match[3])
    match = _OPENSSL.match(value)
    return (int(match[3]), _MONTHS.index(match[1]), int(match[2])) if match and match[1] in _MONTHS else None


def _failures(places: dict[str, list[int]], found: Sequence[tuple[str, str]]) -> dict[int, int]:
    """What stands under a label that is a word for a failure, where that is seldom."""
    named = [at for label in _FAILURES for at in places.get(label, ()) if found[at][1].lower() not in _NO_FAILURE]
    return dict.fromkeys(named, MUST) if len(named) <= max(MOST_ODD, RARE * len(found)) else {}


def _heads(found: Sequence[tuple[str, str]], openers: list[int], most: int) -> list[int]:
    """The lines without a label that records begin with, where nearly every record has one of its own."""
    heads = [index for index in openers if not found[index][0] and index + 1 < len(found) and found[index + 1][0]]
    if len(heads) < max(_FEWEST, most // 2) or len({found[index][1] for index in heads}) < _DISTINCT * len(heads):
        return []
    return heads


def _openers(units: Units, found: Sequence[tuple[str, str]]) -> list[int]:
    """Where records begin: behind a blank line, or with a line without a label behind those that have one."""
    return [
        index
        for index in range(len(units))
        if index == 0
        or units.lines[index] - units.last_lines[index - 1] > 1
        or (not found[index][0] and found[index - 1][0])
    ]
