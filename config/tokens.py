"""What a text costs a model, estimated.

From the text's pieces, as tokenizers cut it: words (`camelCase` is two), numbers, runs of punctuation, runs of spaces,
and characters of other scripts, each with a little for its length. All of it comes from a few passes of
`bytes.translate` and `split`. The weights were fitted to the o200k vocabulary on code, prose, JSON, logs,
tables, manual pages in nine languages, Hangul and CJK, and lean to the high side by about a twentieth. The cost of two
texts joined is never above the sum of their costs, so packing can add up.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterable
from functools import lru_cache

_LOWER, _UPPER, _DIGIT = string.ascii_lowercase.encode(), string.ascii_uppercase.encode(), string.digits.encode()
_MARKS = string.punctuation.encode()


def _classes(*classes: tuple[bytes, Iterable[int]]) -> bytes:
    """A translation of bytes to the letter of their class, a space for those of none."""
    table = bytearray(b" " * 256)
    for letter, members in classes:
        for member in members:
            table[member] = letter[0]
    return bytes(table)


_WORDS = _classes((b"a", _LOWER), (b"A", _UPPER))
_NUMBERS = _classes((b"0", _DIGIT))
_PUNCTUATION = _classes((b".", _MARKS))
_PIECE, _LETTER, _CAPITAL = 0.82, 0.04, 0.06
_ENDLESS = 0.13
"""A letter, where there are hardly any words: no token is much longer than that."""
_NUMBER, _FIGURE = 0.70, 0.40
_RUN, _MARK = 0.81, 0.07
_SPACE, _SPACES, _SPACE_AT_END = 0.07, 1.25, 0.6
"""A single space, a run of them, and one at either end, which may become part of a run."""
_LINE = 0.70
"""A line break or tab, with the indentation behind it."""
_BEYOND: tuple[tuple[bytes, Iterable[int], float], ...] = (
    (b"c", range(0xC0, 0xE0), 0.4),  # Latin with accents, Greek, Cyrillic, Hebrew, Arabic
    (b"e", (0xE1, 0xE2), 0.6),  # typographic signs, arrows, frames
    (b"k", (0xE3,), 0.84),  # kana, CJK punctuation
    (b"j", range(0xE4, 0xEA), 0.9),  # CJK
    (b"h", range(0xEA, 0xEE), 0.75),  # Hangul
    (b"x", (0xE0, 0xEE, 0xEF), 1.0),  # Indic scripts, Thai, full-width forms
    (b"f", range(0xF0, 0x100), 2.5),  # emoji, rare ideographs
)
"""By the first byte of a character, which pays for all of it."""
_CLASSES = bytes(
    97 if byte in _LOWER else 65 if byte in _UPPER else 48 if byte in _DIGIT else 46 if byte in _MARKS else byte
    for byte in range(256)
)
"""A translation of each letter, digit and mark to one of its kind, which changes no cost."""
_LONGEST_LINE = 240
_SCRIPTS = _classes(*((letter, members) for letter, members, _ in _BEYOND))
_SURROGATES = re.compile("[\ud800-\udfff]")
_SAMPLED_FROM = 64_000
_SAMPLES, _SAMPLE = 64, 256


def cost(text: str) -> float:
    """The token estimate of a text, unrounded, so that parts can be added up.

    Texts far beyond any budget are judged by samples spread evenly over them.
    """
    if len(text) > _SAMPLED_FROM:
        step = len(text) / _SAMPLES
        sample = "".join(text[int(at * step) : int(at * step) + _SAMPLE] for at in range(_SAMPLES))
        return cost(sample) * len(text) / len(sample)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        # Lone surrogates cost what is delivered in their place.
        data = _SURROGATES.sub("\ufffd", text).encode()
    if len(data) > _LONGEST_LINE:
        return _of_text(data)
    # Lines of one form cost the same, and texts of many lines have few forms.
    return _of_form(data.translate(_CLASSES)) if data.isascii() else _costs(data)


@lru_cache(maxsize=2_048)
def _of_form(form: bytes) -> float:
    return _costs(form)


@lru_cache(maxsize=4)
def _of_text(data: bytes) -> float:
    """What is delivered is asked for by each step on its way."""
    return _costs(data)


def _costs(data: bytes) -> float:
    total = _SPACE_AT_END * (data.startswith(b" ") + data.endswith(b" "))
    if b"  " in data:
        # A run of spaces is hardly more than one token, however long.
        parts = data.split(b"  ")
        kept = [part for part in parts if part]
        total += _SPACES * (len(kept) - 1 + (not parts[0]) + (not parts[-1]))
        data = b" ".join(kept)
    words, numbers, marks = data.translate(_WORDS), data.translate(_NUMBERS), data.translate(_PUNCTUATION)
    low, capital = words.count(b"a"), words.count(b"A")
    pieces = len(words.split()) + words.count(b"aA")
    total += max(_PIECE * pieces + _LETTER * low + _CAPITAL * capital, _ENDLESS * (low + capital))
    total += _NUMBER * len(numbers.split()) + _FIGURE * numbers.count(b"0")
    total += _RUN * len(marks.split()) + _MARK * marks.count(b".")
    total += _SPACE * data.count(b" ") + _LINE * (data.count(b"\n") + data.count(b"\t") + data.count(b"\r"))
    if not data.isascii():
        scripts = data.translate(_SCRIPTS)
        total += sum(weight * scripts.count(letter) for letter, _, weight in _BEYOND)
    return total


def estimate_tokens(text: str) -> int:
    """The token estimate of a text: prose about 4 characters a token, hex about 2, Hangul and CJK about 1."""
    return math.ceil(cost(text))
