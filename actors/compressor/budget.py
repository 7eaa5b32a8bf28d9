"""Two ceilings, characters and tokens, and what a text costs against them.

Tokens are estimated from UTF-8 byte classes only: a few `bytes.translate` passes, linear and fast. The weights were
fitted to the o200k vocabulary on code, prose, JSON, logs, tables and Korean, and lean to the high side. The cost of
two texts joined is never above the sum of their costs, so packing can add up.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass

_ASCII: tuple[tuple[bytes, float], ...] = (
    (string.ascii_lowercase.encode(), 0.155),
    (b" ", 0.22),
    (string.ascii_uppercase.encode(), 0.32),
    (string.digits.encode(), 0.82),
    (b"\n\t\r", 0.9),  # with the indentation behind it
)
_BEYOND: tuple[tuple[bytes, float], ...] = (
    (bytes(range(0x80, 0xC0)), 0.0),  # continuation bytes: the lead byte pays for the character
    (bytes(range(0xC0, 0xE0)), 0.9),  # Latin with accents, Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xF0)), 1.0),  # Hangul, CJK, kana, Indic scripts, typographic signs
    (bytes(range(0xF0, 0x100)), 3.0),  # emoji, rare ideographs
)
_PUNCTUATION = 0.67
_SPACE_IN_RUN = 0.03
_SAMPLED_FROM = 400_000
_SAMPLES, _SAMPLE = 64, 2_048


def cost(text: str) -> float:
    """The token estimate of a text, unrounded, so that parts can be added up.

    Texts far beyond any budget are judged by samples spread evenly over them.
    """
    if len(text) > _SAMPLED_FROM:
        step = len(text) / _SAMPLES
        sample = "".join(text[int(at * step) : int(at * step) + _SAMPLE] for at in range(_SAMPLES))
        return cost(sample) * len(text) / len(sample)
    data = text.encode("utf-8", "surrogatepass")
    total = 0.0
    if b"  " in data:
        # A run of spaces is hardly more than one token; a single one begins a word.
        spread = len(data)
        data = data.replace(b"  ", b"")
        total = (spread - len(data)) * _SPACE_IN_RUN
    left = len(data)
    # What there is most of goes first, so that later passes are short.
    for members, weight in _ASCII if text.isascii() else _BEYOND + _ASCII:
        if not left:
            return total
        data = data.translate(None, members)
        total += (left - len(data)) * weight
        left = len(data)
    return total + left * _PUNCTUATION


def estimate_tokens(text: str) -> int:
    """The token estimate of a text: prose about 4 characters a token, digits and hex below 2, Hangul and CJK 1."""
    return math.ceil(cost(text))


@dataclass(frozen=True)
class Budget:
    """A ceiling in characters (code points) and in estimated tokens; both hold."""

    chars: float
    tokens: float

    def fits(self, text: str) -> bool:
        return len(text) <= self.chars and cost(text) <= self.tokens

    def minus(self, text: str) -> Budget:
        """What is left beside `text`, never below nothing."""
        return Budget(max(0, self.chars - len(text)), max(0.0, self.tokens - cost(text)))

    def scaled(self, share: float) -> Budget:
        return Budget(self.chars * share, self.tokens * share)

    def capped(self, other: Budget) -> Budget:
        """The tighter ceiling of the two, each way."""
        return Budget(min(self.chars, other.chars), min(self.tokens, other.tokens))

    @classmethod
    def of(cls, text: str) -> Budget:
        """Exactly what `text` takes."""
        return cls(len(text), cost(text))
