"""Texts that are put together of others: several files in one answer, long fenced blocks. Each part is shortened as
what it is, and what heads it stays."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import re2

from actors.compressor.budget import Budget
from actors.compressor.detect import Kind, look
from actors.compressor.strategies.inner import inner
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.thin import LARGE
from actors.compressor.units import closing_fences, fences
from config.tokens import cost

_FENCE = re.compile(r"[ \t]*(?:```|~~~)[^\n`]*\n")
_FILE = re.compile(
    r"^(?:==> \S[^\n]{0,200} <==|([=-])\1{2,9} ?(?:[Ff]ile: ?)?[\w~./@+-]{1,200}\.\w{1,8} ?\1{3,9}"
    r"|(?:#{1,4} |// |# )?[Ff]ile: `?[\w~./@+ -]{1,200}`?|#{1,4} `?[\w~@+.-]{0,80}/[\w~./@+-]{1,200}\.\w{1,8}`?"
    r"|<(?:file|document|source) [^>\n]{0,200}(?:path|name|src)=[^>\n]{0,200}>"
    r"|(?:[\w~.@+-]{0,80}/[\w~./@+-]{1,200}|[\w~@+-]{1,80}\.\w{1,8}):)[ \t]*\n",
    re.M,
)
_VALUE = re.compile(r"(?:^|: ?)[ \t]{0,8}([{\[])(?=\s{0,80}[\"\[{\d\-tfn])", re.M)
_LIKE_FILE = re2.compile(
    rb"(?m)^(?:==> .* <==|---.*---|===.*===|(?:#{1,4} |// |# )?[Ff]ile: |#{1,4} [^ \t\n]*/|<(?:file|document|source) "
    rb"|[^ \t\n]*[./][^ \t\n]*:[ \t]*$)"
)
"""What `_FILE` finds and more, in one pass over a whole text."""
_LIKE_VALUE = re2.compile(rb"(?m)(?:^|: ?)[ \t]{0,8}[{\[][\s\x0b\x1c-\x1f?]{0,80}[\"\[{\d\-tfn?]")
"""What `_VALUE` finds, and `?` in its place for what is not ASCII."""
_INTRODUCTION = re.compile(r"(?:[^\n]{1,300}\n){1,3}[ \t]*\n\s*(?=\S)|(?:[^\n{\[]{1,300}\n){1,3}(?=[{\[])")
_VAGUE = frozenset({Kind.PROSE, Kind.MARKDOWN, Kind.CODE, Kind.LOG})
_DATA = frozenset({Kind.TABLE, Kind.NDJSON, Kind.JSON, Kind.DIFF, Kind.RECORDS, Kind.LOG, Kind.CONFIG})
_DECODER = json.JSONDecoder()
_MOST_TRIES = 12
_DEEPEST = 2
"""A file in an answer may hold blocks, but no further files."""
_SHORTEST = 1_500
"""Code points from which a fenced block is a part of its own."""
_MOST = 40
_BEGINNING = 5_000
_CONTAINERS = ("{", "[")
_FEWEST_FILES = 2
_BULK = 0.5
"""Of the text, in fenced blocks; a document with some examples is read as one."""
_MARGIN = 0.97


@dataclass(frozen=True)
class Part:
    """A stretch of a text: its first line(s) as they are, what is shortened, and its end as it is."""

    head: str
    body: str
    tail: str


def parts(task: Task, shorten: Callable[[Task], Draft]) -> Draft | None:
    """The parts, each shortened by its share of the budget; `None` where the text is one, or the heads do not fit."""
    if len(task.text) > LARGE or task.depth >= _DEEPEST:
        return None
    found = split(task.text, task.kind)
    if found is None:
        return None
    fixed = "\n".join(part.head + part.tail for part in found)
    if not task.budget.scaled(0.5).fits(fixed):
        return None
    budget, soft = (room.minus(fixed).scaled(_MARGIN) for room in (task.budget, task.soft))
    needs = [max(1.0, cost(part.body)) for part in found]
    firm, loose = _shares(needs, budget), _shares(needs, soft)
    out: list[str] = []
    whole = True
    for part, room, wanted in zip(found, firm, loose, strict=True):
        draft = _one(task, part.body, room, wanted, shorten)
        whole = whole and draft.complete
        out.append(f"{part.head}{_ended(draft.text) if part.tail else draft.text}{part.tail}")
    text = "\n".join(each.rstrip("\n") for each in out)
    if not task.budget.fits(text):
        return None
    return Draft(text, f"{len(found)} parts, each as what it is", complete=whole and text == task.text.rstrip())


def _one(task: Task, body: str, room: Budget, soft: Budget, shorten: Callable[[Task], Draft]) -> Draft:
    if room.fits(body):
        return Draft(body.rstrip("\n"), complete=True)
    return shorten(inner(task, body, room, soft))


def _ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def split(text: str, kind: Kind = Kind.PROSE) -> list[Part] | None:
    """The parts of a text in order, which joined are the text; `None` where it is not put together.

    Args:
        kind: what it was taken for as a whole.
    """
    return _files(text) or _fenced(text) or _valued(text) or (_introduced(text, kind) if kind in _VAGUE else None)


def _files(text: str) -> list[Part] | None:
    """Stretches behind lines that name a file: at least two, each behind a blank line, a rule or the beginning."""
    heads = [match for match in _heads(text) if _stands_apart(text, match.start())]
    if not _FEWEST_FILES <= len(heads) <= _MOST or heads[0].start() > len(text) // 4:
        return None
    if len(text) < _SHORTEST * len(heads):
        return None
    found = [Part("", text[: heads[0].start()], "")] if text[: heads[0].start()].strip() else []
    ends = [match.start() for match in heads[1:]] + [len(text)]
    for match, end in zip(heads, ends, strict=True):
        found.append(Part(match[0], text[match.end() : end], ""))
    return found


def _heads(text: str) -> Iterator[re.Match[str]]:
    """The lines that name a file."""
    for likely in _LIKE_FILE.finditer(text.encode("ascii", "replace")):
        match = _FILE.match(text, likely.start())
        if match is not None:
            yield match


def _stands_apart(text: str, start: int) -> bool:
    before = text[max(0, start - 80) : start].rstrip(" \t\n")
    line = before.rpartition("\n")[2]
    return (
        not before or text.endswith("\n\n", 0, start) or set(line) <= {"-", "=", "*"} or line.startswith(("</", "```"))
    )


def _fenced(text: str) -> list[Part] | None:
    """Long fenced blocks, and the text between them."""
    if "```" not in text and "~~~" not in text:
        return None
    found: list[Part] = []
    before = position = 0
    closing = closing_fences(text)
    for start, mark in fences(text).items():
        match = _FENCE.match(text, start) if start >= position else None
        if match is None:
            continue
        places = closing[mark]
        at = bisect_left(places, match.end())
        if at == len(places):
            position = match.end()
            continue
        close = places[at] - 1
        end = text.find("\n", close + 1)
        end = len(text) if end < 0 else end + 1
        if close + 1 - match.end() >= _SHORTEST:
            if text[before:start].strip():
                found.append(Part("", text[before:start], ""))
            found.append(Part(match[0], text[match.end() : close + 1], text[close + 1 : end]))
            before = end
        position = end
    if not found or len(found) > _MOST or sum(len(part.body) for part in found if part.tail) < _BULK * len(text):
        return None
    if text[before:].strip():
        found.append(Part("", text[before:], ""))
    return found


def _valued(text: str) -> list[Part] | None:
    """JSON values that begin a line or follow a colon, and the text between them; they make up most of the text."""
    found: list[Part] = []
    before = position = 0
    data = text.encode("ascii", "replace")
    for _ in range(_MOST_TRIES):
        start = _opening(text, data, position)
        if start < 0:
            break
        position = start + 1
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if end - start < _SHORTEST:
            continue
        end += text[end : end + 1] == "\n"
        if text[before:start].strip():
            found.append(Part("", text[before:start], ""))
        found.append(Part("", text[start:end], ""))
        before = position = end
    values = sum(len(part.body) for part in found if part.body[0] in "{[")
    if len(found) + bool(text[before:].strip()) < 2 or values < _BULK * len(text):
        return None
    if text[before:].strip():
        found.append(Part("", text[before:], ""))
    return found


def _opening(text: str, data: bytes, position: int) -> int:
    """Where the next value opens from a position on; -1 where none does. `data` has a byte for each code point."""
    while likely := _LIKE_VALUE.search(data, position):
        match = _VALUE.match(text, likely.start())
        if match is not None:
            return match.start(1)
        position = likely.start() + 1
    return -1


def _introduced(text: str, kind: Kind) -> list[Part] | None:
    """A few words of introduction before data of another kind."""
    match = _INTRODUCTION.match(text)
    if match is None:
        return None
    # Nearly all texts end here, and a look at the beginning of what follows takes less time than one at all of it.
    after, data = text[match.end() : match.end() + _BEGINNING], _DATA - {kind}
    if after[:1] not in _CONTAINERS and look(after).kind not in data:
        return None
    if look(text[match.end() :]).kind not in data:
        return None
    return [Part("", match[0], ""), Part("", text[match.end() :], "")]


def _shares(needs: list[float], room: Budget) -> list[Budget]:
    """A room parted: whoever needs less than an even share gets what it needs, the others an even share of the rest.

    Args:
        needs: tokens of each part.
    """
    left = 1.0
    shares = [0.0] * len(needs)
    order = sorted(range(len(needs)), key=lambda at: needs[at])
    for place, at in enumerate(order):
        even = left / (len(order) - place)
        shares[at] = min(even, 1.1 * needs[at] / max(1.0, room.tokens))
        left -= shares[at]
    return [room.scaled(share) for share in shares]
