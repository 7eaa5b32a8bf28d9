"""Reading an original again: slices that join to the last character, passages that answer a search, named sections."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from actors.compressor.budget import Budget
from actors.compressor.detect import Kind
from actors.compressor.relevance import closest, terms
from actors.compressor.sections import Section, outline
from actors.compressor.units import Units, safe_cut, split
from config.tokens import cost

FOOTER = "\n---\n[progressive: chars="
_FOOTER_SHARE = 0.4
"""Above this share of the budget a footer does without hints."""
_HINTS = 6
_HINT_CHARS = 40
_FIND_CHARS = 4_000
_FIND_SHARE = 0.075
_FIND_LEAST = 800
_PASSAGE = 520
_AROUND = 200
_LINE_NEAR = 80
_NAMED = (20, 10, 5, 2, 1)
"""Names in an answer about unknown sections, as many as there is room for."""
_MOST_TAIL = 0.5
"""Of an answer, for what is said about unknown sections beside known ones."""
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Slice:
    """A page of an original: what the reader sees, and the code points of the raw text it holds."""

    text: str
    start: int
    end: int


def valid(text: str) -> str:
    """The text with lone surrogates replaced one for one, so that offsets stay true and the result is valid UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()  # many times faster than a search, and nearly always all there is to do
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def page(
    text: str, offset: int, limit: int, key: str, ttl: int, budget: Budget, hints: Sequence[tuple[int, str]] = ()
) -> Slice:
    """The slice that starts at `offset`, with the footer that says how to read on; both together fit the budget.

    Args:
        limit: most code points of the slice. A slice ends at a line end where one is near, and never inside a
            grapheme cluster; it holds at least one character while there is one.
        hints: names of parts and where they begin, for the line of what remains.
    """
    total = len(text)
    if not budget.scaled(_FOOTER_SHARE).fits(_footer(total, total, total, key, ttl, hints, widest=True)):
        hints = ()
    room = budget.minus(_footer(total, total, total, key, ttl, hints, widest=True))
    end = min(total, offset + max(1, min(limit, int(room.chars))))
    while end - offset > 1:
        weight = cost(text[offset:end])
        if weight <= room.tokens:
            break
        end = offset + max(1, int((end - offset) * min(0.97, room.tokens / weight)))
    if end < total:
        line = text.rfind("\n", offset + (end - offset) * 3 // 4, end)
        end = line + 1 if line > offset else safe_cut(text, end, offset + 1)
    return Slice(valid(text[offset:end]) + _footer(offset, end, total, key, ttl, hints), offset, end)


def _footer(
    start: int, end: int, total: int, key: str, ttl: int, hints: Sequence[tuple[int, str]], widest: bool = False
) -> str:
    more = end < total or widest
    left = total if widest else total - end
    lines = f"{FOOTER}{start}-{end}/{total} | remaining={left} | has_more={more} | ttl={ttl}s]"
    named = [name for at, name in hints if at >= end or widest]
    if widest:
        named = sorted(named, key=len, reverse=True)
    if more and named:
        shown = ", ".join(json.dumps(name[:_HINT_CHARS], ensure_ascii=False) for name in named[:_HINTS])
        lines += f"\n[Remaining: {shown}{', ...' if len(named) > _HINTS or widest else ''}]"
    return lines + (f'\n[-> stm_proxy_read_more(key="{key}", offset={end})]' if more else "")


def find(text: str, query: str, key: str, budget: Budget) -> Slice:
    """The passages that answer `query`, best first, each with its offset and some context.

    As much as is useful for a look: at most 7.5 % of the original, so that two looks stay below 15 %, and 4,000
    characters, and never above the budget.
    """
    units = split(text)
    ranked = closest(text, units.starts, query, _AROUND)
    words = " ".join(terms(query))[:80]
    if not ranked:
        return Slice(
            f"[find: nothing matches {json.dumps(valid(words), ensure_ascii=False)} in {len(text)} characters]", 0, 0
        )
    room = budget.capped(Budget(min(_FIND_CHARS, max(_FIND_LEAST, len(text) * _FIND_SHARE)), budget.tokens))
    more = f'stm_proxy_read_more(key="{key}", offset=@)'
    places = "1 place has" if len(ranked) == 1 else f"best of {len(ranked)} places that have"
    head = f"[find: {places} some of these words, in {len(text)} characters | more around one: {more}]"
    out, served = [head], 0
    left = room.minus(head)
    taken: list[tuple[int, int]] = []
    first = 0
    for unit in ranked:
        start, end = _passage(units, unit)
        if any(start < stop and begin < end for begin, stop in taken):
            continue
        mark = f"\n@{start} (line {units.lines[units.at(start)]})\n"
        block = mark + valid(text[start:end])
        if not left.fits(block):
            if taken:
                break
            end = _cut(text, start, end, left.minus(mark))
            block = mark + valid(text[start:end])
        first = start if not taken else first
        taken.append((start, end))
        out.append(block)
        served += end - start
        left = left.minus(block)
    return Slice("".join(out), first, first + served)


def _passage(units: Units, unit: int) -> tuple[int, int]:
    """A unit with its surroundings, to line ends where they are near."""
    text = units.text
    start, end = units.starts[unit], units.ends[unit]
    around = max(_AROUND, (_PASSAGE - (end - start)) // 2)
    low, high = max(0, start - around), min(len(text), end + around)
    if low > 0:
        line = text.find("\n", max(0, low - _LINE_NEAR), start)
        low = line + 1 if line >= 0 else safe_cut(text, low, 0)
    if high < len(text):
        line = text.rfind("\n", end, high + _LINE_NEAR)
        high = line if line >= 0 else safe_cut(text, high, end)
    return low, high


def _cut(text: str, start: int, end: int, room: Budget) -> int:
    end = min(end, start + int(room.chars))
    while end - start > 1 and cost(text[start:end]) > room.tokens:
        end = start + (end - start) * 9 // 10
    return safe_cut(text, end, start)


def select(text: str, kind: Kind, wanted: Sequence[str], key: str, budget: Budget) -> tuple[str, int, bool]:
    """The named sections, in the order asked for.

    Returns:
        The text, the code points of the original in it, and whether anything was found at all.
    """
    sections = _addressable(text, kind)
    unknown = [name for name in wanted if name not in sections]
    chosen = [sections[name] for name in dict.fromkeys(wanted) if name in sections]
    tail = _unknown(unknown, sections, budget.scaled(_MOST_TAIL) if chosen else budget) if unknown else ""
    left = budget.minus(tail)
    parts: list[str] = []
    served = 0
    for at, section in enumerate(chosen):
        head = f"[section {_quoted(section.key, 80)} | chars={section.start}-{section.end}/{len(text)}]\n"
        rest = f'\n[-> stm_proxy_read_more(key="{key}", offset={len(text)})]\n'
        room = left.scaled(1 / (len(chosen) - at)).minus(head + rest)
        end = (
            section.end
            if room.fits(text[section.start : section.end])
            else _cut(text, section.start, section.end, room)
        )
        if room.chars < 1 and parts:
            break
        block = head + valid(text[section.start : end])
        block += rest.replace(f"offset={len(text)}", f"offset={end}") if end < section.end else "\n"
        parts.append(block)
        served += end - section.start
        left = left.minus(block)
    return "".join(parts) + tail, served, bool(chosen)


def _addressable(text: str, kind: Kind) -> dict[str, Section]:
    """Every name of the text, of two levels for JSON; the upper one first."""
    found = {section.key: section for section in outline(text, kind)[1]}
    for section in outline(text, kind, depth=2)[1] if kind is Kind.JSON else ():
        found.setdefault(section.key, section)
    return found


def _unknown(unknown: list[str], sections: dict[str, Section], room: Budget) -> str:
    """Which names are unknown and which there are, as many as there is room for."""
    said = ""
    for most in _NAMED:
        asked = ", ".join([_quoted(name, 60) for name in unknown[:most]])
        there = ", ".join([_quoted(name, 40) for name in list(sections)[:most]])
        rest = ", ..." if len(sections) > most else ""
        said = f"[unknown sections: {asked} | there are {len(sections)}: {there}{rest}]"
        if room.fits(said):
            return said
    return f"[{len(unknown)} unknown sections | there are {len(sections)}]"


def _quoted(name: str, longest: int) -> str:
    return json.dumps(valid(name[:longest]), ensure_ascii=False)
