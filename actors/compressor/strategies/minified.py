"""Minified code: what it declares and what it says, in the place of its first lines, which nobody can read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import re2

from actors.compressor.budget import Budget
from actors.compressor.excerpt import ASKED, Gaps, choose
from actors.compressor.strategies.lines import ask
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.thin import LARGE
from actors.compressor.units import split
from config.tokens import cost

_LEAD = re.compile(r"\s*/\*.{1,3000}?\*/", re.S)
_LONGEST_LEAD = 700
_NAMED = re2.compile(
    rb"\bfunction ([\w$]{3,60})\(|([\w$]{2,60})=(?:async )?function\b|\bclass ([\w$]{3,60})|\bexports\.([\w$]{2,60})="
    rb"|[,{;]([A-Za-z_$][\w$]{2,60})(?::(?:async )?function\b|\([\w$,={}\[\]. ]{0,60}\)\{)"
    rb"|([\w$]{3,60})=(?:async )?\([\w$,]{0,60}\)=>|(?:^|[}\n])([.#@][^{}\n;]{2,80})\{"
)
_TEXT = re.compile(r"\"((?:[^\"\\\n]|\\.){0,400})\"|'((?:[^'\\\n]|\\.){0,400})'|`((?:[^`\\]|\\.){0,400})`")
_CODE = re.compile(r"\)\{|[;,]\w+\(|=function|\)\.\w+\(|&&|\breturn [\w!]")
_SHORTEST = 10
_STATEMENTS = frozenset(["if", "for", "while", "switch", "catch", "function", "return", "with", "else", "constructor"])
_ASKED_SHARE, _NAMES_SHARE = 0.3, 0.4


def minified(task: Task) -> Draft | None:
    """The comment at the top, the names of functions, classes and selectors, and the texts in the code, each once and
    in the order of the code; what the query asks for first, as it stands. `None` where there are neither."""
    text = task.text[:LARGE]
    found = _NAMED.finditer(text.encode("ascii", "replace"))
    names = _once(next(filter(None, match.groups())).decode() for match in found)
    names = [name for name in names if name not in _STATEMENTS]
    texts = _once(each for each in _quoted(text) if _says(each))
    if not names and not texts:
        return None
    parts = [_asked(task), _lead(text)]
    room = task.budget.minus("".join(parts))
    shown, listed = _fitting(names, room.scaled(_NAMES_SHARE), ", ")
    if listed:
        parts.append(f"[names of functions, classes and selectors: {listed}]\n")
    said, lines = _fitting(texts, room.minus(parts[-1] + "[texts in the code:\n]"), "\n")
    if lines:
        parts.append(f"[texts in the code:\n{lines}]")
    told = f"{shown} of {len(names)} names and {said} of {len(texts)} texts of minified code"
    return Draft("".join(parts).rstrip(), told)


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _quoted(text: str) -> Iterator[str]:
    """What stands between quotes. Where that is code, a quote before it was none, and its end is a beginning."""
    found = _TEXT.search(text)
    while found:
        said = next(filter(None, found.groups()), "")
        is_code = _CODE.search(said) is not None
        if len(said) >= _SHORTEST and not is_code:
            yield said
        found = _TEXT.search(text, found.end() - is_code)


def _says(text: str) -> bool:
    """Whether a text is words for people, and not a list of names."""
    words = text.split(" ")
    return len(words) >= 2 and sum(1 for word in words if word.strip(".,:;!?'\"()").isalpha()) >= 0.5 * len(words)


def _lead(text: str) -> str:
    found = _LEAD.match(text)
    return f"{found[0].strip()[:_LONGEST_LEAD]}\n" if found else ""


def _asked(task: Task) -> str:
    if not task.query:
        return ""
    units = split(task.text[:LARGE])
    ranked = [0] * len(units)
    ask(units, ranked, task.query)
    room = task.budget.scaled(_ASKED_SHARE)
    return choose(units, ranked, room, room, Gaps.BLOCK, ASKED - 1).text + "\n" if any(ranked) else ""


def _fitting(values: list[str], room: Budget, joint: str) -> tuple[int, str]:
    """As many of the values as fit, and how many that are."""
    chars, tokens = 60.0, 30.0
    for at, value in enumerate(values):
        chars, tokens = chars + len(value) + len(joint), tokens + cost(value + joint)
        if chars > room.chars or tokens > room.tokens:
            return at, joint.join([*values[:at], "…"]) if at else ""
    return len(values), joint.join(values)
