"""Two ceilings, characters and tokens, and what a text costs against them.

Tokens are estimated from UTF-8 byte classes only. The estimate is therefore additive (the cost of two texts joined is
the sum of their costs, so packing can add up), linear, and fast: a few `bytes.translate` passes. The weights were
fitted to the o200k vocabulary on code, prose, JSON, logs, tables and Korean, and lean to the high side.
"""

from __future__ import annotations

import math
import string
from dataclasses import dataclass

_CLASSES: tuple[tuple[bytes, float], ...] = (
    (string.ascii_lowercase.encode(), 0.2),
    (b" ", 0.1),
    (b"\n\t\r", 0.5),
    (string.ascii_uppercase.encode(), 0.35),
    (string.digits.encode(), 0.75),
    (bytes(range(0x80, 0xC0)), 0.0),  # continuation bytes: the lead byte pays for the character
    (bytes(range(0xC0, 0xE0)), 0.6),  # Latin with accents, Greek, Cyrillic, Hebrew, Arabic
    (bytes(range(0xE0, 0xF0)), 1.0),  # Hangul, CJK, kana, Indic scripts, typographic signs
    (bytes(range(0xF0, 0x100)), 3.0),  # emoji, rare ideographs
)
_PUNCTUATION = 0.6


def cost(text: str) -> float:
    """The token estimate of a text, unrounded, so that parts can be added up."""
    data = text.encode("utf-8", "surrogatepass")
    total, left = 0.0, len(data)
    for members, weight in _CLASSES:
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
