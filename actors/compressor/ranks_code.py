"""How much each line of source code matters, whatever the language: declarations, and what is said about them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import repeat
from operator import sub

from actors.compressor.budget import Budget
from actors.compressor.declarations import CONTROL, DECLARED, PROTOTYPE
from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.units import Units
from config.tokens import cost

_TOP, _INNER, _CHAPTER = MUST, SALIENT + 1, SALIENT
_FIRST_WORD = re.compile(r"\W*(\w+)")
_HEAD = re.compile(r"\s*(?:[\w:<>~&*, ]*\boperator *[^\s\w(]{1,3}\s?\(|[\w:<>~&*,.\[\] ]*[\w~>=*+\]/-]\s?\()")
_BEFORE = re.compile(r"\s*(?:[\w:<>&*,. \[\]]{1,60}|template ?<.*>|#\[.*\]|@\w.*)")
_SUFFIX = re.compile(r"\s*(?:[A-Z_]+(?:\(|$)|noexcept|throws?\b|where\b|requires\b|const\b)")
_OUTERS = (
    "import ", "from ", "#include", "#define ", "use ", "using ", "require", "const ", "let ", "var ", "static ",
    "readonly ", "declare ",
)  # fmt: skip
_OUTER = re.compile(r"[A-Z][A-Z0-9_]+\s*[:=]|[$\w]\w* = ")
_MEMBERS = ("public ", "private ", "protected ", "static ", "final ", "readonly ", "case ")
_MEMBER = re.compile(r"(?!case [^A-Z])[^(]*[;,=]")
_FIELDS = re.compile(
    r"\b(?:interface|struct|enum|union|message|input|record|model)\b[^;]*$"
    r"|\btype \w[^;=(]*(?:\{|= \{)$|(?i:\bCREATE TABLE\b)"
)
"""Declarations of types whose first fields say what they are."""
_TYPES = (
    "interface", "struct", "enum", "union", "message", "input", "record", "model", "type ", "create table",
)  # fmt: skip
"""One of these is in every line that `_FIELDS` finds."""
_MOST_MEMBERS = 6
_DOC = re.compile(r'(?:[rbuRBU]?"""|\'\'\'|/\*\*|///|//!)')
_COMMENTS = ("//", "#", "*", "/*", "--", "<!--", ";", "%", "!", "'")
_COMMENT = re.compile(r"(?://|#(?![\w\[!])|#!|\*|/\*|--|<!--|;|%|! |' )")
_WORDS = re.compile(r"[A-Za-z]{2}")
_LICENCE = re.compile(r"copyright|licen[cs]e|warranty|redistribut", re.I)
_OPENING = ("{", ":", "throws ", "where ", "requires ", "noexcept")
"""How a line begins that goes on after the parameters of a declaration."""
_WIDTHS = (120, 90, 70, 50, 35)
"""Code points that a declaration may take where all of them together are too many."""
_SHORT = 12
"""Code points that are not worth a mark in their place."""
_SEPARATOR = re.compile(r"[ ,(]")
_MOST_ALIKE = 3
_SAID = re.compile(
    r"(?:(?:export|public|private|protected|internal|static|async|override|pub(?:\([a-z]+\))?) ){0,4}"
    r"(?:def|class|func|function|fn|interface|struct|enum|trait|impl|constructor|sub|proc)\b"
)
_MOST_CHAPTERS = 0.1
_LONGEST_CHAPTER = 100
_MOST_LINES = 12
"""Lines that one declaration may take."""
_LEAD = 25


def code(units: Units) -> list[int]:
    """Declarations, whole where they run over several lines, then the first line of what is said about each, titles,
    imports, constants; then bodies from the top. Comments hardly matter otherwise."""
    lines = units.contents
    bare = [line.lstrip() for line in lines]
    data = units.text.encode("ascii", "replace")
    comment = _comments(units, bare)
    ranks = [NOISE if inside else NOISE + 1 for inside in comment]
    for index, words in enumerate(bare):
        if not comment[index]:
            # A literal prefix is looked at first: most lines have none, and a regular expression takes longer.
            kept = (
                words.startswith(_MEMBERS) and _MEMBER.match(words)
                if words is not lines[index]
                else words.startswith(_OUTERS) or _OUTER.match(words)
            )
            if kept:
                ranks[index] = FILLER + 1
    starts = [units.at(match.start()) for form in DECLARED for match in form.finditer(data)]
    if b"#include" in data or b"#define" in data or b"#if" in data:
        starts += [units.at(match.start()) for match in PROTOTYPE.finditer(data)]
    opened = [*map(sub, map(str.count, lines, repeat("(")), map(str.count, lines, repeat(")")))]
    starts += _braced(lines, bare, comment, opened)
    begun = {*starts}
    times = Counter(bare[index] for index in begun)
    for index in sorted(begun):
        # What stands there again and again is a label or a wrapper, unless it says that it declares something.
        once = times[bare[index]] <= _MOST_ALIKE or _SAID.match(bare[index])
        if not comment[index] and once and not _is_control(bare[index]):
            _declare(lines, bare, comment, opened, ranks, index)
    _chapters(units, bare, comment, ranks)
    _lead(bare, comment, ranks)
    return ranks


def narrow(units: Units, wanted: Sequence[int], budget: Budget) -> dict[int, str]:
    """Other words for declarations that are too many for the budget: cut where all of them fit, if they can."""
    found: dict[int, str] = {}
    for width in _WIDTHS:
        found = {index: _cut(units.contents[index], width) for index in wanted if units.length(index) > width}
        texts = [found.get(index) or units.contents[index] + "\n" for index in wanted]
        if sum(map(len, texts)) <= budget.chars and cost("".join(texts)) <= budget.tokens:
            break
    return found


def _cut(line: str, width: int) -> str:
    """The beginning of a line, up to the first space or separator beyond the width."""
    found = _SEPARATOR.search(line, width)
    return f"{line[: found.end()].rstrip()}…\n" if found and len(line) - found.end() > _SHORT else line + "\n"


def _comments(units: Units, bare: list[str]) -> list[bool]:
    """Which lines are comments, those inside of a block that begins at the start of a line too."""
    found = [words.startswith(_COMMENTS) and _COMMENT.match(words) is not None for words in bare]
    text = units.text
    at = text.find("/*")
    while at >= 0:
        first = units.at(at)
        stop = text.find("*/", at + 2)
        if stop < 0:
            break
        if not text[units.starts[first] : at].strip():
            for index in range(first, units.at(stop) + 1):
                found[index] = True
        at = text.find("/*", stop + 2)
    return found


def _is_control(words: str) -> bool:
    found = _FIRST_WORD.match(words)
    return found is not None and found[1] in CONTROL and not words.startswith((".", "@", "default "))


def _braced(lines: list[str], bare: list[str], comment: list[bool], opened: list[int]) -> list[int]:
    """Where declarations begin whose body opens on a line of its own.

    Args:
        opened: how many more parentheses open in each line than close.
    """
    found = []
    for index, words in enumerate(bare):
        if index and words.startswith(_OPENING) and not comment[index] and words[:2] != "::":
            at = index - 1
            while at > 0 and index - at < _MOST_LINES and (comment[at] or opened[at] < 0 or _SUFFIX.match(lines[at])):
                at -= 1
            depth = len(lines[index]) - len(words)
            if (
                "(" in lines[at]
                and _HEAD.match(lines[at])
                and not lines[at].rstrip().endswith(";")
                and (len(lines[at]) - len(bare[at]) <= depth)
            ):
                found.append(at)
    return found


def _declare(
    lines: list[str], bare: list[str], comment: list[bool], opened: list[int], ranks: list[int], index: int
) -> None:
    """Ranks a declaration that begins at `index`, with the rest of its parameters, and what stands above it."""
    line = lines[index]
    rank = _TOP if len(bare[index]) == len(line) else _INNER
    ranks[index] = max(ranks[index], rank)
    depth, at = opened[index], index
    if line.endswith(("{", " do", "->")):
        depth = 0
    while depth > 0 and at + 1 < len(lines) and at - index < _MOST_LINES:
        at += 1
        depth += opened[at]
        if ranks[at] < _INNER:
            ranks[at] = _INNER
    if any(map(line.lower().__contains__, _TYPES)) and _FIELDS.search(line):
        _members(bare, comment, ranks, at + 1)
    if at + 1 < len(lines) and _DOC.match(bare[at + 1]):
        ranks[at + 1] = max(ranks[at + 1], USEFUL)
    above = index - 1
    typed = above >= 0 and not comment[above] and ranks[above] < FILLER and bare[above][-1:] not in ";{}:,"
    if typed and _BEFORE.fullmatch(lines[above]) and not _is_control(bare[above]):
        ranks[above] = USEFUL
        above -= 1
    last = above
    while above >= 0 and comment[above] and last - above < 60:
        above -= 1
    said = next((at for at in range(above + 1, last + 1) if _WORDS.search(bare[at])), None)
    if said is not None:
        ranks[said] = max(ranks[said], USEFUL)


def _members(bare: list[str], comment: list[bool], ranks: list[int], start: int) -> None:
    """Lifts the first fields of a type."""
    for index in range(start, min(start + _MOST_MEMBERS, len(bare))):
        if bare[index].startswith(("}", ")")):
            return
        if not comment[index]:
            ranks[index] = max(ranks[index], FILLER + 1)


def _chapters(units: Units, bare: list[str], comment: list[bool], ranks: list[int]) -> None:
    """Lifts comments of one line that stand at the margin behind a blank line: they head what follows."""
    times = Counter(bare)
    found = [
        index
        for index in range(1, len(bare))
        if comment[index]
        and times[bare[index]] <= _MOST_ALIKE
        and _COMMENT.match(bare[index])
        and (index + 1 == len(bare) or ranks[index + 1] < SALIENT)
        and units.lines[index] - units.last_lines[index - 1] > 1
        and (index + 1 == len(bare) or not comment[index + 1] or units.lines[index + 1] - units.lines[index] > 1)
        and len(bare[index]) == len(units.contents[index]) <= _LONGEST_CHAPTER
        and _WORDS.search(bare[index])
    ]
    if len(found) <= _MOST_CHAPTERS * len(bare):
        for index in found:
            ranks[index] = _CHAPTER


def _lead(bare: list[str], comment: list[bool], ranks: list[int]) -> None:
    """Lifts what the text says about itself at its beginning, unless that is a licence."""
    last = next((index for index, inside in enumerate(comment[:_LEAD]) if not inside), min(_LEAD, len(bare)))
    if last and not _LICENCE.search("\n".join(bare[:last])):
        for index in range(last):
            ranks[index] = max(ranks[index], USEFUL)
