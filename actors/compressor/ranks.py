"""How much each unit of a text matters, by the kind of text. One function per kind, all with the same shape."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

import re2

from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.relevance import fold
from actors.compressor.units import Units

_ALARMS = (
    "error", "fail", "fatal", "panic", "exception", "traceback", "critical", "severe", "emerg", "warn", "denied",
    "refused", "abort", "assert", "killed", "segfault", "timed out", "timeout", "cannot ", "unable", "not found",
    "undefined reference", "crash", "unhealthy", "conflict", "exit code", "exited with", "caused by", "✗", "✕", "❌",
    "●", "✖", "panicked", "exited", "backoff", "evicted", "out of memory", "\" 5", "err=", "err:",
    "destroyed", "must be replaced", "lost", "violat", "reject", "corrupt", "expected", "received:", "actual",
    "mismatch", "not ok", " signal ",
)  # fmt: skip
_SEVERE = re.compile(
    r"\b(?:FATAL|CRITICAL|EMERG(?:ENCY)?|PANIC|ERROR|SEVERE|FAILED|FAILURES?|FAIL|ERRORS|OOMKilled"
    r"|CrashLoopBackOff|Unhealthy|SIGSEGV|SIGKILL)\b"
    r"|\b(?:[A-Z]\w*)?(?:Error|Exception)\b|^E  |\bpanic:|\bTraceback \(most recent|\blevel=(?:error|fatal|critical)"
    r"|\b(?:error|fatal|failed|failure)\b ?[:\[]|^(?:error|fatal)\b|\bCaused by:"
    r"|\b[Ee]xit(?:ed)?(?: with)?(?: code| status)?:? [1-9]|Segmentation fault|^not ok |\" 5\d\d (?:\d|-)|panicked at"
    r"|\b(?:error|err|exception|fatal|failure|panic)(?:_?(?:message|msg|code))?[\"']?\s?[:=]\s?[\"']?"
    r"(?!null|none|false|nil|0|[\"'\s,}]|<nil>)\w"
    r"|\b(?:on|by|with) signal:? [1-9]|\bstatus=(?:[1-9]\d*/|fail)"
    r"|[\"']?\b(?:level|severity|lvl)[\"']?\s?[:=]\s?[\"']?(?:error|fatal|critical|alert)"
    r"|^\s*(?:[✕✗✖×❌]|- \[FAIL\])|^\s*● .{1,200} › |\b(?:BackOff|Evicted|ErrImagePull|ImagePullBackOff)\b"
    r"|will be destroyed|must be replaced|\b[Ff]ailed[.!]?$"
)
_DETAIL = re.compile(
    r"^\s*[-+>|E]?\s*(?:Expected|Received|expected|received|actual|Actual|got|want|left|right)\b[^:]{0,20}: ?\S"
)
_WARNING = re.compile(r"\b(?:WARN|WARNING|warning|Warning|deprecated|level=warn)")
_QUIET = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|PASSED|level=(?:info|debug)|(?<!not )ok)\b|^[ID]\d{4} ")
_SUMMARY = re.compile(
    r"^=+ .{1,200} =+$|\b\d+ (?:passed|failed|tests?|errors?|warnings?|skipped)\b|^(?:Tests|Test Suites"
    r"|Total|TOTAL|Ran|Finished|Result|Summary|Build)\b"
    r"|^(?:FAILED|ERROR) |^_{3,} .{1,200} _{3,}$|^(?:ok|FAIL|PASS)\s+\S+|^# (?:tests|pass|fail) "
    r"|BUILD (?:FAILED|SUCCESS)|test result:|^Plan: |^\(\d+ rows?\)"
    r"|\b\d+ (?:rows? in set|problems?|vulnerabilities|matches)\b"
)
_SUMMARY_WORDS = (
    "===", "___", " passed", " failed", " test", "tests", " error", " warning",
    " skipped", "plan: ", " row", "problem", "vulnerabilit", " matches", "total", "ran ", "finished",
    "result", "summary", "build", "fail", "ok ", "pass", "# ",
)  # fmt: skip
_LEVEL = re.compile(r"\b(?:FATAL|ERROR|FAILED|CRITICAL)\b")
_HEADING = re.compile(r"^(#{1,6})\s+\S")
_NOISE = re.compile(r"^\s*(?:<!--|-->|\[[^\]]{1,200}\]: \S+$|\|?[\s:|-]{3,}\|?$)")
_UNDER = re.compile(r"^\d{1,7}[:-]|^--$")
_BESIDE = re.compile(r"^\d{1,7}-")
_FEW_ALARMS, _MOST_ALARMS = 8, 0.04
"""Units with a word of trouble up to which it stands out: so many, and this share of all."""


def alarms(units: Units, shapes: list[bytes]) -> dict[int, int]:
    """Units with a word of trouble: severe ones as `MUST`, warnings and mentions lower; lines of one shape alike."""
    found: dict[int, int] = {}
    known: dict[bytes, int] = {}
    for unit in holding(units, _ALARMS):
        shape, line = shapes[unit], units.contents[unit]
        # Of an exit code the number decides, and a shape has no numbers.
        rank = known.get(shape) if "exit" not in line else None
        if rank is None:
            rank = known[shape] = _alarm(line)
        if rank:
            found[unit] = rank
    return found


def _alarm(line: str) -> int:
    head = line[:160]
    quiet = _QUIET.search(head) is not None
    if _SEVERE.search(line) and not (quiet and not _LEVEL.search(head)):
        return MUST
    if _DETAIL.match(head):
        return SALIENT
    if _WARNING.search(head):
        return USEFUL + 1
    return NOISE if quiet else USEFUL


def summaries(units: Units) -> list[int]:
    """Units that sum up a run: test counts, build results, section rules of a report."""
    return [
        unit for unit in holding(units, _SUMMARY_WORDS)
        if _SUMMARY.search(units.contents[unit][:220]) and not _QUIET.search(units.contents[unit][:100])
    ]  # fmt: skip


def holding(units: Units, words: tuple[str, ...]) -> list[int]:
    """Units that hold one of the words in any case: one pass of an automaton over the whole text, so that only these
    few meet a regular expression."""
    folded = fold(units.text)
    pattern, beyond = _automaton(words)
    found: set[int] = set()

    def visit(find: Callable[[int], int]) -> None:
        at = find(0)
        while at >= 0:
            unit = units.at(at)
            found.add(unit)
            at = find(max(units.starts[unit + 1], at + 1)) if unit + 1 < len(units) else -1

    data = folded.encode("ascii", "replace")  # one byte for each code point

    def next_word(start: int) -> int:
        match = pattern.search(data, start)
        return match.start() if match else -1

    visit(next_word)
    for word in beyond if not folded.isascii() else ():
        visit(partial(folded.find, word))
    return sorted(found)


@cache
def _automaton(words: tuple[str, ...]) -> tuple[re2._Regexp, tuple[str, ...]]:
    """A pattern for those of the words that are ASCII, and the others."""
    plain = b"|".join(re.escape(word).encode() for word in words if word.isascii())
    return re2.compile(plain), tuple(word for word in words if not word.isascii())


def grep(units: Units) -> list[int]:
    """The first match of every file, or the line with its path where matches stand under it; both ends, the rest."""
    ranks = [FILLER] * len(units)
    under = sum(1 for index in range(len(units)) if _UNDER.match(units.contents[index])) >= 0.5 * len(units)
    seen: set[str] = set()
    for index in range(len(units)):
        line = units.contents[index]
        path = line.split(":", 1)[0]
        if under:
            ranks[index] = (
                NOISE + 1 if line == "--" or _BESIDE.match(line) else FILLER if _UNDER.match(line) else SALIENT
            )
        elif path not in seen:
            seen.add(path)
            ranks[index] = SALIENT
    return ends(ranks, 3, 3)


def markdown(units: Units) -> list[int]:
    """Headings, upper levels first, then the first line of each section, then the rest."""
    ranks = [FILLER] * len(units)
    lead = False
    for index in range(len(units)):
        line = units.contents[index]
        heading = _HEADING.match(line)
        if heading:
            ranks[index] = MUST if len(heading.group(1)) <= 2 else SALIENT + (1 if len(heading.group(1)) == 3 else 0)
            lead = True
        elif _NOISE.match(line):
            ranks[index] = NOISE + 1
        elif line.startswith("**") and len(line) <= 160:
            ranks[index] = SALIENT
            lead = True
        elif lead:
            ranks[index] = USEFUL
            lead = False
    return ranks


def ends(ranks: list[int], first: int, last: int) -> list[int]:
    """Lifts the first and last units, which say what a text is about and how it ends."""
    for index in [*range(min(first, len(ranks))), *range(max(0, len(ranks) - last), len(ranks))]:
        ranks[index] = max(ranks[index], SALIENT)
    return ranks
