"""One table of a TOML file added or taken away, every other byte left alone. Pure.

Every change is parsed again: what would mean something else than intended is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

_HEADER = re.compile(r"^[ \t]*\[(?!\[)([^\]\n]+)\][ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_ANY_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """The document.

    Raises:
        ValueError: it is no TOML; the message says where.
    """
    return tomllib.loads(text.removeprefix("\ufeff"))


def put(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """The text with the table at `path` written anew, at the end. Values are texts, lists of texts and maps of texts.

    Raises:
        ValueError: the text is no TOML, or the table is written in a form that cannot be replaced.
    """
    kept = remove(text, path)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]", *(f"{_key(key)} = {_value(item)}" for key, item in value.items())]
    gap = "" if not kept else newline if kept.endswith("\n") else newline * 2
    changed = kept + gap + newline.join(lines) + newline
    _must_be(changed, _with(parse(text), path, value))
    return changed


def remove(text: str, path: Sequence[str]) -> str:
    """The text without the table at `path` and the tables in it; the same text when there is none.

    Raises:
        ValueError: the text is no TOML, or the table is written in a form that cannot be taken out.
    """
    document = parse(text)
    if not _has(document, path):
        return text
    for start, end in reversed(_spans(text, path)):
        before = text[:start]
        # The empty line that stood between this table and the one before goes with it.
        if end == len(text) and before.endswith(("\n\n", "\n\r\n")):
            before = before[:-2] if before.endswith("\r\n") else before[:-1]
        text = before + text[end:]
    _must_be(text, _with(document, path, None))
    return text


def _spans(text: str, path: Sequence[str]) -> list[tuple[int, int]]:
    """Where the tables at and below `path` stand, from header to the next header."""
    found = []
    for match in _HEADER.finditer(text):
        try:
            name = _names(match[1])
        except ValueError:
            continue
        if name[: len(path)] == list(path):
            after = _ANY_HEADER.search(text, match.end())
            found.append((match.start(), after.start() if after else len(text)))
    return found


def _names(header: str) -> list[str]:
    node: Any = tomllib.loads(f"[{header}]")
    names = []
    while node:
        [(name, node)] = node.items()
        names.append(name)
    return names


def _must_be(text: str, wanted: dict[str, Any]) -> None:
    if _comparable(parse(text)) != _comparable(wanted):
        raise ValueError("its entry is not written as a table of its own; change it by hand")


def _comparable(document: dict[str, Any]) -> dict[str, Any]:
    """A table that has become empty and one that is not there mean the same."""
    return {key: value for key, value in document.items() if value != {}}


def _with(document: dict[str, Any], path: Sequence[str], value: Mapping[str, Any] | None) -> dict[str, Any]:
    below = document.get(path[0])
    node = dict(document)
    if len(path) > 1:
        node[path[0]] = _with(below if isinstance(below, dict) else {}, path[1:], value)
    elif value is None:
        node.pop(path[0], None)
    else:
        node[path[0]] = dict(value)
    return node


def _has(document: dict[str, Any], path: Sequence[str]) -> bool:
    node: Any = document
    for key in path:
        if not isinstance(node, dict) or key not in node:
            return False
        node = node[key]
    return True


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, str):
        return _text(value)
    return "[" + ", ".join(map(_value, value)) + "]"


def _text(text: str) -> str:
    # A basic string is a JSON string, but for DEL and surrogate pairs.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
