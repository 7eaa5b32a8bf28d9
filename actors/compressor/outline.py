"""How much each unit matters in texts that people structure by hand: prose, letters, settings, indented reports."""

from __future__ import annotations

import re
from collections import Counter

from actors.compressor import ranks
from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.trouble import trouble
from actors.compressor.units import Units

_CUES = (
    "decision", "action", "todo", "fixme", "recommend", "conclusion", "summary", "important", "deadline", "root cause",
    "workaround", "agreed", "next step", "resolution", "resolved", "tl;dr", "caution", "danger", "breaking", "note:",
    "결론", "요약", "결정", "중요", "주의", "조치", "結論", "要約", "決定", "重要", "注意", "対応",
)  # fmt: skip
_CUE = re.compile(
    r"(?:^|[\s*_\[>(:])(?:decisions?|action(?: item)?s?|to-?do|fixme|recommend(?:ation|ed)?s?|conclusions?|summary"
    r"|important|deadline|root cause|workaround|agreed|next steps?|resolution|resolved|tl;dr|caution|danger|breaking"
    r"(?: changes?)?|note|결론|요약|결정|결정 사항|중요|주의|조치|結論|要約|決定|決定事項|重要|注意|対応)"
    r"(?: #?\d{1,4})?[*_\]]{0,2} ?[:：]",
    re.I,
)
_MOST_CUES = 40
_SECTION = re.compile(r"^\s*\[{1,2}[^\]\[]{1,120}\]{1,2}\s*$")
_IDENTITY = re.compile(
    r"^\s*(?:- )?[\"']?(?:name|id|title|kind|host|hostname|service|resource|namespace)[\"']?\s*[:=]\s*\S", re.I
)
_NAMES = frozenset("-\"'nNiItTkKhHsSrR")
"""How lines begin that may match `_IDENTITY`."""
_COMMENT = re.compile(r"^\s*(?:#(?!#)|;|//)\s?")
_TITLE = re.compile(
    r"^(?:Subject|Title|Betreff|Objet|제목|件名|主题): ?\S|^(?:\*\*|__)\S.{0,150}|^={1,6} ?\S.{0,100}\S ?={1,6}$"
    r"|^(?:[A-Z][A-Z0-9 ,.:'&/()-]{5,100})$|^(?i:chapter|part|section|appendix) [\dIVXA-Z]"
)
_RULES = tuple(mark * 3 for mark in "=-~^*+#\"'`")
_SENTENCE_END = (".", ",", ";", "。", "、", "다", "?", "!")
_LONGEST_TITLE = 100
_FEW = 2
_MOSTLY_COMMENTS = 0.4
_MOST_TITLES = 0.25
"""Of the units; where more stand alone, standing alone says nothing."""


def indented(units: Units) -> bool:
    """Whether the lines nest by indentation, as settings and reports do."""
    count = min(len(units), 2_000)
    inside = sum(1 for line in units.contents[:count] if line.startswith(("  ", "\t")))
    return count >= 20 and inside >= 0.4 * count


def settings(units: Units) -> list[int]:
    """What opens a block and stands nowhere else, names, section heads; then trouble, then the rest from the top."""
    found = [FILLER] * len(units)
    lines = units.contents
    bare = [line.lstrip() for line in lines]
    depths = [_depth(line, words) for line, words in zip(lines, bare, strict=True)]
    times = Counter(bare)
    shallow = min((words.count(".") for words in bare if words[:1] == "[" and _SECTION.match(words)), default=0)
    for index, words in enumerate(bare):
        own, depth, first = times[words] <= _FEW, depths[index], words[:1]
        if first == "[" and _SECTION.match(words):
            found[index] = SALIENT + 1 if words.count(".") <= shallow + 1 else USEFUL
        elif first in _NAMES and _IDENTITY.match(words):
            found[index] = SALIENT if own else USEFUL
        elif index and found[index - 1] == SALIENT and depth == depths[index - 1] and _COMMENT.match(bare[index - 1]):
            found[index] = USEFUL  # the comment above has named it
        elif index + 1 < len(lines) and depths[index + 1] > depth:
            # A term that hangs over its explanation, as in manuals, opens one too, however deep; options most of all.
            hangs = _first(units, index) or (index > 0 and depths[index - 1] < depth)
            opens = SALIENT + 1 if depth <= 4 or hangs else USEFUL
            option = first == "-" and words[1:2] not in ("", " ")
            found[index] = (MUST if option and opens > SALIENT else opens) if own else NOISE + 1
        elif own and depth <= 4 and _first(units, index) and not _opens(lines, index) and len(lines[index]) <= 200:
            found[index] = SALIENT
        elif first in ("#", ";", "/") and _COMMENT.match(words):
            found[index] = NOISE + 1
    for index, rank in trouble(units).items():
        found[index] = max(found[index], rank)
    for index in [*ranks.summaries(units), *cues(units)]:
        found[index] = max(found[index], SALIENT + 1)
    for index, level in underlined(units).items():
        found[index], found[index + 1] = SALIENT + max(1, 4 - level), NOISE
    _said_in_comments(bare, found)
    return ranks.ends(found, 2, 2)


def _depth(line: str, bare: str) -> int:
    """Columns before the first word."""
    spaces = len(line) - len(bare)
    return len(line[:spaces].expandtabs()) if "\t" in line[:spaces] else spaces


def _said_in_comments(lines: list[str], found: list[int]) -> None:
    """In settings that are mostly comments, what is set matters, and comments only fill."""
    comments = [_COMMENT.match(line) is not None for line in lines]
    if not _MOSTLY_COMMENTS * len(lines) <= sum(comments) < len(lines):
        return
    for index, comment in enumerate(comments):
        found[index] = min(found[index], FILLER) if comment else max(found[index], SALIENT)


def prose(units: Units) -> list[int]:
    """Titles, what words like “decision:” announce, trouble, the first line of each paragraph, both ends."""
    if indented(units):
        return settings(units)
    found = [FILLER] * len(units)
    for index, rank in trouble(units).items():
        found[index] = min(rank, SALIENT)
    for index in range(1, len(units)):
        if found[index] == FILLER and _first(units, index):
            found[index] = FILLER + 1
    titles = [index for index in range(len(units)) if _title(units, index)]
    if len(titles) <= _MOST_TITLES * len(units):
        for index in titles:
            found[index] = SALIENT + 1
    for index, level in underlined(units).items():
        found[index], found[index + 1] = SALIENT + max(1, 4 - level), NOISE
    for index in cues(units):
        found[index] = MUST
    return ranks.ends(found, 3, 2)


def underlined(units: Units) -> dict[int, int]:
    """Headings with a rule under them, and their levels from 1: the rule that is met first is of the highest level."""
    levels: dict[str, int] = {}
    found: dict[int, int] = {}
    for index in range(1, len(units)):
        rule = units.contents[index]
        if not rule.startswith(_RULES) or set(rule) != {rule[0]}:
            continue
        above = units.contents[index - 1]
        if units.lines[index] - units.lines[index - 1] == 1 and 2 < len(above) <= len(rule) + 3 and above[0].isalnum():
            found[index - 1] = levels.setdefault(rule[0], len(levels) + 1)
    return found


def cues(units: Units) -> list[int]:
    """Units that announce what matters: decisions, actions, deadlines. None where nearly every line does."""
    found = [index for index in ranks.holding(units, _CUES) if _CUE.search(units.contents[index][:300])]
    return found if len(found) <= max(_MOST_CUES, len(units) // 20) else []


def _opens(lines: list[str], index: int) -> bool:
    """Whether a line is the comment of a section head, which says more."""
    return index + 1 < len(lines) and "[" in lines[index + 1] and _SECTION.match(lines[index + 1]) is not None


def _first(units: Units, index: int) -> bool:
    """Whether a blank line stands before the unit."""
    return index > 0 and units.lines[index] - units.last_lines[index - 1] > 1


def _title(units: Units, index: int) -> bool:
    """A short line that looks like a title, or that stands alone without ending a sentence."""
    if units.ends[index] - units.starts[index] > _LONGEST_TITLE * 2:
        return False
    line = units.contents[index].strip()
    if _TITLE.match(line):
        return True
    alone = (index == 0 or _first(units, index)) and (index + 1 == len(units) or _first(units, index + 1))
    return alone and len(line) <= _LONGEST_TITLE and not line.endswith(_SENTENCE_END)
