"""How much each unit of a text matters, by the kind of text. One function per kind, all with the same shape."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache

import re2

from actors.compressor.excerpt import FILLER, MUST, NOISE, SALIENT, USEFUL
from actors.compressor.relevance import fold
from actors.compressor.units import Units

_ALARMS = (
    "error", "fail", "fatal", "panic", "exception", "traceback", "critical", "severe", "emerg", "warn", "denied",
    "refused", "abort", "assert", "killed", "segfault", "timed out", "timeout", "cannot ", "unable", "not found",
    "undefined reference", "crash", "unhealthy", "conflict", "exit code", "exited with", "caused by", "✗", "✕", "❌",
    "●", "✖", "panicked", "exited", "backoff", "evicted", "out of memory", "\" 5", "err=", "err:",
    "destroyed", "must be replaced", "forces replacement", "lost", "violat", "reject", "corrupt", "expected",
    "received:", "actual",
    "mismatch", "not ok", " signal ", "deadlock", "data race", "sanitizer:", "=> [4", "=> [5", "net::err_", "ns_error_",
    "status 4", "status 5", "fail:", "crit:", ":err", "=err", ":down", "=down", ": down", "invalid", "unmet ",
    "degraded", "broken",
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
    r"|will be destroyed|must be replaced|# forces replacement|\b[Ff]ailed[.!]?$"
    r"|\b[Dd]eadlock\b|\bDEADLOCK\b|\bDATA RACE\b|=> \[?[45]\d\d\b|\bnet::ERR_|\bNS_ERROR_"
    r"|\b[Ss]tatus(?: code)?:? [45]\d\d\b|^(?:fail|crit): |\b(?:invalid|UNMET [A-Z ]*DEPENDENCY|missing): \S"
    r"|[:=] ?[\"']?(?i:err|error|down|failed|failing|unhealthy|degraded|broken)[\"']?[,;]?$"
)
_DETAIL = re.compile(
    r"^\s*[-+>|E]?\s*(?:Expected|Received|expected|received|actual|Actual|got|want|left|right)\b[^:]{0,20}: ?\S"
)
_WARNING = re.compile(r"\b(?:WARN|WARNING|warning|Warning|deprecated|level=warn)")
_QUIET = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|PASSED|level=(?:info|debug)|(?<!not )ok)\b|^[ID]\d{4} ")
_SUMMARY = re.compile(
    r"^=+ .{1,200} =+$|(?<!#)\b\d+ (?:passed|failed|tests?|errors?|warnings?|skipped)\b|^(?:Tests|Test Suites"
    r"|Total|TOTAL|Ran|Finished|Result|Summary|Build)\b"
    r"|^(?:FAILED|ERROR) |^_{3,} .{1,200} _{3,}$|^(?:ok|FAIL|PASS)\s+\S+|^# (?:tests|pass|fail) "
    r"|BUILD (?:FAILED|SUCCESS)|test result:|^Plan: |^\(\d+ rows?\)"
    r"|\b\d+ (?:actionable tasks?|rows? in set|problems?|vulnerabilities|matches)\b|\b[A-Z]{3,9} SUMMARY\b"
)
_LIKE_SUMMARY = re2.compile(
    rb"(?m)^(?:=+ |_{3,} |Test|Total|TOTAL|Ran|Finished|Result|Summary|Build|FAIL|ERROR |PASS|ok[^0-9A-Za-z_]|# [tpf]"
    rb"|Plan: |\([0-9?])|[0-9?] (?:passed|failed|test|error|warning|skipped|row|problem|vulnerabilit|matches|action)"
    rb"|BUILD (?:FAILED|SUCCESS)|test result:| SUMMARY"
)
"""What `_SUMMARY` finds and a little more, in one pass over a whole text: `^` is the beginning of any line there."""
_LEVEL = re.compile(r"\b(?:FATAL|ERROR|FAILED|CRITICAL)\b")
_HEADING = re.compile(r"^(#{1,6})\s+\S")
_NOISE = re.compile(r"^\s*(?:<!--|-->|\[[^\]]{1,200}\]: \S+$|\|?[\s:|-]{3,}\|?$)")
_UNDER = re.compile(r"^\d{1,7}[:-]|^--$")
_BESIDE = re.compile(r"^\d{1,7}-")
_MOST_SUMMARIES = 12
"""Lines of one statement that sum something up, beyond which they do not."""
_NO_DIGITS = str.maketrans("", "", "0123456789")
_NUMBERED = ("exit", "=> ", "tatus")
_JUDGED = 6
"""Lines of one statement that are looked at before the next ones are taken to be alike."""


def alarms(units: Units, shapes: list[bytes], written: Sequence[str] = ()) -> dict[int, int]:
    """Units with a word of trouble: severe ones as `MUST`, warnings and mentions lower; lines of one shape alike.

    Args:
        written: the statement of each unit, where these are known.
    """
    found: dict[int, int] = {}
    known: dict[bytes, int] = {}
    settled = _Settled(written)
    for unit in holding(units, _ALARMS):
        shape, line = shapes[unit], units.contents[unit]
        # Of an exit code and of an answer of HTTP the number decides, and a shape has no numbers.
        rank = known.get(shape) if not any(word in line for word in _NUMBERED) else None
        if rank is None:
            # Of `error=…` the value decides, and a statement has no values.
            rank = settled.judge(unit, line, _alarm) if "=" not in line and "tatus" not in line else _alarm(line)
            known[shape] = rank
        if rank:
            found[unit] = rank
    return found


class _Settled:
    """Judges the first lines of each statement; where these are alike, all others are taken to be so too."""

    def __init__(self, written: Sequence[str]) -> None:
        self._written = written
        self._known: dict[str, list[int]] = {}

    def judge(self, unit: int, line: str, judge: Callable[[str], int]) -> int:
        if not self._written:
            return judge(line)
        before = self._known.setdefault(self._written[unit], [])
        if len(before) >= _JUDGED and len(set(before)) == 1:
            return before[0]
        rank = judge(line)
        before.append(rank)
        return rank


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


def summaries(units: Units, written: Sequence[str] = ()) -> list[int]:
    """Units that sum up a run: test counts, build results, section rules of a report. What one statement says again and
    again is no summary: that is what the run did, one by one.

    Args:
        written: the statement of each unit, where these are known; else lines that differ by numbers are of one.
    """
    found: dict[str, list[int]] = {}
    for unit in sorted(visited(units, units.text.encode("ascii", "replace"), _LIKE_SUMMARY)):
        statement = written[unit] if written else units.contents[unit].translate(_NO_DIGITS)
        same = found.setdefault(statement, [])
        if len(same) <= _MOST_SUMMARIES and sums_up(units.contents[unit][:220]):
            same.append(unit)
    return sorted(unit for same in found.values() if len(same) <= _MOST_SUMMARIES for unit in same)


def sums_up(line: str) -> bool:
    """Whether a line sums up a run."""
    return _SUMMARY.search(line) is not None and not _QUIET.search(line[:100])


def holding(units: Units, words: tuple[str, ...]) -> list[int]:
    """Units that hold one of the words in any case: one pass of an automaton over the whole text, so that only these
    few meet a regular expression."""
    folded = fold(units.text)
    pattern, beyond = _automaton(words)
    found = visited(units, folded.encode("ascii", "replace"), pattern)
    for word in beyond if not folded.isascii() else ():
        at = folded.find(word)
        while at >= 0:
            unit = units.at(at)
            found.add(unit)
            at = folded.find(word, max(units.starts[unit + 1], at + 1)) if unit + 1 < len(units) else -1
    return sorted(found)


def visited(units: Units, data: bytes, pattern: re2._Regexp) -> set[int]:
    """Units that a pattern matches in; `data` is the text with one byte for each code point."""
    found: set[int] = set()
    starts = units.starts
    match = pattern.search(data) if starts else None
    while match is not None:
        at = match.start()
        after = bisect_right(starts, at)
        found.add(max(0, after - 1))
        if after >= len(starts):
            break
        match = pattern.search(data, max(starts[after], at + 1))
    return found


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
