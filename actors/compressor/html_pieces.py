"""What is known of a page before it is parsed: whether the parser can bear it, and where it may be cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from operator import mul, sub

_DEEPEST = 500
_FORMATTED = 8
"""So many formatting elements open at once are no reason to look closer."""
_COPIES, _COPIES_SHARE = 50_000, 0.25
"""Most elements that a parser may make of its own accord: so many, and a share of the page's characters."""
_PIECE = 100_000
_LONGEST_REFERENCE = 40
_ATTRIBUTES = r"(?:[^>\"'=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+|[\"'])*+"
_RAW = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_NOT_RAW = r"(?![sS](?i:cript|tyle)\b|[tT](?i:extarea|itle)\b|[xX](?i:mp)\b|[iI](?i:frame)\b|[nN](?i:oembed|oframes)\b)"
_WHOLE = re.compile(
    rf"(?:[^<]++|<(?:/[^>]*+>|{_NOT_RAW}[a-zA-Z]{_ATTRIBUTES}>|"
    + "|".join(rf"(?i:{name})\b{_ATTRIBUTES}>[^<]*+(?:<(?!/(?i:{name}))[^<]*+)*+</(?i:{name})" for name in _RAW)
    + r"|!--(?:[^-]++|-(?!->))*+-->|(?!!--)[!?][^>]*+>|(?=[^a-zA-Z/!?])))*+"
)
"""Text and whole tags, elements without markup inside, and comments."""
_SELF_CLOSING = frozenset([
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "p",
    "li", "td", "th", "tr", "dt", "dd", "option", "colgroup", "thead", "tbody",
])  # fmt: skip
_FORMATTING = frozenset([
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
])  # fmt: skip
_ANY_TAG = re.compile(r"<(/?[a-zA-Z][a-zA-Z0-9]{0,15})")
_TAG = re.compile(rf"<(?!/?(?:{'|'.join(sorted(_SELF_CLOSING - {'p'}))})[\s>])(/?[a-zA-Z][a-zA-Z0-9]{{0,15}})")
"""Those that may nest."""
_LEAF = re.compile(r"<([a-zA-Z][a-zA-Z0-9]{0,15}+)(?:\s[^<>]*+)?+>[^<]*+</\1>")
_UNREAD = ("<script", "<SCRIPT", "<style", "<STYLE", "<!--")
_UNMARKED = re.compile(
    "<(?:"
    + "|".join(rf"(?i:{name})\b[^<]*+(?:<(?!/(?i:{name}))[^<]*+)*+" for name in ("script", "style"))
    + "|!--(?:[^-]++|-(?!->))*+)"
)
"""What looks like tags in them is none."""
_TOGETHER = 50_000
"""Characters whose tags are held at a time."""


def is_bearable(html: str) -> bool:
    """Whether a page nests no deeper than the parser takes in linear time, and does not multiply in it.

    A parser opens formatting elements that were left open again in every block that follows: with hundreds of them a
    page of some kilobytes becomes one of gigabytes.
    """
    depth = formatted = copies = 0
    if any(map(html.__contains__, _UNREAD)):
        html = _UNMARKED.sub("", html)
    for part in _parts(html):
        # What holds nothing but text neither nests nor stays open: most tags need no look at their names.
        names = _TAG.findall(_LEAF.sub("", part)) or [""]
        depth, levels = _levels(names, _NESTING, depth)
        if max(levels) > _DEEPEST:
            return False
        before = formatted
        formatted, marks = _levels(names, _MARKING, before)
        if max(marks) > _FORMATTED:
            names = _ANY_TAG.findall(part)
            copies += sum(map(mul, _levels(names, _MARKING, before)[1], map(_OPENING.__getitem__, names)))
            if copies > _COPIES + _COPIES_SHARE * len(html):
                return False
    return True


class _Weights(dict[str, int]):
    """What a tag adds to a count, by its name as it stands: 1 for one that opens, -1 for one that closes."""

    def __init__(self, counted: bool, names: frozenset[str], closing: int = -1) -> None:
        super().__init__()
        self._counted, self._names, self._closing = counted, names, closing

    def __missing__(self, tag: str) -> int:
        closes = tag[:1] == "/"
        counts = (tag.lower().lstrip("/") in self._names) == self._counted
        weight = 0 if not counts else self._closing if closes else 1
        if len(self) < _MOST_NAMES:
            self[tag] = weight
        return weight


_MOST_NAMES = 2_000
_NESTING = _Weights(False, _SELF_CLOSING)
_MARKING = _Weights(True, _FORMATTING)
_OPENING = _Weights(False, _FORMATTING, closing=0)


def _parts(html: str) -> Iterator[str]:
    """The page in parts that end before a tag."""
    start = 0
    while start < len(html):
        end = html.find("<", start + _TOGETHER)
        end = len(html) if end < 0 else end
        yield html[start:end]
        start = end


def _levels(names: list[str], weights: _Weights, before: int) -> tuple[int, list[int]]:
    """How many are open behind each tag, and behind the last one; what closes nothing does not count."""
    sums = list(accumulate(map(weights.__getitem__, names), initial=before))
    lowest = accumulate(sums, min, initial=0)
    next(lowest)
    levels = list(map(sub, sums, lowest))
    return levels[-1], levels[1:]


def pieces(html: str) -> Iterator[str]:
    """The page in pieces, none cut inside of a tag, a comment or a script: a tree takes up to sixty times the memory of
    its text."""
    start = 0
    while start < len(html):
        end, reach = start, _PIECE
        while end < start + _PIECE // 2 and end < len(html):
            whole = _WHOLE.match(html, start, start + reach)
            end = whole.end() if whole is not None and start + reach < len(html) else len(html)
            reach *= 2  # what must stay together is longer
        reference = html.rfind("&", max(start + 1, end - _LONGEST_REFERENCE), end)
        if reference >= 0 and end < len(html) and ";" not in html[reference:end]:
            end = reference
        yield html[start:end]
        start = end
