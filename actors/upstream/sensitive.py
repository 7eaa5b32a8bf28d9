"""Whether a tool's metadata carries a credential. Pure.

A false alarm costs a user the tool, so a broad and fast look at everything is followed by a precise one at each text,
and the passwords that examples are made of (`postgres://user:password@host`) count as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from config.credentials import is_credential, may_hold_credential

_EXAMPLE_USERINFO = re.compile(
    r"://[^\s/@:]{0,64}:(?:pass(?:word|wd)?|pwd|secret|token|\*+|x+|\.+|…|<[^>@\s]{0,64}>|\[[^\]@\s]{0,64}\]"
    r"|\{[^}@\s]{0,64}\}|\$\{?\w{1,64}\}?|(?:your|my|the)[-_]?\w{0,32})@",
    re.IGNORECASE,
)


def carries_credential(metadata: Any) -> bool:
    """Whether any text of a decoded JSON value (keys and values, at any depth) reads as a secret value."""
    texts = [_EXAMPLE_USERINFO.sub("://", text) for text in (*_texts(metadata), *_name_ends(metadata))]
    return may_hold_credential("\n".join(texts)) and any(map(is_credential, texts))


def _texts(value: Any) -> Iterator[str]:
    """Every key and text, and each text once more behind its key: `api_key: …` tells what the value alone does not."""
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
