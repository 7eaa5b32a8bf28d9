"""The actions of `stm_admin` and their parameters: what `help` says and what is accepted. Pure.

What is refused is named by argument and type, never by its value: a value may be a secret.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple

from bus.errors import Refused

Kind = Literal["string", "integer", "number", "time"]

MAX_ROWS = 10_000
MAX_HOURS = 87_600.0
_MAX_NAME_CHARS = 64


class Parameter(NamedTuple):
    """One key of `params`; a default of `None` means that it may be left out (or null)."""

    name: str
    kind: Kind
    default: Any
    summary: str
    most: float = math.inf


class Action(NamedTuple):
    summary: str
    parameters: tuple[Parameter, ...] = ()


_TOOL = Parameter("tool", "string", None, "only this tool: its advertised name, server__tool, or its own name")

ACTIONS: dict[str, Action] = {
    "proxy_stats": Action("Characters and tokens saved, cache hits, calls per tool, latest calls."),
    "proxy_health": Action(
        "Connection state of each upstream, tools discovered and exposed, what was withheld and why, "
        "memory store, circuit breaker, configuration problems."
    ),
    "proxy_cache_clear": Action(
        "Empty the caches: without a scope the response cache and the memory search results, "
        "with one only the responses it names.",
        (Parameter("server", "string", None, "only responses of this upstream"), _TOOL),
    ),
    "surfacing_stats": Action(
        "Surfaced memories, their ratings, and why calls got none.",
        (
            _TOOL,
            Parameter("since", "time", None, "ISO-8601 time, UTC unless it says otherwise; omitted = all"),
            Parameter("limit", "integer", 10, "latest events shown; 0 hides them", MAX_ROWS),
        ),
    ),
    "selection_stats": Action("Which tools were selected among which, and how the calls ended (opt-in log)."),
    "compression_stats": Action("Reports of information that shortening lost, per tool.", (_TOOL,)),
    "progressive_stats": Action("How often and how far shortened responses were read on.", (_TOOL,)),
    "tuning_recommendations": Action(
        "What to change per tool, from recent feedback and follow-up reads; nothing where nothing is to be gained.",
        (
            Parameter("since_hours", "number", 24.0, "how far back feedback counts, hours", MAX_HOURS),
            _TOOL._replace(summary="only this tool; an empty name matches nothing"),
        ),
    ),
}
HELP = "help"
_HELP_ACTION = Parameter("action", "string", None, "only this action")


def read(action: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters of an action, checked and with their defaults.

    Raises:
        Refused: an unknown action or parameter, or a value of another type or out of range.
    """
    known = parameters_of(action)
    given = params or {}
    names = [parameter.name for parameter in known]
    unknown = sorted(name for name in given if name not in names)
    if unknown:
        takes = f"{action} takes {', '.join(names)}" if names else f"{action} takes none"
        raise Refused(f"unknown parameter {unknown[0][:_MAX_NAME_CHARS]!r} in params; {takes}")
    return {p.name: _checked(p, given[p.name]) if p.name in given else p.default for p in known}


def parameters_of(action: str) -> tuple[Parameter, ...]:
    """Raises Refused for an action that there is not."""
    if action == HELP:
        return (_HELP_ACTION,)
    if action not in ACTIONS:
        raise Refused(f"unknown action; there are {', '.join(ACTIONS)}, and help")
    return ACTIONS[action].parameters


def help_text(action: str | None) -> str:
    """What each action, or one of them, does and takes. Raises Refused for an unknown one."""
    if action is None:
        parts = [_described(name) for name in ACTIONS]
        return "\n".join(["stm_admin(action, params): params is an object.", "", *parts])
    if action == HELP:
        return f"{HELP}: describes all actions, or the one named by params.action."
    parameters_of(action)
    return _described(action)


def _described(name: str) -> str:
    action = ACTIONS[name]
    lines = [f"{name}: {action.summary}"]
    for parameter in action.parameters:
        default = "optional" if parameter.default is None else f"default {parameter.default}"
        kind = "string" if parameter.kind == "time" else parameter.kind
        lines.append(f"  {parameter.name} ({kind}, {default}): {parameter.summary}")
    return "\n".join(lines)


def _checked(parameter: Parameter, value: Any) -> Any:
    name, kind = f"params.{parameter.name}", parameter.kind
    if value is None and parameter.default is None:
        return None
    if kind in ("string", "time"):
        if not isinstance(value, str):
            raise Refused(f"{name} must be a string, not {_type_name(value)}")
        if kind == "time":
            _check_time(name, value)
        return value
    accepted = int if kind == "integer" else int | float
    if not isinstance(value, accepted) or isinstance(value, bool):
        raise Refused(f"{name} must be {'an integer' if kind == 'integer' else 'a number'}, not {_type_name(value)}")
    if not 0 <= value <= parameter.most:
        raise Refused(f"{name} must be from 0 to {parameter.most:g}")
    return value


def _check_time(name: str, text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise Refused(f"{name} must be an ISO-8601 time such as 2026-11-30 or 2026-11-30T09:00:00Z") from None


def _type_name(value: Any) -> str:
    return _TYPE_NAMES.get(type(value), "an object")


_TYPE_NAMES = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
}
