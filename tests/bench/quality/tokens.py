"""Tokens as a model counts them (o200k); long texts in parts, cut at line ends."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

_LONGEST = 200_000


@lru_cache(maxsize=1)
def _encoding() -> Any:
    # Imported late: reading the vocabulary takes most of a second.
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    total, start = 0, 0
    while start < len(text):
        end = min(len(text), start + _LONGEST)
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        total += len(_encoding().encode(text[start:end]))
        start = end
    return total
