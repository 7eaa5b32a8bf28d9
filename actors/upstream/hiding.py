"""Secrets in what servers say, before it reaches a log or an error of ours. Pure.

Servers quote what they were given: "invalid key …". What they answer to a call is their own, and passes as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from config.credentials import MASK, mask
from config.mask import is_secret_name
from config.schema_upstream import UpstreamSettings

SHORTEST = 6
"""Characters of a value that is looked for: shorter ones stand in many words."""


def hider(settings: UpstreamSettings) -> Callable[[str], str]:
    """What takes the credentials of a server out of a text, and whatever else reads as one.

    Args:
        settings: expanded.
    """
    given = {**(settings.env or {}), **(settings.headers or {})}
    values = {
        part
        for name, value in given.items()
        if is_secret_name(name)
        for part in (value, *value.split())  # "Bearer …" is quoted without its first word, too
        if len(part) >= SHORTEST
    }
    longest_first = sorted(values, key=len, reverse=True)

    def hide(text: str) -> str:
        for value in longest_first:
            text = text.replace(value, MASK)
        return mask(text)

    return hide
