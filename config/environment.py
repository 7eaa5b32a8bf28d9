"""`MEMTOMEM_STM_<SECTION>__<FIELD>` variables: which key each one sets, and which are unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from config.fields import Block, Field, Scope, fields_of
from config.keys import declaration, decode
from config.place import CONFIG_VARIABLE, HOME_VARIABLES
from config.problems import Problem, did_you_mean
from config.schema import ROOT_FLAGS, SECTIONS, Settings
from config.schema_proxy import ProxySettings

PREFIX = "MEMTOMEM_STM_"
TOKEN_VARIABLE = "MEMTOMEM_STM_HTTP_TOKEN"  # noqa: S105
SURFACE_TOOLS_VARIABLE = "MEMTOMEM_STM_HOOK_SURFACE_TOOLS"
READ_ELSEWHERE = frozenset({*HOME_VARIABLES, CONFIG_VARIABLE, TOKEN_VARIABLE})


class Override(NamedTuple):
    """One variable that sets a key.

    Attributes:
        path: the key in the file's terms.
        value: decoded where the key holds a list, a map or a block; else the text.
        scope: who decides about the key.
    """

    variable: str
    path: tuple[str, ...]
    value: Any
    scope: Scope


def overrides(env: Mapping[str, str], document: Mapping[str, Any]) -> tuple[list[Override], list[Problem]]:
    """What the environment sets, wider keys first, and what in it is not understood.

    Args:
        document: the file's content; names of upstreams in variables match its names without regard to case.
    """
    found: list[Override] = []
    problems: list[Problem] = []
    for variable, text in sorted(env.items()):
        if not variable.upper().startswith(PREFIX) or variable.upper() in READ_ELSEWHERE:
            continue
        target = _target(variable, document)
        if target is None:
            hint = did_you_mean(variable.upper(), known_variables(), lead=PREFIX)
            problems.append(Problem("warning", "", f"unknown environment variable {variable} is ignored{hint}"))
            continue
        path, field = target
        if variable.upper() == SURFACE_TOOLS_VARIABLE:
            found.append(Override(variable, path, [w.strip() for w in text.split(",") if w.strip()], "cluster"))
            continue
        try:
            value = decode(text, field)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            key = ".".join(path)
            problems.append(
                Problem("error", key, f"{variable}: {key} takes JSON (a list or an object); the variable is ignored")
            )
            continue
        if not path and value is not msgspec.UNSET and not isinstance(value, dict):
            problems.append(Problem("error", "", f"{variable} takes a JSON object; the variable is ignored"))
        elif value is not msgspec.UNSET:
            found.append(Override(variable, path, value, field.scope if field else "cluster"))
    found.sort(key=lambda override: len(override.path))
    return found, problems


def cluster_environment(env: Mapping[str, str]) -> dict[str, str]:
    """The settings variables that speak for a whole cluster: those that whoever starts one freezes.

    Session-scoped ones (`config.session`) are left out, each client has its own.
    """
    chosen = {o.variable for o in overrides(env, {})[0] if o.scope == "cluster"}
    return {name: text for name, text in env.items() if name in chosen}


def without_session(env: Mapping[str, str]) -> dict[str, str]:
    """An environment without its session-scoped settings: for the processes of a cluster, which serve all clients."""
    own = {o.variable for o in overrides(env, {})[0] if o.scope == "session"}
    return {name: text for name, text in env.items() if name not in own}


def differing(env: Mapping[str, str], frozen: Mapping[str, str]) -> list[str]:
    """Cluster-scoped variables of a client whose values are not those the cluster was started with."""
    return sorted(name for name, text in cluster_environment(env).items() if frozen.get(name) != text)


def known_variables() -> Iterator[str]:
    """Every variable with a fixed name."""
    yield from READ_ELSEWHERE
    yield SURFACE_TOOLS_VARIABLE
    yield from (PREFIX + name.upper() for name in ROOT_FLAGS)
    for section in ("proxy", *SECTIONS):
        block = fields_of(Settings)[section].block
        assert block is not None
        yield f"{PREFIX}{section.upper()}"
        yield from _names(f"{PREFIX}{section.upper()}", block)


def _names(start: str, block: type[Block]) -> Iterator[str]:
    for field in fields_of(block).values():
        name = f"{start}__{field.name.upper()}"
        yield name
        if field.block:
            yield from _names(name, field.block)


def _target(variable: str, document: Mapping[str, Any]) -> tuple[tuple[str, ...], Field | None] | None:
    """The key path that a variable sets and its declaration (`None` inside a map of texts)."""
    if variable.upper() == SURFACE_TOOLS_VARIABLE:
        return ("hook", "surface_tools"), None
    head, *rest = variable[len(PREFIX) :].split("__")
    head = head.lower()
    if head in ROOT_FLAGS:
        return None if rest else ((head,), fields_of(Settings)[head])
    if head != "proxy" and head not in SECTIONS:
        return None
    start = fields_of(Settings)[head]
    if not rest:
        return (() if head == "proxy" else (head,)), start
    if head == "proxy":
        return declaration(ProxySettings, rest, document, fold=True)
    assert start.block is not None
    return declaration(start.block, rest, document.get(head), path=(head,), fold=True)
