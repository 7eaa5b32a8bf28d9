"""Whether a tool's metadata carries a credential. Pure.

A false alarm costs a user the tool, so a broad and fast look at everything is followed by a precise one at each text,
and the passwords that examples are made of (`postgres://user:password@host`) count as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from bus import jsonrpc
from config.credentials import is_credential, may_hold_credential

_EXAMPLE = re.compile(
    # postgres://user:password@host, amqp://guest:guest@host, https://me:<token>@host
    r"://(?P<user>[^\s/@:]{0,64}):(?:(?P=user)|pass(?:word|wd)?|pwd|secret|token|\*+|\.+|…|<[^>@\s]{0,64}>"
    r"|\[[^\]@\s]{0,64}\]|\{[^}@\s]{0,64}\}|\$\{?\w{1,64}\}?|(?:your|my|the)[-_]?\w{0,32})@"
    # ghp_xxxxxxxxxxxxxxxx
    r"|x{8,}"
    # access_token: OAuth2 …, secret: base64-encoded …
    r"|(?<=[:=])\s?[\"'`]?(?:oauth|base64|sha-?\d|utf-?8|jwt)[\w-]{0,32}",
    re.IGNORECASE,
)
"""What stands for a secret where somebody explains; no secret."""


@lru_cache(maxsize=8192)
def is_sensitive(raw: bytes) -> bool:
    """Whether a tool, as its server listed it, carries a credential. Remembered: catalogues are made anew often."""
    try:
        return carries_credential(jsonrpc.value(raw))
    except msgspec.MsgspecError:
        return False


def carries_credential(metadata: Any) -> bool:
    """Whether any text of a decoded JSON value (keys and values, at any depth) reads as a secret value."""
    texts = [*_texts(metadata), *_name_ends(metadata)]
    return may_hold_credential("\n".join(texts)) and any(is_credential(_EXAMPLE.sub("", text)) for text in texts)


def _texts(value: Any) -> Iterator[str]:
    """Every key, and every text behind its key: `api_key: …` tells what the value alone does not."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, dict):
            for key, item in current.items():
                yield key
                if isinstance(item, str):
                    yield f"{key}: {item}"
                else:
                    waiting.append(item)
        elif isinstance(current, list):
            waiting += current
        elif isinstance(current, str):
            yield current


def _name_ends(metadata: Any) -> Iterator[str]:
    """What follows each underscore of the tool's name: `use_ghp_…` holds a token that no word boundary shows."""
    name = metadata.get("name") if isinstance(metadata, dict) else None
    while isinstance(name, str) and "_" in name:
        name = name.partition("_")[2]
        yield name
