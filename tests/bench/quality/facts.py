"""A payload, the facts planted in it, and what an agent would type to find one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

SALIENT, DEEP = "salient", "deep"
_WORD = re.compile(r"[^\W_]{4,}")
_SPACE = re.compile(r"\s+")
_NEAR = 160
_HINT_WORDS = 3
_NAMED_WORDS = 6
_PER_CLASS = 6


@dataclass(frozen=True)
class Fact:
    """A piece of text that stands exactly once in its payload.

    Attributes:
        cls: `salient` (a reader would be angry to lose it) or `deep` (an arbitrary detail).
        hint: a few rare words that stand near it, none of them its own: what somebody knows who looks for it.
    """

    cls: str
    text: str
    hint: str

    @property
    def named(self) -> str:
        """A query that names the fact: its first words."""
        return " ".join(self.text.split()[:_NAMED_WORDS])


@dataclass(frozen=True)
class Payload:
    """One response of a tool.

    Attributes:
        kind: what it is, e.g. `app log`.
        given: facts from elsewhere, instead of candidates.
        salient / deep: candidates for facts in the order they occur; those that stand more than once are left out.
    """

    kind: str
    text: str
    salient: tuple[str, ...]
    deep: tuple[str, ...]
    given: tuple[Fact, ...] = ()

    @cached_property
    def facts(self) -> list[Fact]:
        """The given ones, or six facts of each class, spread evenly over the candidates."""
        if self.given:
            return list(self.given)
        salient = pick(self.salient, self.text)
        deep = pick([text for text in self.deep if text not in salient], self.text)
        return [
            Fact(cls, text, hint(text, self.text)) for cls, some in ((SALIENT, salient), (DEEP, deep)) for text in some
        ]


def payload(kind: str, text: str, salient: Iterable[str], deep: Iterable[str]) -> Payload:
    return Payload(kind, text, tuple(salient), tuple(deep))


def pick(candidates: Iterable[str], text: str, count: int = _PER_CLASS) -> list[str]:
    """Up to `count` candidates that stand once in the text, evenly spread."""
    unique = [each for each in dict.fromkeys(candidates) if len(each) >= 4 and text.count(each) == 1]
    if len(unique) <= count:
        return unique
    return [unique[int((at + 0.5) * len(unique) / count)] for at in range(count)]


def leading(text: str, must: Sequence[str], others: Iterable[str]) -> list[str]:
    """Candidates that are facts in any case, and as many of the others, evenly spread, as there is room for."""
    return [*must, *pick((each for each in others if each not in must), text, _PER_CLASS - len(must))]


def hint(fact: str, text: str) -> str:
    """Three rare words from within 160 characters of the fact, its own only where there are no others."""
    at = text.find(fact)
    own = {word.lower() for word in _WORD.findall(fact)}
    near = _WORD.findall(text[max(0, at - _NEAR) : at]) + _WORD.findall(text[at + len(fact) : at + len(fact) + _NEAR])
    others = dict.fromkeys(word for word in near if word.lower() not in own)
    near_words = sorted(others, key=lambda word: (text.count(word), -len(word)))[:_HINT_WORDS]
    return " ".join(near_words) or " ".join(fact.split()[:_HINT_WORDS])


class Shown:
    """Texts a reader was given, asked whether a fact is in them: white space and JSON escapes make no difference."""

    def __init__(self, *texts: str) -> None:
        text = "\n".join(texts)
        views = [_squeezed(text)]
        if "\\" in text:
            once = _unescaped(text)
            views += [_squeezed(once), _squeezed(_unescaped(once))]
        self._text = "\x00".join(views)

    def has(self, fact: Fact) -> bool:
        return _squeezed(fact.text) in self._text


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)


def _unescaped(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found.group(1), 16)), text)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace('\\"', '"').replace("\\n", " ").replace("\\t", " ").replace("\\\\", "\\")
