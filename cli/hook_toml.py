"""Hooks of Codex that stand in its `config.toml` instead of a file of their own: taken out, the rest left alone. Pure.

What is left is parsed again: a file that would mean something else than intended is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cli import toml_text
from cli.hook_entries import LIST, Entry

_HEADER = re.compile(r"^[ \t]*(\[\[?)([^\]\n]+)\]\]?[ \t]*(?:#[^\n]*)?\r?$", re.MULTILINE)
_GROUP, _HANDLER = ".".join(LIST), ".".join((*LIST, "hooks"))


def without(text: str, unwanted: Sequence[Entry]) -> str:
    """The text without these entries, and without the groups that they leave empty.

    Raises:
        ValueError: the text is no TOML, or they are not written as tables of their own.
    """
    wanted = _without(toml_text.parse(text), unwanted)
    for start, end in reversed(_spans(text, unwanted)):
        text = text[:start] + text[end:]
    if _normal(toml_text.parse(text)) != _normal(wanted):
        raise ValueError("its hook is not written as a table of its own; take it out by hand")
    return text


def _spans(text: str, unwanted: Sequence[Entry]) -> list[tuple[int, int]]:
    """Where the tables of the entries stand, from header to next header; those of a group that is to go with them."""
    headers = [(match.start(), re.sub(r"[\s\"']", "", match[2])) for match in _HEADER.finditer(text)]
    ends = [*[start for start, _ in headers], len(text)][1:]
    group = position = -1
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for (start, name), end in zip(headers, ends, strict=True):
        if name == _GROUP:
            group, position = group + 1, -1
            found[group, position] = start, end
        elif name == _HANDLER:
            position += 1
            found[group, position] = start, end
    out = {(entry.group, entry.position) for entry in unwanted}
    for g in {entry.group for entry in unwanted}:
        if all((g, p) in out for at, p in found if at == g and p >= 0):
            out.add((g, -1))
    return sorted(span for key, span in found.items() if key in out)


def _without(document: dict[str, Any], unwanted: Sequence[Entry]) -> dict[str, Any]:
    out = {(entry.group, entry.position) for entry in unwanted}
    groups = []
    for g, group in enumerate(document["hooks"][LIST[1]]):
        kept = [handler for p, handler in enumerate(group["hooks"]) if (g, p) not in out]
        if kept or not any(at == g for at, _ in out):
            groups.append({**group, "hooks": kept})
    return {**document, "hooks": {**document["hooks"], LIST[1]: groups}}


def _normal(document: dict[str, Any]) -> dict[str, Any]:
    """With what is empty left out: an empty list of groups and none mean the same."""
    hooks = {key: value for key, value in document.get("hooks", {}).items() if value}
    return {**{key: value for key, value in document.items() if key != "hooks"}, **({"hooks": hooks} if hooks else {})}
