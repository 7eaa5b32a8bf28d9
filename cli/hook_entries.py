"""Our entry among the hooks of a host: found, written and taken out, everything else left as it stands. Pure.

Claude Code and Codex share the form: `hooks.PostToolUse` is a list of groups, each with a `matcher` and a list of
`hooks`, each of these with a `command` for a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from cli import jsonc
from cli.hook_event import EVENT
from cli.host_entry import PROGRAMS

Kind = Literal["ours", "namesake"]
HOST_SECONDS = 10
"""The host ends a hook after that; ours ends long before by itself."""
LIST = ("hooks", EVENT)
_LAUNCHER = re.compile(r"uvx?|pipx|python[\d.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)


class Entry(NamedTuple):
    """A hook that runs `mms hook`.

    Attributes:
        group / position: where it stands.
        kind: `namesake` when it is not written as we write it: by memtomem-stm, or by hand.
        program: what it starts.
    """

    group: int
    position: int
    matcher: str
    command: str
    kind: Kind
    program: str


class Occupied(Exception):
    """There is a namesake already."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.command)
        self.entry = entry


def command_line(program: str, host: str, variables: Mapping[str, str]) -> str:
    """The command for the host's shell, whichever that is."""
    set_ = ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
    return shlex.join([*set_, program, "hook", "--host", host])


def entries(document: Mapping[str, Any]) -> list[Entry]:
    """Every hook for the event that runs `mms hook`, ours or not, in their order."""
    found = []
    hooks = document.get("hooks")
    groups = hooks.get(EVENT) if isinstance(hooks, Mapping) else None
    for g, group in enumerate(groups if isinstance(groups, list) else []):
        handlers = group.get("hooks") if isinstance(group, Mapping) else None
        for p, handler in enumerate(handlers if isinstance(handlers, list) else []):
            words = _words(handler)
            known = _recognised(words)
            if known is not None:
                found.append(Entry(g, p, str(group.get("matcher", "")), " ".join(words), *known))
    return found


def installed(text: str, command: str, matcher: str, *, stated: bool, replace: bool) -> str:
    """The text of the file with exactly one entry of ours.

    Args:
        matcher: for a new entry; one that is there keeps its own, unless a person has `stated` another.
        replace: take namesakes out.

    Raises:
        Occupied: there is a namesake, and it is not to be replaced. ValueError: the text is not what it should be.
    """
    found = entries(jsonc.parse(text))
    for entry in found:
        if entry.kind == "namesake" and not replace:
            raise Occupied(entry)
    own = next((entry for entry in found if entry.kind == "ours"), None)
    if own is not None and stated and own.matcher != matcher:
        own = None
    text = _without(text, [entry for entry in found if entry is not own])
    if own is None:
        handler = {"type": "command", "command": command, "timeout": HOST_SECONDS}
        group = {"matcher": matcher, "hooks": [handler]}
        return jsonc.put(text, (*LIST, _length(text)), group)
    own = entries(jsonc.parse(text))[0]
    path = (*LIST, own.group, "hooks", own.position)
    present = _at(jsonc.parse(text), path)
    if present.get("command") != command or "args" in present:
        kept = {key: value for key, value in present.items() if key != "args"}
        text = jsonc.put(text, path, {**kept, "type": "command", "command": command})
    return text


def uninstalled(text: str, before: str | None = None) -> str:
    """The text without our entries; namesakes stay.

    Args:
        before: what may have been the text before ours came. If it was, it comes back byte for byte, empty lists and
            the like included.

    Raises:
        ValueError: the text is not what it should be.
    """
    document = jsonc.parse(text)
    own = [entry for entry in entries(document) if entry.kind == "ours"]
    if len(own) == 1 and before is not None:
        command = _at(document, (*LIST, own[0].group, "hooks", own[0].position, "command"))
        with suppress(ValueError, Occupied):
            is_without = not entries(jsonc.parse(before))
            if is_without and installed(before, command, own[0].matcher, stated=True, replace=False) == text:
                return before
    return _without(text, own)


def _without(text: str, unwanted: Sequence[Entry]) -> str:
    """Takes entries out, and the groups and lists that they leave empty; a comment in one keeps it."""
    for entry in reversed(unwanted):
        group = (*LIST, entry.group)
        text = jsonc.remove(text, (*group, "hooks", entry.position))
        left = _at(jsonc.parse(text), group)
        if left["hooks"] or set(left) - {"matcher", "hooks"}:
            continue
        text = jsonc.remove(text, group)
        for path in (LIST, LIST[:1]):
            if not jsonc.is_empty(text, path):
                break
            text = jsonc.remove(text, path)
    return text


def _at(document: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        document = document[key]
    return document


def _length(text: str) -> int:
    hooks = jsonc.parse(text).get("hooks")
    groups = hooks.get(EVENT) if isinstance(hooks, Mapping) else None
    return len(groups) if isinstance(groups, list) else 0


def _words(handler: Any) -> list[str]:
    """The words of a handler's command; none when it has no command that can be read."""
    command = handler.get("command") if isinstance(handler, Mapping) else None
    if not isinstance(command, str):
        return []
    arguments = handler.get("args")
    if isinstance(arguments, list):
        return [command, *(word for word in arguments if isinstance(word, str))]
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _recognised(words: list[str]) -> tuple[Kind, str] | None:
    """What kind of entry a command is, and the program that it starts; `None` when it is not `mms hook`."""
    start = 1 if words[:1] == ["env"] else 0
    while start < len(words) and _ASSIGNMENT.fullmatch(words[start]):
        start += 1
    is_launched = start < len(words) and _LAUNCHER.fullmatch(PurePath(words[start]).name)
    for at in range(start, len(words) - 1 if is_launched else min(start + 1, len(words) - 1)):
        name = PurePath(words[at]).name
        if words[at + 1] == "hook" and (name in PROGRAMS or name.startswith("memtomem_stm")):
            is_ours = at == start and name == "mms" and words[at].startswith("/")
            return "ours" if is_ours else "namesake", words[start]
    return None
