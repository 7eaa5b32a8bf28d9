"""`mms show NAME` and `mms set NAME KEY=VALUE…`: one upstream's keys without editing JSON."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from cli.context import current_place, usable_settings
from cli.output import Answer, Failure, answers, printable, table
from cli.upstream_entries import require, servers_of, unusable
from config.edit import edit
from config.keys import declaration, decode, holds
from config.leaves import leaves
from config.load import interpret
from config.mask import mask_document
from config.place import Place
from config.problems import did_you_mean
from config.read import read_file
from config.schema_upstream import UpstreamSettings

ROOT = "upstream_servers"
_CONSEQUENCE = re.compile(r"[;.] (?:[^;]* is used|[^;.]* is left out)$")
"""What follows from a wrong value that stands in the file, and not from one that is refused."""


@click.command("show", short_help="Every key of one upstream server.")
@click.argument("name")
@answers
def show(name: str) -> Answer:
    """Print every key of one upstream server, where its value comes from, and what it means.

    \b
    Example:
      mms show fs
    """
    place = current_place()
    loaded = usable_settings(place)
    if name not in loaded.settings.proxy.upstream_servers:
        require(read_file(place.config_file) or {}, name)
        raise unusable(name)
    start = f"{ROOT}.{name}."
    rows = [
        {
            "key": leaf.key.removeprefix(start),
            "value": mask_document(msgspec.to_builtins(leaf.value), leaf.key.rpartition(".")[2]),
            "origin": loaded.origin(leaf.key),
            "text": leaf.text,
        }
        for leaf in leaves(loaded.settings)
        if leaf.key.startswith(start) and leaf.effect
    ]
    cells = [(row["key"], _cell(row), row["origin"], row["text"]) for row in rows]
    return Answer(data={"name": name, "keys": rows}, text=table(("KEY", "VALUE", "ORIGIN", "MEANING"), cells))


@click.command("set", short_help="Change keys of one upstream server.")
@click.argument("name")
@click.argument("assignments", metavar="KEY=VALUE...", nargs=-1)
@click.option("--unset", multiple=True, metavar="KEY", help="Remove a key, so that its default holds again.")
@answers
def set_keys(name: str, assignments: tuple[str, ...], unset: tuple[str, ...]) -> Answer:
    """Change keys of one upstream server. Lists and maps are JSON; dots lead into blocks and tools.

    \b
    Examples:
      mms set fs compression=hybrid max_result_chars=8000
      mms set fs tool_overrides.read_file.hidden=true 'env.TOKEN=${TOKEN}'
      mms set fs --unset compression
    """
    if not assignments and not unset:
        raise click.UsageError("give KEY=VALUE, or --unset KEY")
    place = current_place()
    pairs = [_split(text) for text in assignments]

    def change(document: dict[str, Any]) -> dict[str, Any]:
        require(document, name)
        entry = servers_of(document)[name]
        if not isinstance(entry, dict):
            raise unusable(name)
        for key, text in pairs:
            path, value = _value(entry, key, text)
            entry = _put(entry, path, value)
        for key in unset:
            entry = _remove(entry, key.split("."), key)
        changed = document | {ROOT: {**servers_of(document), name: entry}}
        _refuse_new_errors(place, document, changed)
        return changed

    edit(place, change)
    keys = [key for key, _ in pairs] + list(unset)
    return Answer(data={"name": name, "keys": keys}, talk=f"{name}: changed {', '.join(map(printable, keys))}")


def _cell(row: dict[str, Any]) -> str:
    """A value in the table. An imported entry carries its whole source, which --json shows."""
    value = row["value"]
    if row["key"] == "origin" and isinstance(value, dict):
        value = value.get("source")
    return msgspec.json.encode(value).decode()


def _split(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.UsageError(f"{printable(key)}: give KEY=VALUE")
    return key, value


def _value(entry: dict[str, Any], key: str, text: str) -> tuple[tuple[str, ...], Any]:
    """Where a key leads, and its value.

    Raises:
        Failure: there is no such key, or its value is not the JSON that it takes.
    """
    found = declaration(UpstreamSettings, key.split("."), entry)
    if found is None:
        head = key.split(".")[0]
        hint = did_you_mean(head, UpstreamSettings.__struct_fields__) if head == key else ""
        raise Failure("unknown_key", f"an upstream has no key {printable(key)}{hint or '; `mms show NAME` lists them'}")
    path, field = found
    try:
        value = decode(text, field)
    except msgspec.DecodeError:
        raise Failure("bad_value", f'{printable(key)} takes JSON, e.g. \'["a"]\' or \'{{"k": "v"}}\'') from None
    if value is msgspec.UNSET:
        raise Failure("bad_value", f"{printable(key)} takes no empty value; --unset {printable(key)} removes it")
    if value is text and field is not None and not holds(field.type, str):
        # Switches, numbers and null are stored as what they are; a word (compression=hybrid) is no JSON and stays.
        with contextlib.suppress(msgspec.DecodeError):
            value = msgspec.json.decode(text)
    return path, value


def _put(node: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    if len(path) == 1:
        return node | {path[0]: value}
    below = node.get(path[0])
    return node | {path[0]: _put(below if isinstance(below, dict) else {}, path[1:], value)}


def _remove(node: dict[str, Any], path: Sequence[str], key: str) -> dict[str, Any]:
    if path[0] not in node:
        raise Failure("unknown_key", f"the key {printable(key)} is not in the file")
    if len(path) == 1:
        return {name: value for name, value in node.items() if name != path[0]}
    below = node[path[0]]
    return node | {path[0]: _remove(below if isinstance(below, dict) else {}, path[1:], key)}


def _refuse_new_errors(place: Place, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Raises a `Failure` with the first error that the change would bring, to this upstream or to another."""

    def errors(document: dict[str, Any]) -> list[str]:
        problems = interpret(document, os.environ, place.config_file).problems
        return [problem.message for problem in problems if problem.level == "error"]

    known = errors(before)
    if new := [message for message in errors(after) if message not in known]:
        raise Failure("bad_value", f"nothing was changed: {_CONSEQUENCE.sub('', new[0])}")
