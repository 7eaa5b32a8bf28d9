"""How much each unit matters in texts that people structure by hand: prose, letters, settings, indented reports."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import compress, islice, repeat
from operator import lt, sub

from actors.compressor import ranks
from actors.compressor.deadlines import due
from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.labels import odd
from actors.compressor.metrics import metrics
from actors.compressor.sentences import unlike
from actors.compressor.statements import rare, shapes_of, statements
from actors.compressor.trouble import holders, trouble
from actors.compressor.units import Units

_CUES = (
    "decision", "action", "todo", "fixme", "recommend", "conclusion", "summary", "important", "deadline", "root cause",
    "workaround", "agreed", "decided", "next step", "resolution", "resolved", "tl;dr", "caution", "danger", "breaking",
    "note:", "warning", "achtung", "wichtig", "hinweis", "beschluss", "entscheidung", "fazit", "frist", "attention",
    "conclusión", "decisión", "décision",
    "결론", "요약", "결정", "중요", "주의", "조치", "긴급",
    "結論", "要約", "決定", "重要", "注意", "対応", "至急", "期限", "结论", "决定", "紧急",
)  # fmt: skip
_CUE_WORD = (
    r"(?:decisions?|action(?: item)?s?|to-?do|fixme|recommend(?:ation|ed)?s?|conclusions?|summary"
    r"|important|deadline|root cause|workaround|agreed|next steps?|resolution|resolved|tl;dr|caution|danger|breaking"
    r"(?: changes?)?|note|warning|achtung|wichtig|hinweis|beschl(?:uss|üsse)|entscheidung(?:en)?|fazit|frist|attention"
    r"|conclusión|decisión|décisions?|결론|요약|결정|결정 사항|중요|주의|조치|긴급"
    r"|結論|要約|決定|決定事項|重要|注意|対応|至急|期限|结论|决定|紧急)"
)
_CUE = re.compile(
    rf"(?:^|[\s*_\[>(:]){_CUE_WORD}(?: #?\d{{1,4}})?[*_\]]{{0,2}} ?[:：]"
    rf"|[【\[「]{_CUE_WORD}[^】\]」\n]{{0,12}}[】\]」]"
    r"|\bwe(?:'ve| have| all)? (?:agreed|decided)\b|\b(?:final|our) decision\b|\bit was (?:agreed|decided|resolved)\b",
    re.I,
)
"""A word with a colon behind it or in brackets, or what somebody says who decides."""
_MOST_CUES = 40
_SECTION = re.compile(r"\[\[?[^\[\]]{1,120}\]?\]")
_IDENTITY = re.compile(
    r"^\s*(?:- )?[\"']?(?:name|title|kind|host|hostname|service|resource|namespace|summary|label|text"
    r"|operationid)[\"']?\s*[:=]\s*\S|server_?name\s+\S|(?:upstream|location)\s+\S+.*\{$",
    re.I,
)
_COMMENTS = frozenset("#;/")
_NAMES = frozenset("-\"'nNtTkKhHsSrRlLoOuU")
"""How lines begin that may match `_IDENTITY`."""
_COMMENT = re.compile(r"^\s*(?:#(?!#)|;|//)\s?")
_TITLE = re.compile(
    r"^(?:Subject|Title|Betreff|Objet|제목|件名|主题): ?\S|^(?:\*\*|__)\S.{0,150}|^={1,6} \S.{0,100}$"
    r"|^(?:[A-Z][A-Z0-9 ,.:'&/()-]{5,100})$|^(?i:chapter|part|section|appendix) [\dIVXA-Z]"
)
_WIKI = re.compile(r"(={2,6}) ?[^=\s].{0,120}?\1\s*$")
_MOST_WIKI = 0.5
_CAPITALS = re.compile(r"(?!https?|[A-Z]+: *$)[A-Z][A-Z]{2,}(?:[ -][A-Z]{2,}){0,5}: \S")
"""What somebody announces in capitals: `MATERIAL WEAKNESS: …`."""
_RULED = frozenset("=-~^*+#\"'`")
_RULES = tuple(mark * 3 for mark in _RULED)
_TITLED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZcpsa*_=제件主 \t\r\v\f\u3000\xa0")
"""What a line begins with that may match `_TITLE`, behind white space too."""
_STAMPED = re.compile(r"\b\d{1,2}:\d\d\b")
_LONGEST_STAMP = 60
_MONEY = ("eur", "usd", "gbp", "chf", "krw", "jpy", "€", "$", "£", "₩", "¥", "원", "円", "%", "percent", "prozent")
_CURRENCY = r"(?:EUR|USD|GBP|CHF|KRW|JPY|[€$£₩¥])"
_AMOUNT = re.compile(rf"{_CURRENCY} ?\d|\d[\d.,]{{0,20}} ?(?:{_CURRENCY}|[Ee]uros?\b|%|원|円|percent\b|[Pp]rozent\b)")
_FEW_ANNOUNCED, _MOST_ANNOUNCED = 4, 0.08
_FEWEST_FORMS, _MOST_FORMS, _FEWEST_OPENERS, _MOST_OPENED = 3, 0.5, 8, 0.35
_FEW_AMOUNTS, _MOST_AMOUNTS = 6, 0.08
_SENTENCE_END = (".", ",", ";", "。", "、", "다", "?", "!")
_LONGEST_TITLE = 100
_FEW = 2
_MOSTLY_COMMENTS = 0.4
_LONGEST_SAID, _FEWEST_SAID, _MOSTLY_SAID = 100, 8, 0.6
_MOSTLY_VALUES = 0.3
"""Of the lines, with a value behind a colon, from which on settings of many things are compared."""
_SYNOPSES = frozenset(
    ("NAME", "SYNOPSIS", "USAGE", "Synopsis", "Usage", "Usage:", "usage:", "ÜBERSICHT", "BEZEICHNUNG")
)
"""Heads of manuals under which a line says what it is all about."""
_DEFINED = re.compile(r"(?: {1,8}|\t)(?!-)\S{2,40}(?:, \S{2,40})?(?: {2,}|\t+)[^\W\d_]\S* +\S")
"""A term and its explanation beside it, as in lists of commands."""
_MOST_DEFINED = 0.35
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
    bare = [*map(str.lstrip, lines)]
    depths = [*map(sub, map(len, lines), map(len, bare))]
    if "\t" in units.text:
        depths = [_columns(line, spaces) for line, spaces in zip(lines, depths, strict=True)]
    times = Counter(bare)
    firsts = [words[:1] for words in bare]
    sections = {at: bare[at].count(".") for at, first in enumerate(firsts) if first == "[" and _is_section(bare[at])}
    shallow = min(sections.values(), default=0)
    deeper = [*map(lt, depths, islice(depths, 1, None)), False]
    apart = behind_blanks(units)
    for index, (first, words, depth, opening, alone) in enumerate(
        zip(firsts, bare, depths, deeper, apart, strict=False)
    ):
        if index in sections:
            found[index] = SALIENT + 1 if sections[index] <= shallow + 1 else USEFUL
        elif first in _NAMES and _IDENTITY.match(words):
            found[index] = SALIENT if times[words] <= _FEW else USEFUL
        elif (
            index
            and found[index - 1] == SALIENT
            and depth == depths[index - 1]
            and firsts[index - 1] in _COMMENTS
            and _COMMENT.match(bare[index - 1])
        ):
            found[index] = USEFUL  # the comment above has named it
        elif opening:
            # A term that hangs over its explanation, as in manuals, opens one too, however deep; options most of all.
            hangs = alone or (index > 0 and depths[index - 1] < depth)
            opens = SALIENT + 1 if depth <= 4 or hangs else USEFUL
            option = first == "-" and words[1:2] not in ("", " ")
            found[index] = (MUST if option and opens > SALIENT else opens) if times[words] <= _FEW else NOISE + 1
        elif alone and depth <= 4 and times[words] <= _FEW and _stands(lines, index):
            # A sentence begins a paragraph there, not a block.
            found[index] = USEFUL if words.endswith(_SENTENCE_END) and " " in words else SALIENT
        elif first in _COMMENTS and _COMMENT.match(words):
            found[index] = NOISE + 1
    _conversation(units, [*compress(range(len(lines)), deeper)], found)
    troubled = trouble(units)
    for index, rank in troubled.items():
        found[index] = max(found[index], rank)
    for index in holders(units, troubled):
        found[index] = max(found[index], SALIENT)
    for index in _odd_values(units, bare):
        found[index] = max(found[index], SALIENT + 1)
    told = cues(units)
    for index in [*ranks.summaries(units), *due(units), *told]:
        found[index] = max(found[index], SALIENT + 1)
    if any(map(times.__contains__, _SYNOPSES)):
        for index in [at for at, words in enumerate(bare[:-1]) if words in _SYNOPSES]:
            found[index + 1] = max(found[index + 1], SALIENT)
    defined = [at for at in compress(range(len(lines)), depths) if _DEFINED.match(lines[at])]
    for index in defined if len(defined) <= _MOST_DEFINED * len(lines) else ():
        found[index] = max(found[index], SALIENT)
    _headings(units, found)
    _said_in_comments(bare, firsts, found, {*told})
    return ranks.ends(found, 2, 2)


def _conversation(units: Units, openers: list[int], found: list[int]) -> None:
    """Where what opens blocks is who said something when: what was said matters more."""
    said = [at for at in openers if len(units.contents[at]) <= _LONGEST_SAID and _STAMPED.search(units.contents[at])]
    if len(said) < _FEWEST_SAID or len(said) < _MOSTLY_SAID * len(openers):
        return
    for index in said:
        found[index], found[index + 1] = FILLER, max(found[index + 1], USEFUL)


def _odd_values(units: Units, bare: list[str]) -> list[int]:
    """Settings that come again and again, where their value is one that hardly any other has: of many services the one
    that runs as root."""
    if units.text.count(": ") < _MOSTLY_VALUES * len(units):
        return []
    found = [(label, value) for label, _, value in map(str.partition, bare, repeat(": "))]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for index, (label, value) in enumerate(found):
        if value:
            places[label].append(index)
    return odd(places, found)


def _is_section(words: str) -> bool:
    """Whether words are a name in one or two pairs of brackets."""
    return _SECTION.fullmatch(words) is not None


def _columns(line: str, spaces: int) -> int:
    """Columns of so much white space."""
    return len(line[:spaces].expandtabs()) if "\t" in line[:spaces] else spaces


def _said_in_comments(lines: list[str], firsts: list[str], found: list[int], told: set[int]) -> None:
    """In settings that are mostly comments, what is set matters, and comments only fill."""
    begun = compress(range(len(lines)), map(_COMMENTS.__contains__, firsts))
    comments = {index for index in begun if _COMMENT.match(lines[index])}
    if not _MOSTLY_COMMENTS * len(lines) <= len(comments) < len(lines):
        return
    for index, rank in enumerate(found):
        if index not in comments:
            found[index] = max(rank, SALIENT)
        elif rank <= SALIENT + 1 and index not in told:
            found[index] = min(rank, FILLER)


def prose(units: Units) -> list[int]:
    """Titles, what words like “decision:” announce, trouble, the first line of each paragraph, both ends."""
    if indented(units):
        return settings(units)
    found = [FILLER] * len(units)
    for index, rank in trouble(units).items():
        found[index] = min(rank, SALIENT)
    apart = behind_blanks(units)
    for index in compress(range(len(units)), apart):
        if found[index] == FILLER:
            found[index] = FILLER + 1
        line = units.contents[index]
        if len(line) <= _LONGEST_STAMP and index + 1 < len(units) and not apart[index + 1] and _STAMPED.search(line):
            # What was said says more than who said it when.
            found[index], found[index + 1] = min(found[index], FILLER), max(found[index + 1], FILLER + 1)
    titles = _titles(units, apart)
    if len(titles) <= _MOST_TITLES * len(units):
        for index in titles:
            found[index] = SALIENT + 1
    for index in amounts(units):
        found[index] = max(found[index], USEFUL)
    for index in [*due(units), *unlike(units)]:
        found[index] = max(found[index], SALIENT)
    for index, rank in metrics(units).items():
        found[index] = rank
    _headings(units, found)
    _templated(units, apart, found)
    announced = [at for at, line in enumerate(units.contents) if line[:3].isupper() and _CAPITALS.match(line)]
    for index in announced if len(announced) <= _FEW_ANNOUNCED + _MOST_ANNOUNCED * len(units) else ():
        found[index] = max(found[index], SALIENT)
    for index in cues(units):
        found[index] = MUST
    return ranks.ends(found, 3, 2)


def _templated(units: Units, apart: list[bool], found: list[int]) -> None:
    """Where a program wrote the text, line by line from a few forms: what it writes seldom, and the lines that open its
    paragraphs and differ only by what these are about."""
    shapes = shapes_of(units)
    if not _FEWEST_FORMS <= len({*shapes}) <= _MOST_FORMS * len(shapes):
        return
    written = statements(units, shapes)
    for index in rare(written):
        found[index] = max(found[index], SALIENT)
    openers = [at for at in range(len(units)) if apart[at] or not at]
    form, count = Counter(written[at] for at in openers).most_common(1)[0]
    named = [at for at in openers if written[at] == form]
    if (
        form
        and count >= max(_FEWEST_OPENERS, 0.5 * len(openers))
        and units.size(named) <= _MOST_OPENED * len(units.text)
    ):
        for index in named:
            found[index] = max(found[index], SALIENT)


def amounts(units: Units) -> list[int]:
    """Units with sums of money or shares, where they are rare: what an agreement or a report is read for."""
    found = [index for index in ranks.holding(units, _MONEY) if _AMOUNT.search(units.contents[index])]
    return found if len(found) <= max(_FEW_AMOUNTS, _MOST_AMOUNTS * len(units)) else []


def starred(units: Units) -> dict[int, int]:
    """Headings as Org writes them, by their number of stars; none where stars only are the marks of a list."""
    if "*" not in units.text:
        return {}
    found = {
        index: len(line) - len(line.lstrip("*"))
        for index, line in enumerate(units.contents)
        if line.startswith("*") and line.lstrip("*").startswith(" ")
    }
    return found if len({*found.values()}) > 1 and len(found) <= _MOST_TITLES * len(units) else {}


def _wiki_headings(units: Units) -> dict[int, int]:
    """Headings between equals signs, as wikis write them, and their levels from 1."""
    if "\n==" not in units.text:
        return {}
    found = {at: match for at, line in enumerate(units.contents) if line[:2] == "==" and (match := _WIKI.match(line))}
    return {at: len(match[1]) - 1 for at, match in found.items()} if len(found) <= _MOST_WIKI * len(units) else {}


def _headings(units: Units, found: list[int]) -> None:
    """Lifts headings by their levels; the rule under one says nothing of its own."""
    for index, level in underlined(units).items():
        found[index], found[index + 1] = SALIENT + max(1, 4 - level), NOISE
    for index, level in (starred(units) | _wiki_headings(units)).items():
        found[index] = SALIENT + max(1, 4 - level)


def underlined(units: Units) -> dict[int, int]:
    """Headings with a rule under them, and their levels from 1: the rule that is met first is of the highest level."""
    levels: dict[str, int] = {}
    found: dict[int, int] = {}
    for index in [at for at, line in enumerate(units.contents) if line[:1] in _RULED and line.startswith(_RULES)]:
        rule = units.contents[index]
        if not index or set(rule) != {rule[0]}:
            continue
        above = units.contents[index - 1]
        if units.lines[index] - units.lines[index - 1] == 1 and 2 < len(above) <= len(rule) + 3 and above[0].isalnum():
            found[index - 1] = levels.setdefault(rule[0], len(levels) + 1)
    return found


def cues(units: Units) -> list[int]:
    """Units that announce what matters: decisions, actions, deadlines. None where nearly every line does."""
    found = [index for index in ranks.holding(units, _CUES) if _CUE.search(units.contents[index][:300])]
    return found if len(found) <= max(_MOST_CUES, len(units) // 20) else []


def _stands(lines: list[str], index: int) -> bool:
    """Whether a line is not too long to be a name, and not the comment of a section head, which says more."""
    after = lines[index + 1] if index + 1 < len(lines) else ""
    return len(lines[index]) <= 200 and not ("[" in after and _is_section(after.strip()))


def behind_blanks(units: Units) -> list[bool]:
    """For each unit, whether a blank line stands before it; one more for the end of the text, which is like one."""
    gaps = map(sub, islice(units.lines, 1, None), units.last_lines)
    return [False, *map((1).__lt__, gaps), True] if units.lines else [True]


def _titles(units: Units, apart: list[bool]) -> list[int]:
    """Short lines that look like titles, or that stand alone without ending a sentence."""
    found = []
    for index, unit in enumerate(units.contents):
        alone = apart[index + 1] and (apart[index] or not index)
        if (not alone and unit[:1] not in _TITLED) or len(unit) > _LONGEST_TITLE * 2:
            continue
        line = unit.strip()
        if (alone and len(line) <= _LONGEST_TITLE and not line.endswith(_SENTENCE_END)) or _TITLE.match(line):
            found.append(index)
    return found
