"""Tokens as a model counts them, with the ranks of o200k."""

from __future__ import annotations

from functools import cache
from typing import Any

from gateway.tool_definitions import DEFINITIONS


@cache
def _tokenizer() -> Any:
    # Imported late: reading the vocabularies takes seconds, and every worker of the suite collects every test.
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def tokens(text: bytes | str) -> int:
    """How many tokens a text has."""
    return len(_tokenizer().encode(text.decode() if isinstance(text, bytes) else text))


def own_tools() -> bytes:
    """The JSON of our own tools, as it stands in `tools/list`."""
    return b"[" + b",".join(DEFINITIONS) + b"]"
