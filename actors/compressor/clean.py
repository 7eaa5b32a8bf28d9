"""CLEAN: removes what costs tokens and says nothing.

Code indentation, JSON values and numbers are never touched. Every step is linear; a literal search decides whether it
runs at all.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from itertools import compress, islice
from operator import eq

import re2

from actors.compressor import jsontext
from actors.compressor.detect import Kind, Seen
from actors.compressor.html import to_markdown
from actors.compressor.messages import Cleaning
from actors.compressor.subtitles import is_subtitles, spoken

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_BASE64 = re2.compile(r"(?:data:([\w.+-]{1,60}/[\w.+-]{1,60});base64,)?([A-Za-z0-9+/]{160,}={0,2})")
_ANY_BASE64_LINE = re2.compile(r"(?m)^[A-Za-z0-9+/]{48,80}={0,2}$")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/]{48,80}={0,2}")
_BASE64_END = re.compile(r"[A-Za-z0-9+/]{1,79}={0,2}")
_LINK_LINE = re.compile(
    r"\s*(?:[-*+•]|\d{1,4}[.)])?\s*(?:!?\[[^\]\n]{0,300}\]\([^)\n]{0,1000}\)|<?https?://\S{1,1000})[\s,;|·]*"
)
_BLANKS = re.compile(r"\n{4,}")
_MAGIC = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("PHN2Zy", "image/svg+xml"),
    ("JVBERi", "application/pdf"),
    ("UEsDB", "application/zip"),
    ("H4sI", "application/gzip"),
    ("SUQz", "audio/mpeg"),
)
_NO_PROGRESS = str.maketrans("", "", "0123456789.,%:/#=->█ ▏▎▍▌▋▊▉━")
_MIXED = (frozenset(string.digits), frozenset(string.ascii_lowercase), frozenset(string.ascii_uppercase))
_LOOSE = frozenset({Kind.LOG, Kind.REPORT, Kind.PROSE, Kind.MARKDOWN})
_LONGEST_BASE64_LINE = 82
_FEWEST_BASE64_LINES = 8
_FEWEST_REPEATS = 3
_MOST_CLEANED = 4_000_000
_HEAD = 4_000
_FEWEST_LINKS = 12
_FEWEST_ELEMENTS = 20
"""Of XML in fewer lines than elements, which then get a line each."""
_LINKS_KEPT = 4
_SHORTEST_PARAGRAPH = 120


@dataclass(frozen=True)
class Cleaned:
    """A cleaned text; `dropped` names the steps that removed more than white space and escapes."""

    text: str
    kind: Kind
    dropped: tuple[str, ...] = ()


def clean(text: str, seen: Seen, switches: Cleaning) -> Cleaned:
    """Runs the steps that fit the kind of text and that are switched on."""
    kind = seen.kind
    if not switches.enabled:
        return Cleaned(text, kind)
    if seen.document is not None:
        after = seen.document.decode() if kind is Kind.JSON else jsontext.lines(seen.document)
        return Cleaned(text if after == text else after, kind, (seen.wrapped,) if seen.wrapped else ())
    dropped = [seen.wrapped] if seen.wrapped else []
    text = seen.inner or text

    def step(name: str, after: str) -> str:
        if after != text:
            dropped.append(name)
        return after

    if len(text) > _MOST_CLEANED and kind is not Kind.HTML:
        # Only samples of it will be shown; to clean all of it would take seconds.
        return Cleaned(text, kind, tuple(dropped))
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r\n" in text and kind is not Kind.DIFF:
        text = text.replace("\r\n", "\n")
    if "\r" in text and kind in _LOOSE:
        # Some writers end lines with two of them.
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = step("overwritten lines", _overwritten(text))
    if kind is Kind.HTML and switches.strip_html:
        text = step("HTML to Markdown", to_markdown(text))
        kind = Kind.MARKDOWN
    if len(text) > _MOST_CLEANED:
        return Cleaned(text, kind, tuple(dropped))
    if len(text) > 160:
        text = step("base64", _base64(text))
    if kind is Kind.RECORDS and text.count("><") > _FEWEST_ELEMENTS + text.count("\n"):
        text = text.replace("><", ">\n<")
    if kind is not Kind.DIFF and (" \n" in text or "\t\n" in text):
        # A tab at the end of a table's line is its last cell.
        blank = " " if kind is Kind.TABLE else " \t"
        text = "\n".join([line.rstrip(blank) for line in text.split("\n")])
    if kind in _LOOSE:
        if is_subtitles(text[:_HEAD]):
            text = step("cue numbers and end times", spoken(text))
        if "\n\n\n\n" in text:
            text = _BLANKS.sub("\n\n\n", text)
        if switches.collapse_links:
            text = step("links", _links(text))
        if switches.deduplicate:
            text = step("repeats", _repeats(text))
    if not text.strip():
        dropped.append("nothing but white space and escapes")
    return Cleaned(text, kind, tuple(dropped))


def _overwritten(text: str) -> str:
    """Progress bars: of the like states that one terminal line showed in turn, the last."""
    return "\n".join([_last_state(line) if "\r" in line else line for line in text.split("\n")])


def _last_state(line: str) -> str:
    states = line.rstrip("\r").split("\r")
    last = states[-1].translate(_NO_PROGRESS)
    like = sum(1 for state in states if state.translate(_NO_PROGRESS) == last)
    # Other text between carriage returns is not overwritten progress but lines of another system.
    return states[-1] if 2 * like >= len(states) else line


def _base64(text: str) -> str:
    """Long base64 runs by type and size."""

    def named(found: re.Match[str]) -> str:
        blob = found.group(2)
        head = frozenset(blob[:160])
        mixed = not any(map(head.isdisjoint, _MIXED))
        return f"[base64 {found.group(1) or _type(blob)}, {len(blob) * 3 // 4} bytes]" if mixed else found.group(0)

    text = _BASE64.sub(named, text)
    if _ANY_BASE64_LINE.search(text) is None:
        return text
    out: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), ""]:
        if len(line) <= _LONGEST_BASE64_LINE and (
            _BASE64_LINE.fullmatch(line) or (run and _BASE64_END.fullmatch(line))
        ):
            run.append(line)
            continue
        if len(run) >= _FEWEST_BASE64_LINES and len({len(each) for each in run[:-1]}) == 1:
            out.append(f"[base64 {_type(run[0])}, {sum(map(len, run)) * 3 // 4} bytes]")
        else:
            out += run
        run = []
        out.append(line)
    return "\n".join(out[:-1])


def _type(blob: str) -> str:
    return next((name for magic, name in _MAGIC if blob.startswith(magic)), "data")


def _links(text: str) -> str:
    """Runs of lines that hold nothing but a link, by their first ones and a count."""
    links = [line for line in text.split("\n") if ("http" in line or "](" in line) and _LINK_LINE.fullmatch(line)]
    if len(links) < _FEWEST_LINKS:
        return text
    out: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), "\x00"]:
        if line and _LINK_LINE.fullmatch(line):
            run.append(line)
            continue
        if len(run) >= _FEWEST_LINKS:
            out += [*run[:_LINKS_KEPT], f"[{len(run) - _LINKS_KEPT} more links]"]
        else:
            out += run
        run = []
        out.append(line)
    return "\n".join(out[:-1])


def _repeats(text: str) -> str:
    """Identical lines in a row once, with their count; a long paragraph that came before by where it came."""
    lines = text.split("\n")
    if not _is_repetitive(text, lines):
        return text
    out: list[str] = []
    seen: dict[str, int] = {}
    fenced = False
    index, paragraph_from = 0, 0
    while index < len(lines):
        line = lines[index]
        if line.lstrip().startswith("```"):
            fenced = not fenced
        after = index + 1
        while after < len(lines) and lines[after] == line and line and not fenced:
            after += 1
        if after - index >= _FEWEST_REPEATS and line.strip():
            out.append(f"{line} [×{after - index}]")
        else:
            out += lines[index:after]
        index = after
        if not line and not fenced:
            paragraph_from = _paragraph(out, paragraph_from, len(out) - 1, seen)
    _paragraph(out, paragraph_from, len(out), seen)
    return "\n".join(out)


def _is_repetitive(text: str, lines: list[str]) -> bool:
    """Whether there is anything to be said once: a line thrice in a row, or a long paragraph again."""
    pairs = compress(range(len(lines)), map(eq, lines, islice(lines, 1, None)))
    again = [at for at in pairs if lines[at]]
    if any(map(eq, again, (at - 1 for at in islice(again, 1, None)))):
        return True
    paragraphs = [part.strip("\n") for part in text.split("\n\n") if len(part) >= _SHORTEST_PARAGRAPH]
    return len({*paragraphs}) < len(paragraphs)


def _paragraph(out: list[str], start: int, stop: int, seen: dict[str, int]) -> int:
    """Notes a finished paragraph, or replaces it when it was there before; returns where the next one starts."""
    block = "\n".join(out[start:stop])
    if len(block) >= _SHORTEST_PARAGRAPH and "```" not in block and not block.lstrip().startswith("#"):
        if block in seen:
            out[start:stop] = [f"[repeats the paragraph that begins “{block[:40].strip()}”]"]
        else:
            seen[block] = start
    return len(out)
