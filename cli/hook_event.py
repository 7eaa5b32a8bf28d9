"""A host's PostToolUse event taken apart, and the answer to it. Pure, and importing next to nothing.

Claude Code and Codex share the event's names; Codex alone has `turn_id`. Both read `additionalContext`. Only Claude
Code takes `updatedToolOutput`, and only in the shape of the tool's own output: for `Bash` an object with `stdout` and
`stderr`. Codex refuses an answer with a member that it does not know.
"""

from __future__ import annotations

import json
import os
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

EVENT = "PostToolUse"
SERVER = "builtin"
"""The name under which the host's own tools stand in every store."""
CLAUDE, CODEX = "claude", "codex"
HOSTS = (CLAUDE, CODEX)
SHELL = "Bash"
MCP_PREFIX = "mcp__"
CONTEXT_CHARS = {CODEX: 3_300}
"""Codex cuts additional context at 10,000 bytes, which is so many characters of any script."""
LONGEST_NAME = 200
LONGEST_ARGUMENTS = 262_144
"""Bytes; larger arguments are contents, not questions."""
_NO_TEXT = ("base64", "data", "filePath", "type", "mode")
"""Members of an answer that say what it is, or hold a picture."""
_PATHS = ("path", "file_path")


class Event(NamedTuple):
    """What a tool of the host was asked and what it answered.

    Attributes:
        arguments: JSON object of the tool's input, with the working directory where nothing else names the project.
        session: the host's session.
        response_chars: code points of text in the answer; 0 for pictures.
    """

    host: str
    tool: str
    arguments: bytes
    session: str
    response: Any
    response_chars: int


def read_event(data: bytes, host: str = "", home: str = "") -> Event | None:
    """The event in what a host has written; `None` when it is none that concerns us.

    Args:
        host: who has written it, where that is known; a host that is not known here gets no answer.
        home: the user's home directory, which names no project.
    """
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or event.get("hook_event_name", EVENT) != EVENT:
        return None
    tool, asked = event.get("tool_name"), event.get("tool_input")
    if not isinstance(tool, str) or not tool or len(tool) > LONGEST_NAME:
        return None
    host = host or (CODEX if "turn_id" in event else CLAUDE)
    if host not in HOSTS:
        return None
    response = event.get("tool_response")
    return Event(
        host=host,
        tool=_valid(tool),
        arguments=_arguments(asked if isinstance(asked, dict) else {}, event.get("cwd"), home),
        session=_valid(str(event.get("session_id") or "")[:LONGEST_NAME]),
        response=response,
        response_chars=_chars(response),
    )


def wants(patterns: tuple[str, ...], tool: str) -> bool:
    """Whether a tool gets memories. MCP tools have the gateway: only a pattern that begins with `mcp__` means one."""
    return any(
        fnmatchcase(tool, pattern)
        for pattern in patterns
        if pattern.startswith(MCP_PREFIX) or not tool.startswith(MCP_PREFIX)
    )


def shell_output(event: Event, longer_than: int) -> tuple[str, str] | None:
    """stdout and stderr of a shell command, when they are text, longer than so many code points, and replaceable."""
    found = event.response
    if event.host != CLAUDE or event.tool != SHELL or event.response_chars <= longer_than:
        return None
    if not isinstance(found, dict):
        return None
    out, err = found.get("stdout"), found.get("stderr", "")
    # What was too long for the host lies in a file already, and the agent sees only its beginning.
    if not isinstance(out, str) or not isinstance(err, str) or found.get("persistedOutputPath"):
        return None
    return out, err


def answer(event: Event, context: str | None, output: tuple[str, str] | None) -> bytes:
    """The JSON for the host; empty when there is nothing to say.

    Args:
        context: text for the agent, or `None`.
        output: stdout and stderr to show in the place of the tool's own, or `None`.
    """
    said: dict[str, Any] = {"hookEventName": EVENT}
    if context is not None:
        said["additionalContext"] = context
    if output is not None:
        said["updatedToolOutput"] = {**event.response, "stdout": output[0], "stderr": output[1]}
    if len(said) == 1:
        return b""
    return json.dumps({"hookSpecificOutput": said}, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _arguments(asked: dict[str, Any], cwd: Any, home: str) -> bytes:
    if isinstance(cwd, str) and _names_project(cwd, home) and not any(_is_absolute(asked.get(key)) for key in _PATHS):
        asked = {"cwd": cwd, **asked}
    encoded = json.dumps(asked, ensure_ascii=False).encode("utf-8", "replace")
    return encoded if len(encoded) <= LONGEST_ARGUMENTS else b"{}"


def _names_project(cwd: str, home: str) -> bool:
    """Whether a working directory is more than a place where projects lie."""
    folder = os.path.normpath(cwd)
    return folder not in (os.path.normpath(home), "/tmp") and folder.count("/") > 1  # noqa: S108 (a name, no file)


def _is_absolute(path: Any) -> bool:
    return isinstance(path, str) and path.startswith(("/", "~"))


def _chars(value: Any) -> int:
    """Code points of all texts in an answer of any shape."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_chars, value))
    if isinstance(value, dict):
        return 0 if value.get("isImage") is True else sum(_chars(v) for key, v in value.items() if key not in _NO_TEXT)
    return 0


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
