"""Blanks what looks like a credential in a free text before it is stored anywhere."""

from __future__ import annotations

import re

from config.credentials import mask
from config.mask import MASK, is_secret_name, mask_text

_NAMED = re.compile(
    r"""([\w.-]{2,64}["']?\s{0,4}(?:=|:)\s{0,4})("[^"\n]{1,512}"|'[^'\n]{1,512}'|[^\s"',;<>(){}\[\]]{1,512})"""
)

_AMBIGUOUS = frozenset({"key", "auth", "cookie", "sig", "signature"})
"""Words that name a credential or something else; their values are hidden when they look like one."""


def screen(text: str) -> str:
    """`text` with secret values masked: private keys, known token formats, URL passwords, `password=…` and the like."""
    return mask(mask_text(_NAMED.sub(_masked, text)))


def _masked(match: re.Match[str]) -> str:
    before, value = match.groups()
    name = before.rstrip(" \t\n:=\"'")
    secret = is_secret_name(name) and (name.casefold() not in _AMBIGUOUS or any(char.isdigit() for char in value))
    return f"{before}{MASK}" if secret else match[0]
