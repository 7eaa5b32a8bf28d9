"""The servers that a person's MCP clients know, as upstreams of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bus.errors import ConfigError
from cli.client_file import read_document
from cli.host_entry import convert, is_gateway
from cli.hosts import Source, hosts, project_sources
from cli.output import Failure, printable
from cli.upstream_entries import NAME, insert, plain_secrets, prefix_from, servers_of
from config.load import interpret
from config.place import Place

ORIGIN_VERSION = 1
MAX_PREFIX = 24
"""Characters; tool names have to fit into 64 with it."""
CONNECTION = ("transport", "command", "args", "env", "cwd", "url", "headers")


class Candidate(NamedTuple):
    """A server that a client knows.

    Attributes:
        name: the client's name for it.
        kind: where it stands: `claude-user`, `claude-project`, `mcp-json`, …
        original: the client's entry, verbatim.
        entry: as ours, without a prefix; empty when it cannot be used.
        remarks: what a person should know about it.
        fault: why it cannot be used; empty when it can.
    """

    name: str
    source: Source
    kind: str
    original: Any
    entry: Mapping[str, Any]
    remarks: Sequence[str]
    fault: str

    @property
    def label(self) -> str:
        return f"{printable(self.name)} ({self.kind})"


class Discovered(NamedTuple):
    """Everything found, and the files that could not be read."""

    candidates: list[Candidate]
    problems: list[str]


class Imported(NamedTuple):
    """What became of a candidate: the name and prefix it got, or why it was left out."""

    candidate: Candidate
    name: str = ""
    prefix: str = ""
    skipped: str = ""
    remarks: Sequence[str] = ()


def discover(env: Mapping[str, str], clients: Iterable[str], folder: Path | None) -> Discovered:
    """Reads the clients' configurations; what cannot be read is reported and costs only itself.

    Args:
        folder: the project whose own files are read, too; `None` for none.
    """
    known = hosts(env)
    wanted = set(clients)
    sources = [known[name].user for name in known if name in wanted]
    sources += _shipped(env, wanted, folder) if folder else []
    found = Discovered([], [])
    for source in sources:
        try:
            found.candidates.extend(_candidates(source, read_document(source)))
        except ConfigError as error:
            found.problems.append(error.message)
    return found


def shipped_files(env: Mapping[str, str], clients: Iterable[str], folder: Path) -> list[Path]:
    """The project's own files that are there and would need the person's consent."""
    return [source.path for source in _shipped(env, set(clients), folder) if source.path.is_file()]


def take(
    place: Place, document: dict[str, Any], chosen: Iterable[Candidate], env: Mapping[str, str]
) -> tuple[dict[str, Any], list[Imported]]:
    """The document with the chosen servers in it, and what became of each. Names and prefixes that are taken get a
    number; a connection that is there already is not added again. Pure."""
    outcomes: list[Imported] = []
    added: set[str] = set()
    for candidate in chosen:
        if candidate.fault:
            outcomes.append(Imported(candidate, skipped=candidate.fault))
            continue
        twin = _twin(document, candidate.entry)
        if twin is not None:
            if twin in added:
                document = _with_duplicate(document, twin, candidate)
            outcomes.append(Imported(candidate, skipped=f"is {printable(twin)} already"))
            continue
        name = _free(_name_from(candidate.name), servers_of(document), "-")
        prefixes = [entry.get("prefix") for entry in servers_of(document).values() if isinstance(entry, dict)]
        prefix = _free(prefix_from(name)[:MAX_PREFIX].rstrip("_"), [*prefixes, "stm", "mms"], "_")
        entry = {"prefix": prefix, **candidate.entry, "origin": _origin(candidate)}
        try:
            changed = insert(document, name, entry)
        except Failure as failure:
            outcomes.append(Imported(candidate, skipped=failure.message))
            continue
        problems = interpret({"upstream_servers": {name: entry}}, env, place.config_file).problems
        key = f"upstream_servers.{name}"
        fault = next((p.message for p in problems if p.level == "error" and p.key.startswith(key)), "")
        if fault:
            outcomes.append(Imported(candidate, skipped=fault))
            continue
        document = changed
        added.add(name)
        remarks = [f"{name} {remark}" for remark in candidate.remarks]
        if plain_secrets(entry):
            remarks.append(f"{name} brought a credential; it is kept in {place.config_file} (mode 0600)")
        outcomes.append(Imported(candidate, name, prefix, remarks=remarks))
    return document, outcomes


def _shipped(env: Mapping[str, str], clients: set[str], folder: Path) -> list[Source]:
    """The project's own files. In the home directory, some of them are the user's."""
    own = {host.user.path for host in hosts(env).values()}
    return [source for source in project_sources(folder) if source.client in clients and source.path not in own]


def _candidates(source: Source, document: dict[str, Any]) -> Iterator[Candidate]:
    yield from _servers(source, source.kind, document.get(source.key), source.folder)
    projects = document.get("projects") if source.kind == "claude-user" else None
    for folder, project in projects.items() if isinstance(projects, dict) else ():
        # Clients remember projects that are long gone.
        if isinstance(project, dict) and Path(folder).is_dir():
            yield from _servers(source, "claude-project", project.get("mcpServers"), Path(folder))


def _servers(source: Source, kind: str, servers: Any, folder: Path | None) -> Iterator[Candidate]:
    if not isinstance(servers, dict):
        return
    for name, original in servers.items():
        if is_gateway(original):
            continue
        try:
            entry, remarks = convert(original, source, folder)
            yield Candidate(name, source, kind, original, entry, remarks, "")
        except ValueError as error:
            yield Candidate(name, source, kind, original, {}, (), printable(str(error)))


def _origin(candidate: Candidate) -> dict[str, Any]:
    return {
        "schema_version": ORIGIN_VERSION,
        "source": {"kind": candidate.kind, "path": str(candidate.source.path), "pruned": False, "pruned_at": None},
        "duplicates": [],
        "imported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        # TOML has dates, which JSON writes as texts.
        "original": json.loads(json.dumps(candidate.original, default=str)),
    }


def _with_duplicate(document: dict[str, Any], name: str, candidate: Candidate) -> dict[str, Any]:
    servers = servers_of(document)
    origin = servers[name]["origin"]
    where = {"kind": candidate.kind, "path": str(candidate.source.path), "name": candidate.name}
    entry = servers[name] | {"origin": origin | {"duplicates": [*origin["duplicates"], where]}}
    return document | {"upstream_servers": {**servers, name: entry}}


def _twin(document: Mapping[str, Any], entry: Mapping[str, Any]) -> str | None:
    """The upstream that is reached in the very same way."""
    wanted = _connection(entry)
    servers = servers_of(document).items()
    return next((name for name, other in servers if isinstance(other, dict) and _connection(other) == wanted), None)


def _connection(entry: Mapping[str, Any]) -> dict[str, Any]:
    stated = {key: entry[key] for key in CONNECTION if entry.get(key)}
    return {"transport": "streamable_http" if "url" in stated else "stdio"} | stated


def _name_from(name: str) -> str:
    """A name of ours made of a client's."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).lstrip("_.-").rstrip("-")[:60]
    return cleaned if NAME.fullmatch(cleaned) else "server"


def _free(wanted: str, taken: Iterable[Any], joiner: str) -> str:
    """`wanted`, or with the first number from 2 on that is free."""
    present = {str(name).lower() for name in taken}
    number, name = 1, wanted
    while name.lower() in present:
        number += 1
        name = f"{wanted}{joiner}{number}"
    return name
