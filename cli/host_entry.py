"""A client's entry for a server as one of ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from cli.hosts import Host, Source

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z]+):(?!-)([^}]*)\}|\$\{(workspaceFolder|userHome|pathSeparator|/)\}")
_TRANSPORTS = {
    "http": "streamable_http",
    "streamable-http": "streamable_http",
    "streamable_http": "streamable_http",
    "streamablehttp": "streamable_http",
    "sse": "sse",
    "stdio": "stdio",
}
PROGRAMS = ("mms", "memtomem-stm")
"""Names under which this program is started."""


class Converted(NamedTuple):
    """An entry of ours without its prefix, and what a person should know about it."""

    entry: dict[str, Any]
    remarks: list[str]


def is_gateway(original: Any) -> bool:
    """Whether an entry starts this gateway, which must not be put behind itself."""
    if not isinstance(original, Mapping):
        return False
    command, arguments = original.get("command"), original.get("args")
    if not isinstance(command, str):
        return False
    words = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    if PurePath(command).name in PROGRAMS:
        return not words or "gateway" in words
    return words[-1:] == ["gateway"] and any(PurePath(word).name in (*PROGRAMS, "cli") for word in words[:-1])


def gateway_entry(host: Host, command: str, env: Mapping[str, str]) -> dict[str, Any]:
    """The entry that starts the gateway in a client."""
    entry: dict[str, Any] = {"type": "stdio"} if host.typed else {}
    entry |= {"command": command, "args": ["gateway"]}
    return entry | ({"env": dict(env)} if env else {})


def updated(present: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """A gateway's entry that is there already, brought up to date; what its owner has added to it stays."""
    merged = {**present, **entry}
    if PurePath(present["command"]).name in PROGRAMS:
        merged["args"] = present.get("args") or entry["args"]
    env = present.get("env")
    if isinstance(env, Mapping):
        merged["env"] = {**env, **entry.get("env", {})}
    return merged


def convert(original: Any, source: Source, folder: Path | None) -> Converted:
    """What a client's entry says, in our keys.

    Args:
        folder: of the project that the entry belongs to; it becomes the working directory.

    Raises:
        ValueError: it cannot be used; the message says why and shows no value.
    """
    if not isinstance(original, Mapping):
        raise ValueError("it is no object")
    remarks: list[str] = []
    entry = _connection(original)
    if source.client == "codex":
        entry = _codex(entry, original)
    entry = _resolved(entry, folder, remarks)
    if entry["transport"] == "stdio" and "cwd" not in entry and folder is not None:
        entry["cwd"] = str(folder)
    if original.get("disabled") is True or original.get("enabled") is False:
        entry["enabled"] = False
        remarks.append("is switched off in the client and stays so; `mms enable` starts it")
    if original.get("envFile"):
        remarks.append("reads an envFile there, which is not read here; put its variables into env")
    return Converted(entry, remarks)


def _connection(original: Mapping[str, Any]) -> dict[str, Any]:
    """Transport, and the keys that belong to it."""
    url = original.get("url") or original.get("serverUrl")
    kind = original.get("type") or original.get("transport")
    if not original.get("command") and not url:
        raise ValueError("it has neither a command nor a url")
    if kind is None:
        kind = "stdio" if original.get("command") else "sse" if str(url).rstrip("/").endswith("/sse") else "http"
    transport = _TRANSPORTS.get(str(kind).lower())
    if transport is None:
        raise ValueError("its type is none of stdio, http and sse")
    if transport == "stdio":
        if not original.get("command"):
            raise ValueError("its type is stdio, and it has no command")
        arguments = original.get("args") or []
        if not isinstance(arguments, list):
            raise ValueError("its args are no list")
        entry: dict[str, Any] = {
            "transport": transport,
            "command": _text(original["command"], "command"),
            "args": [_text(word, "args") for word in arguments],
        }
        if env := _texts(original.get("env"), "env"):
            entry["env"] = env
        if cwd := original.get("cwd"):
            entry["cwd"] = _text(cwd, "cwd")
        return entry
    if not url:
        raise ValueError(f"its type is {transport}, and it has no url")
    entry = {"transport": transport, "url": _text(url, "url")}
    if headers := _texts(original.get("headers") or original.get("http_headers"), "headers"):
        entry["headers"] = headers
    return entry


def _codex(entry: dict[str, Any], original: Mapping[str, Any]) -> dict[str, Any]:
    """Codex names variables where others write `${VAR}`."""
    changed = dict(entry)
    if entry["transport"] == "stdio":
        names = original.get("env_vars") or []
        forwarded = {name: f"${{{name}}}" for name in names if isinstance(name, str)} if isinstance(names, list) else {}
        if env := forwarded | entry.get("env", {}):
            changed["env"] = env
    else:
        headers = {k: f"${{{v}}}" for k, v in _texts(original.get("env_http_headers"), "env_http_headers").items()}
        if variable := original.get("bearer_token_env_var"):
            headers["Authorization"] = f"Bearer ${{{_text(variable, 'bearer_token_env_var')}}}"
        headers |= entry.get("headers", {})
        if headers:
            changed["headers"] = headers
    for theirs, ours in (
        ("startup_timeout_sec", "connect_timeout_seconds"),
        ("tool_timeout_sec", "call_timeout_seconds"),
    ):
        seconds = original.get(theirs)
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
            changed[ours] = seconds
    return changed


def _resolved(entry: dict[str, Any], folder: Path | None, remarks: list[str]) -> dict[str, Any]:
    """Placeholders of editors become ours: `${env:X}` → `${X}`, `${input:x}` → a variable of that name."""

    def name(match: re.Match[str]) -> str:
        kind, rest, word = match.groups()
        if kind == "env":
            return f"${{{rest}}}"
        if kind == "input":
            variable = re.sub(r"\W", "_", rest, flags=re.ASCII).upper()
            variable = f"_{variable}" if variable[:1].isdigit() else variable
            remarks.append(f"asks for {rest} there; set the environment variable {variable} instead")
            return f"${{{variable}}}"
        if word == "userHome":
            return "~"
        if word == "workspaceFolder":
            if folder is None:
                raise ValueError("it needs an open workspace (${workspaceFolder})")
            return str(folder)
        if word is not None:
            return "/"
        raise ValueError(f"it uses the placeholder ${{{kind}:…}}, which only its client knows")

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return _PLACEHOLDER.sub(name, value)
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return value

    return {key: walk(value) for key, value in entry.items()}


def _texts(value: Any, key: str) -> dict[str, str]:
    """A map of texts; `null` members are left out."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"its {key} is no object")
    return {str(name): _text(item, key) for name, item in value.items() if item is not None}


def _text(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"its {key} holds something that is no text")
