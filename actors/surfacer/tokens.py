"""Words of queries and memories: Unicode runs, identifiers taken apart, light stems, and what a word is worth.

Latin words are stemmed; Korean words lose their particle; Han, Kana and Hangul are compared by character bigrams, so
that endings and compounds without spaces still meet.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from actors.surfacer.vocabulary import (
    ABBREVIATIONS,
    CONCEPTS,
    GENERIC,
    KOREAN_ENDINGS,
    KOREAN_GENERIC,
    STOP_WORDS,
)


class Script(Enum):
    """What kind of run a word is; it decides how the word is compared."""

    WORD = "word"
    HANGUL = "hangul"
    HAN = "han"
    KATAKANA = "katakana"


@dataclass(frozen=True, slots=True)
class Token:
    """One comparable unit.

    Attributes:
        text: folded; a stem for Latin words, the word without its particle for Korean.
        surface: as written, without its particle.
        script: how `text` is compared.
        whole: the folded identifier this token was a part of (`postgresql` for `postgre`), or the run of Han characters
            that a doubtful pair was cut from, else empty.
        concept: the English stem that a Korean, Japanese or Chinese technical word stands for, else empty.
    """

    text: str
    surface: str
    script: Script = Script.WORD
    whole: str = ""
    concept: str = ""


_HANGUL = r"\uac00-\ud7a3"
_HAN = r"\u3400-\u9fff\uf900-\ufaff\u3005"
_KATAKANA = r"\u30a1-\u30fa\u30fc"
_HIRAGANA = r"\u3041-\u309f"
_RUN = re.compile(
    rf"(?P<hangul>[{_HANGUL}]+)|(?P<han>[{_HAN}]+)|(?P<katakana>[{_KATAKANA}]+)|[{_HIRAGANA}]+"
    rf"|(?P<word>[^\W{_HANGUL}{_HAN}{_KATAKANA}{_HIRAGANA}]+)"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
_HEX = re.compile(r"(?:0x[0-9a-f]+|(?=[a-f0-9]*\d)[0-9a-f]{7,}|[0-9a-f]{16,})", re.IGNORECASE)
_KOREAN_VERB = re.compile(r"^(.{2,}?)[하해했할한합되돼됐될된됩](?:.*)$")
_LONGEST = 48
# Unicode category Cf, spelt out: looking it up for every code point takes 0.1 s at import.
_FORMAT = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f]"
)
INFORMATIVE = 0.5
"""Rarity from which a word says something about which memory fits."""

UNMISTAKABLE = 1.0
"""Rarity of a word that says by itself what is meant: letters and digits mixed, such as an error code."""


def normalise(text: str, hidden_as: str = "") -> str:
    """NFKC without format characters, so that width variants and hidden characters do not split words.

    Args:
        hidden_as: what stands for each format character.
    """
    if text.isascii():
        return text
    return _FORMAT.sub(hidden_as, unicodedata.normalize("NFKC", text))


def fold(text: str) -> str:
    """Case-folded and normalised text, for substring comparison."""
    return normalise(text).casefold()


def tokens(text: str) -> Iterator[Token]:
    """The tokens of `text` in order, repeats included; UUIDs, hex strings, booleans and stop words are left out."""
    for match in _RUN.finditer(_UUID.sub(" ", normalise(text))):
        kind, run = match.lastgroup, match.group()
        if kind == "word":
            yield from _identifier(run)
        elif kind == "hangul":
            yield from _korean(run)
        elif kind == "han":
            yield from _han(run)
        elif kind == "katakana" and len(run) > 1:
            yield Token(run, run, Script.KATAKANA, concept=CONCEPTS.get(run, ""))


def count(text: str) -> int:
    """How many words a query has: Latin words as they stand (identifiers by their parts, function words included),
    two characters of Korean, Japanese or Chinese as one."""
    total = 0
    for match in _RUN.finditer(_UUID.sub(" ", normalise(text))):
        kind, run = match.lastgroup, match.group()
        if kind == "word":
            total += sum(1 for part in _parts(run) if not _is_noise(part))
        else:
            total += max(1, len(run) // 2)
    return total


def stem(word: str) -> str:
    """A light English stem of a folded word; the same for `rotate`, `rotating`, `rotation`. Other words are kept."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return ABBREVIATIONS.get(word, word)
    base = _singular(word)
    if len(base) > 5:
        base = base.replace("our", "or")  # colour, behaviour
    for ending in ("ization", "isation", "ations", "ation", "ating", "ated", "ator", "ate", "ment", "ings", "ing"):
        if base.endswith(ending) and len(base) - len(ending) >= 4:
            base = _undoubled(base[: -len(ending)])
            break
    else:
        for ending in ("ised", "ized", "ise", "ize", "ers", "er", "ed", "ion", "ly"):
            if base.endswith(ending) and len(base) - len(ending) >= 4:
                base = _undoubled(base[: -len(ending)])
                break
    if base.endswith("e") and len(base) > 4:
        base = base[:-1]
    return ABBREVIATIONS.get(word) or ABBREVIATIONS.get(base) or base


def rarity(token: Token) -> float:
    """How much a match of this word says, before anything is known about the memories: 0 (nothing) to 1 (a rare word).

    A prior from a list of words that every project uses, and from the word's shape.
    """
    text = token.text
    if token.concept in GENERIC:
        return 0.3
    if token.script is Script.HANGUL:
        return 0.3 if text in KOREAN_GENERIC else 0.85 if len(text) > 2 else 0.7
    if token.script is Script.HAN:
        return 0.3 if token.whole and not token.concept else 0.6
    if token.script is Script.KATAKANA:
        return 0.85 if len(text) > 3 else 0.6
    if text in GENERIC or token.surface.casefold() in GENERIC:
        return 0.3
    if text.isdigit():
        return 0.7 if len(text) >= 4 and not text.startswith("20") else 0.2
    if len(text) == 1:
        return 0.1
    if any(c.isdigit() for c in text):
        return UNMISTAKABLE if len(text) >= 5 else 0.85
    return 0.95 if len(token.surface) >= 9 else 0.85 if len(token.surface) >= 5 else 0.7


def bigrams(run: str) -> list[str]:
    """Character pairs of a run; the run itself when it is shorter than three."""
    return [run] if len(run) < 3 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=16_384)
def _identifier(run: str) -> tuple[Token, ...]:
    if len(run) > _LONGEST or _HEX.fullmatch(run):
        return ()
    parts = _parts(run)
    whole = run.replace("_", "").casefold() if len(parts) > 1 else ""
    return tuple(
        Token(stem(part.casefold()), part, whole=whole)
        for part in parts
        if part.casefold() not in STOP_WORDS and not _is_noise(part)
    )


def _parts(run: str) -> list[str]:
    """`OAuthClient_v2` → `OAuth`, `Client`, `v2`: a single letter stays with what follows it."""
    parts: list[str] = []
    for word in run.split("_"):
        humps = [hump for hump in _HUMP.split(word) if hump]
        for number, hump in enumerate(humps):
            if number and len(parts[-1]) == 1:
                parts[-1] += hump
            else:
                parts.append(hump)
    return parts


def _is_noise(part: str) -> bool:
    return part.casefold() in ("true", "false", "null", "none") or _HEX.fullmatch(part) is not None


def _korean(run: str) -> Iterator[Token]:
    word = run
    verb = _KOREAN_VERB.match(run)
    if verb:
        word = verb[1]
    else:
        for ending in KOREAN_ENDINGS:
            if run.endswith(ending) and len(run) - len(ending) >= 2:
                word = run[: -len(ending)]
                break
    if run not in STOP_WORDS and word not in STOP_WORDS:
        yield Token(word, word, Script.HANGUL, concept=CONCEPTS.get(word, ""))


def _han(run: str) -> Iterator[Token]:
    """Most words have two characters: pairs from the run's start on are words, those between them a guess."""
    if run in CONCEPTS or len(run) < 3:
        yield Token(run, run, Script.HAN, concept=CONCEPTS.get(run, ""))
        return
    for number, pair in enumerate(bigrams(run)):
        yield Token(pair, pair, Script.HAN, whole=run if number % 2 else "", concept=CONCEPTS.get(pair, ""))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _undoubled(base: str) -> str:
    return base[:-1] if len(base) > 4 and base[-1] == base[-2] and base[-1] not in "lsz" else base
