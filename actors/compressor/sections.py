"""The parts of a text that can be asked for by name: JSON members, array indices, Markdown headings, paragraphs."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from dataclasses import dataclass

from actors.compressor.detect import Kind

_PREVIEW = 80
_MOST_PARAGRAPHS = 200
_LONGEST_PARAGRAPH = 4_000
_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S[^\n]*)$", re.M)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.M)
_GAP = re.compile(r"[ \t\r\n,:]*")
_SPACE = re.compile(r"\s+")
_scan = json.JSONDecoder(strict=False).raw_decode


@dataclass(frozen=True)
class Section:
    """One part of a text.

    Attributes:
        key: what it is asked for by, unique within the text.
        type: `object`, `array`, `string`, `number`, `literal`, `heading` or `paragraph`.
        start / end: code points of the raw text.
    """

    key: str
    type: str
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    def preview(self, text: str, length: int = _PREVIEW) -> str:
        """The first words, on one line."""
        return _SPACE.sub(" ", text[self.start : min(self.end, self.start + 3 * length)]).strip()[:length]


def outline(text: str, kind: Kind, depth: int = 1) -> tuple[str, list[Section]]:
    """The format (`json`, `markdown` or `text`) and the sections of a text, in order.

    Args:
        depth: levels of JSON members that get sections of their own.
    """
    if kind is Kind.JSON:
        try:
            found = _json(text, len(text) - len(text.lstrip("\ufeff \t\r\n")), "", max(1, depth))
        except (ValueError, RecursionError, IndexError):
            found = []
        if found:
            return "json", found
    headings = _headings(text) if kind in (Kind.MARKDOWN, Kind.PROSE) else []
    return ("markdown", headings) if headings else ("text", _paragraphs(text))


def names(text: str, kind: Kind) -> list[tuple[int, str]]:
    """Where the headings, or the top members, begin: a hint of what a later slice holds."""
    form, found = outline(text, kind)
    return [(section.start, section.key) for section in found if section.size] if form != "text" else []


def _json(text: str, at: int, prefix: str, depth: int) -> list[Section]:
    """Sections of the container that begins at `at`; positions come from the standard parser's own scanner."""
    opening = text[at]
    if opening not in "{[":
        return []
    found: list[Section] = []
    at += 1
    count = 0
    while True:
        at = _skip(text, at)
        if text[at] in "}]":
            return found
        name = str(count)
        if opening == "{":
            decoded, at = _scan(text, at)
            name = str(decoded)
            at = _skip(text, at)
        start = at
        _, at = _scan(text, at)
        count += 1
        key = f"{prefix}{name}"
        inner = _json(text, start, f"{key}.", depth - 1) if depth > 1 and text[start] in "{[" else []
        found += inner or [Section(key, _type(text[start]), start, at)]


def _skip(text: str, at: int) -> int:
    found = _GAP.match(text, at)
    return found.end() if found else at


def _type(first: str) -> str:
    return {"{": "object", "[": "array", '"': "string", "t": "literal", "f": "literal", "n": "literal"}.get(
        first, "number"
    )


def _headings(text: str) -> list[Section]:
    fences = [match.start() for match in _FENCE.finditer(text)]
    # Inside a fence when an odd number of fence lines came before.
    found = [match for match in _HEADING.finditer(text) if bisect_left(fences, match.start()) % 2 == 0]
    if not found:
        return []
    seen: dict[str, int] = {}
    sections = []
    if text[: found[0].start()].strip():
        sections.append(Section("(top)", "paragraph", 0, found[0].start()))
    for at, match in enumerate(found):
        title = match.group(2).strip().rstrip("#").strip() or match.group(2)
        seen[title] = seen.get(title, 0) + 1
        key = title if seen[title] == 1 else f"{title} ({seen[title]})"
        sections.append(
            Section(key, "heading", match.start(), found[at + 1].start() if at + 1 < len(found) else len(text))
        )
    return sections


def _paragraphs(text: str) -> list[Section]:
    """Blocks between blank lines, joined where there are many and parted at line ends where they are long."""
    least = len(text) // _MOST_PARAGRAPHS
    longest = max(_LONGEST_PARAGRAPH, 2 * least)
    sections: list[Section] = []
    start = 0
    while start < len(text):
        blank = text.find("\n\n", start + least, start + longest)
        line = text.rfind("\n", start + longest // 2, start + longest) if blank < 0 else -1
        end = blank + 2 if blank >= 0 else line + 1 if line >= 0 else start + longest
        end = min(end, len(text))
        if text[start:end].strip():
            sections.append(Section(str(len(sections) + 1), "paragraph", start, end))
        start = end
    return sections
