"""Entries of `upstream_servers` in a configuration document: pure, no disk and no cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cli.output import Failure, printable
from config.mask import is_secret_name, mask_args, mask_text
from config.prefixes import prefix_fault
from config.problems import did_you_mean
from config.read import json_type

Entry = dict[str, Any]

BUILTIN = "builtin"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def insert(document: dict[str, Any], name: str, entry: Entry) -> dict[str, Any]:
    """The document with the new upstream.

    Raises:
        Failure: the name or prefix is taken, or the prefix cannot be used.
    """
    servers = servers_of(document)
    if name in servers:
        raise Failure("already_exists", f"{name} exists already; remove it first, or choose another name")
    if name == BUILTIN:
        raise Failure("bad_name", f"{name} is what statistics call the tools of the host (mms hook); choose another")
    if fault := prefix_fault(entry["prefix"], alone=not servers):
        raise Failure("bad_prefix", f"the prefix {entry['prefix']!r} {fault} (--prefix)")
    for other, present in servers.items():
        taken = present.get("prefix") if isinstance(present, dict) else None
        if taken == entry["prefix"]:
            raise Failure(
                "prefix_taken", f"the prefix {taken} belongs to {printable(other)}; choose another (--prefix)"
            )
        if taken == "":
            raise Failure("prefix_taken", f"{printable(other)} has no prefix, which only a single upstream may have")
    changed = document | {"upstream_servers": {**servers, name: entry}}
    # memtomem-stm reads the same file, and an absent key means `false` to it.
    return {"enabled": True} | changed


def prefix_from(name: str) -> str:
    """A prefix made of a name: other characters become one underscore."""
    prefix = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
    return prefix if prefix[:1].isalpha() else f"s{prefix}"


def plain_secrets(entry: Entry) -> list[tuple[str, str]]:
    """Where a credential stands in the entry as it is, and the variable that could hold it."""
    found: list[tuple[str, str]] = []
    for option, key in (("--env", "env"), ("--header", "headers")):
        for name, value in (entry.get(key) or {}).items():
            if is_secret_name(name) and "${" not in value:
                found.append((f"{option} {name}", re.sub(r"\W", "_", name).upper()))
    arguments = list(entry.get("args", ()))
    if mask_args(arguments) != arguments:
        found.append(("an argument that looks like a credential", "TOKEN"))
    if mask_text(entry.get("url") or "") != (entry.get("url") or ""):
        found.append(("a credential in the address", "TOKEN"))
    return found


def servers_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The upstream entries of a document, whatever they are.

    Raises:
        Failure: what stands in their place is no object, so that a change would lose it.
    """
    servers = document.get("upstream_servers")
    if servers is None:
        return {}
    if not isinstance(servers, dict):
        text = (
            f"upstream_servers must be an object of servers by name, not {json_type(servers)}; correct the file first"
        )
        raise Failure("config_error", text)
    return servers


def require(document: Mapping[str, Any], name: str) -> None:
    """Raises a `Failure` when the file has no upstream of that name."""
    servers = servers_of(document)
    if name not in servers:
        hint = did_you_mean(name, servers) or "; `mms list` shows them"
        raise Failure("unknown_upstream", f"there is no upstream {printable(name)} in the file{hint}")


def unusable(name: str) -> Failure:
    """The upstream is in the file, and its entry is wrong."""
    return Failure("invalid_upstream", f"{name} cannot be used as it stands; `mms config validate` says why")
