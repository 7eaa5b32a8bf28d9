"""File + environment → settings, with everything there is to say about them.

Precedence per leaf: environment, file, default. Nothing in a file can make this fail: a wrong value costs its key,
a wrong upstream costs that upstream, a broken file costs the file, and each is reported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bus.errors import ConfigError
from config.address import address_fault
from config.convert import CONNECTION_KEYS, Converter
from config.environment import PREFIX, Override, overrides
from config.fields import fields_of
from config.models import budget_for
from config.place import Place
from config.prefixes import prefix_fault
from config.problems import Problem, printable
from config.read import json_type, parse, read_bytes, repeated_keys
from config.schema import ROOT_FLAGS, SECTIONS, Settings
from config.schema_proxy import ProxySettings
from config.schema_surfacing import RANK_SCALE_CEILING, SurfacingSettings
from config.schema_upstream import UpstreamSettings

LEVELS = ("error", "warning", "note")
MAX_HOLDOUT = 0.5


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration as it was read.

    Attributes:
        settings: complete, whatever the file holds.
        problems: findings, errors first.
        origins: key path → `file` or `environment NAME`; a key that is not in it has its default (`origin`).
        generation: 12 hex digits that change when, and only when, the file or the settings variables change.
        file_error: why the file could not be used; empty when it could, or when there is none.
    """

    settings: Settings
    problems: tuple[Problem, ...] = ()
    origins: dict[str, str] = {}
    generation: str = ""
    file_error: str = ""

    @property
    def error(self) -> str:
        """The first thing that was left out because it is wrong, one line; empty when everything is used."""
        return next((problem.message for problem in self.problems if problem.level == "error"), "")

    def origin(self, key: str) -> str:
        """`default`, `file` or `environment NAME`, for a key path such as `surfacing.min_score`."""
        return self.origins.get(key, "default")


def load_settings(place: Place, env: Mapping[str, str] | None = None) -> Loaded:
    """Reads the configuration of a place; never raises for what is in it. Blocks on the disk for a moment.

    Args:
        env: the environment that speaks (`os.environ` when `None`).
    """
    env = os.environ if env is None else env
    try:
        data = read_bytes(place.config_file)
        document = {} if data is None else parse(data, place.config_file)
    except ConfigError as error:
        return interpret({}, env, place.config_file, b"", error.message)
    return interpret(document, env, place.config_file, data or b"")


def interpret(
    document: dict[str, Any], env: Mapping[str, str], path: Path, data: bytes = b"", file_error: str = ""
) -> Loaded:
    """What a decoded document means in an environment; touches nothing.

    Args:
        path: for messages.
        data: the file's bytes, for the generation.
        file_error: the file's own fault, to be reported first.
    """
    found, problems = overrides(env, document)
    if file_error:
        problems.insert(0, Problem("error", "", file_error))
    for key in repeated_keys(data) if data else ():
        text = f"{path.name}: {key} stands there more than once and the last one counts; keep one"
        problems.append(Problem("warning", key, printable(text)))
    variables: dict[tuple[str, ...], str] = {}
    merged = dict(document)
    for override in found:
        _merge(merged, override, variables)
    converter = Converter(path.name, variables)
    settings = _settings(converter, merged)
    problems = sorted([*problems, *converter.problems], key=lambda problem: LEVELS.index(problem.level))
    return Loaded(
        settings=msgspec.structs.replace(settings, stated=frozenset(converter.stated)),
        problems=tuple(problems),
        origins=dict(_origins(merged, converter)),
        generation=_generation(data, env),
        file_error=file_error,
    )


def _settings(converter: Converter, document: dict[str, Any]) -> Settings:
    """The whole tree: sections and flags by their names, everything else is the proxy's."""
    known = fields_of(ProxySettings)
    proxy: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for key, value in document.items():
        if key in SECTIONS or key in ROOT_FLAGS:
            rest[key] = value
        elif key in known:
            proxy[key] = value
        elif key == "proxy":
            converter.report("warning", (key,), "is ignored: its keys stand at the root of the file")
        else:
            converter.unknown(key, (key,), [*known, *SECTIONS, *ROOT_FLAGS])
    servers = proxy.pop("upstream_servers", None)
    values, _ = converter.values(ProxySettings, proxy, ())
    values["upstream_servers"] = upstreams = _upstreams(converter, servers)
    if "enabled" not in converter.stated:
        values["enabled"] = bool(upstreams)
    elif upstreams and not values["enabled"]:
        count = f"{len(upstreams)} upstream{'s' if len(upstreams) > 1 else ''}"
        converter.report("note", ("enabled",), f"is false, so the tools of {count} are not shown; set it to true")
    sections, _ = converter.values(Settings, rest, ())
    settings = Settings(proxy=ProxySettings(**values), **sections)
    return msgspec.structs.replace(settings, surfacing=_surfacing(converter, settings))


def _upstreams(converter: Converter, raw: Any) -> dict[str, UpstreamSettings]:
    """The usable upstreams; the others are reported and left out."""
    root = ("upstream_servers",)
    if raw is not None and not isinstance(raw, dict):
        converter.report("error", root, f"must be an object of servers by name, not {json_type(raw)}")
    servers: dict[str, Any] = raw if isinstance(raw, dict) else {}
    usable: dict[str, UpstreamSettings] = {}
    owners: dict[str, str] = {}
    for name, entry in servers.items():
        upstream = _upstream(converter, name, entry, alone=len(servers) == 1)
        if upstream is None:
            continue
        owner = owners.setdefault(upstream.prefix, name)
        if owner == name:
            usable[name] = upstream
        else:
            text = f"is the prefix of {owner} already; choose another. The upstream is left out"
            converter.report("error", (*root, name, "prefix"), text)
    return usable


def _upstream(converter: Converter, name: str, raw: Any, *, alone: bool) -> UpstreamSettings | None:
    path = ("upstream_servers", name)
    if not name or not name.isprintable():
        converter.report("error", path, "is no name: it is empty or not printable; the upstream is left out")
        return None
    if not isinstance(raw, dict):
        converter.report("error", path, f"must be an object, not {json_type(raw)}; the upstream is left out")
        return None
    values, failed = converter.values(UpstreamSettings, raw, path, required=CONNECTION_KEYS, whole="the upstream")
    if failed & CONNECTION_KEYS:
        return None
    if "prefix" not in values:
        converter.report("error", (*path, "prefix"), 'is missing; add "prefix". The upstream is left out')
        return None
    if "transport" not in raw and values.get("url") and not values.get("command"):
        values["transport"] = "streamable_http"
    upstream = UpstreamSettings(**values)
    needed = "command" if upstream.transport == "stdio" else "url"
    if not getattr(upstream, needed):
        text = f"is missing, which transport {upstream.transport} needs. The upstream is left out"
        converter.report("error", (*path, needed), text)
        return None
    if upstream.transport != "stdio" and (fault := address_fault(upstream.url)):
        converter.report("error", (*path, "url"), f"{fault}. The upstream is left out")
        return None
    if fault := prefix_fault(upstream.prefix, alone=alone):
        converter.report("error", (*path, "prefix"), f"{fault}. The upstream is left out")
        return None
    return upstream


def _surfacing(converter: Converter, settings: Settings) -> SurfacingSettings:
    """Unset caps follow the model; thresholds of the old rank scale are replaced by the default."""
    surfacing, defaults = settings.surfacing, SurfacingSettings()
    changes: dict[str, Any] = {}
    budget = budget_for(surfacing.consumer_model or settings.proxy.consumer_model)
    for key in ("max_injection_chars", "max_results"):
        if f"surfacing.{key}" not in converter.stated:
            changes[key] = getattr(budget, key)
    for key in ("min_score", "auto_tune_score_floor", "auto_tune_score_ceiling"):
        if getattr(surfacing, key) < RANK_SCALE_CEILING:
            changes[key] = getattr(defaults, key)
            text = f"was meant for the rank scale of memtomem-stm; {changes[key]} is used. Remove it or set 0.06 to 1"
            converter.report("warning", ("surfacing", key), text)
    tools = dict(surfacing.context_tools)
    for name, tool in tools.items():
        if tool.min_score is not None and tool.min_score < RANK_SCALE_CEILING:
            tools[name] = msgspec.structs.replace(tool, min_score=None)
            text = "was meant for the rank scale of memtomem-stm and is ignored. Remove it or set 0.06 to 1"
            converter.report("warning", ("surfacing", "context_tools", name, "min_score"), text)
    if surfacing.holdout_rate > MAX_HOLDOUT:
        changes["holdout_rate"] = MAX_HOLDOUT
        converter.report("warning", ("surfacing", "holdout_rate"), f"is cut to {MAX_HOLDOUT}")
    return msgspec.structs.replace(surfacing, context_tools=tools, **changes)


def _merge(document: dict[str, Any], override: Override, variables: dict[tuple[str, ...], str]) -> None:
    """Lays one variable over the document: objects are merged per leaf, everything else is replaced."""
    if not override.path:
        for name, item in override.value.items():
            _merge(document, override._replace(path=(name,), value=item), variables)
        return
    node = document
    for step in override.path[:-1]:
        below = node.get(step)
        node[step] = dict(below) if isinstance(below, dict) else {}
        node = node[step]
    key = override.path[-1]
    if isinstance(override.value, dict) and isinstance(node.get(key), dict):
        node[key] = dict(node[key])
        for name, item in override.value.items():
            _merge(document, override._replace(path=(*override.path, name), value=item), variables)
        return
    node[key] = override.value
    variables[override.path] = override.variable


def _origins(node: dict[str, Any], converter: Converter, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    for key, value in node.items():
        here = (*path, key)
        variable = converter.origin(here)
        yield ".".join(here), f"environment {variable}" if variable else "file"
        if isinstance(value, dict):
            yield from _origins(value, converter, here)


def _generation(data: bytes, env: Mapping[str, str]) -> str:
    digest = hashlib.sha256(data)
    for name in sorted(name for name in env if name.upper().startswith(PREFIX)):
        digest.update(f"\0{name}={env[name]}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:12]
