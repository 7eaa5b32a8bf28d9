"""`mms add`, `list`, `remove`, `enable`, `disable`, `surfacing`: the upstream servers in the configuration file.

All of them work with no cluster running. What only a running one knows (a probe before adding, live states) comes in
through `add_command` and `list_command`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import click

from cli.context import as_data, current_place, usable_settings
from cli.output import USAGE, Answer, Cell, Failure, Role, answers, is_terminal, printable, table
from cli.upstream_entries import NAME, Entry, insert, plain_secrets, prefix_from, require, servers_of, unusable
from config.address import address_fault
from config.edit import edit
from config.load import Loaded, load_settings
from config.place import Place
from config.policy import tool_policy
from config.read import read_file
from config.schema import Settings
from config.schema_upstream import Strategy, Transport

Probe = Callable[[Place, str, Entry], Sequence[str]]
"""Starts a server as the cluster would and returns the names of its tools.

Raises:
    BusError: it does not start, answer or list its tools.
"""


class LiveState(NamedTuple):
    """What a running cluster says about a server: `ready`, `failed`, … and how many of its tools are shown."""

    state: str
    tools: int


Live = Callable[[Place], Mapping[str, LiveState]]
"""The live states by name; empty when no cluster runs."""

COLUMNS = ("NAME", "PREFIX", "TRANSPORT", "COMPRESSION", "CACHE", "SURFACING", "STATE", "TOOLS")


def add_command(probe: Probe | None) -> click.Command:
    """`mms add`, probing the server with `probe` unless `--no-check`; without a probe it is added unchecked."""

    @click.command("add", short_help="Add an upstream server.")
    @click.argument("name")
    @click.argument("words", metavar="[-- COMMAND ARG...]", nargs=-1, type=click.UNPROCESSED)
    @click.option("--prefix", help="Leading part of its tool names (default: from NAME).")
    @click.option("--command", help="Program, instead of `-- COMMAND`.")
    @click.option("--args", "arguments", help="Its arguments in one shell-quoted text, with --command.")
    @click.option("--env", "env", multiple=True, metavar="K=V", help="Variable for it; V may be '${VAR}'.")
    @click.option("--cwd", help="Its working directory.")
    @click.option("--url", help="Address of an HTTP server.")
    @click.option("--transport", type=click.Choice(get_args(Transport)), help="Default: by command or address.")
    @click.option("--header", "headers", multiple=True, metavar="K=V", help="HTTP header; V may hold '${VAR}'.")
    @click.option("--compression", type=click.Choice(get_args(Strategy)), help="Strategy for its responses.")
    @click.option("--max-chars", type=click.IntRange(min=1), help="Budget of a response, characters.")
    @click.option("--no-check", is_flag=True, help="Do not start it first.")
    @answers
    def add(
        name: str,
        words: tuple[str, ...],
        prefix: str | None,
        command: str | None,
        arguments: str | None,
        env: tuple[str, ...],
        cwd: str | None,
        url: str | None,
        transport: str | None,
        headers: tuple[str, ...],
        compression: str | None,
        max_chars: int | None,
        no_check: bool,
    ) -> Answer:
        """Add an upstream server to the configuration.

        \b
        Examples:
          mms add fs -- npx -y @modelcontextprotocol/server-filesystem ~/src
          mms add github --url https://api.example.org/mcp --header 'Authorization=Bearer ${GITHUB_TOKEN}'
        """
        if not NAME.fullmatch(name):
            raise Failure("usage", f"{printable(name)}: a name is letters, digits, '.', '_' and '-', 64 at most", USAGE)
        if url and (env or cwd):
            raise click.UsageError("--env and --cwd are for a program; an address takes --header")
        if not url and headers:
            raise click.UsageError("--header belongs to --url; a program takes --env")
        entry = {
            "prefix": prefix_from(name) if prefix is None else prefix,
            **_connection(words, command, arguments, url, transport),
            "env": _pairs(env, "--env"),
            "cwd": cwd,
            "headers": _pairs(headers, "--header"),
            "compression": compression,
            "max_result_chars": max_chars,
        }
        entry = {key: value for key, value in entry.items() if value is not None}
        place = current_place()
        # Checked before the server is started, and again under the lock.
        insert(read_file(place.config_file) or {}, name, entry)
        tools = [] if no_check or probe is None else list(probe(place, name, entry))
        edit(place, lambda document: insert(document, name, entry))
        said = [f"added {name} to {place.config_file}"]
        said += not_shown(load_settings(place))
        if no_check or probe is None:
            said.append("not checked; `mms tools` starts it and shows its tools")
        said += [
            f"{where} is stored in the file as it is; '${{{variable}}}' would keep it in the environment"
            for where, variable in plain_secrets(entry)
        ]
        return Answer(
            data={
                "name": name,
                "prefix": entry["prefix"],
                "checked": not no_check and probe is not None,
                "tools": tools,
            },
            text="\n".join(printable(tool) for tool in tools),
            talk="\n".join(said),
        )

    return add


def list_command(live: Live | None) -> click.Command:
    """`mms list`, with the states that `live` knows."""

    @click.command("list", short_help="List the upstream servers.")
    @answers
    def list_upstreams() -> Answer:
        """List the upstream servers.

        \b
        Example:
          mms list --json
        """
        place = current_place()
        loaded = usable_settings(place)
        states = live(place) if live else {}
        raw = servers_of(read_file(place.config_file) or {})
        names = [*raw, *(name for name in loaded.settings.proxy.upstream_servers if name not in raw)]
        rows = [_row(loaded.settings, name, states.get(name)) for name in names]
        shown = [[_styled(value) if key == "state" else value for key, value in row.items()] for row in rows]
        talk = "".join(not_shown(loaded))
        return Answer(
            data={"upstreams": rows, "problems": as_data(loaded.problems)},
            text=table(COLUMNS, shown) if rows else "",
            talk=talk if rows else "no upstream servers yet; `mms add NAME -- COMMAND` adds one",
        )

    return list_upstreams


@click.command("remove", short_help="Remove an upstream server.")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@answers
def remove(name: str, yes: bool) -> Answer:
    """Remove an upstream server from the configuration; the previous file stays as .bak.

    \b
    Example:
      mms remove fs --yes
    """
    place = current_place()
    require(read_file(place.config_file) or {}, name)
    if not yes:
        if not is_terminal(sys.stdin):
            raise Failure("consent_missing", f"removing {name} needs --yes", USAGE)
        if not click.confirm(f"Remove {name}?", err=True):
            raise Failure("consent_missing", "nothing was removed", USAGE)

    def change(document: dict[str, Any]) -> dict[str, Any]:
        require(document, name)
        rest = {other: entry for other, entry in servers_of(document).items() if other != name}
        return document | {"upstream_servers": rest}

    edit(place, change)
    return Answer(data={"name": name}, talk=f"removed {name}")


@click.command("enable", short_help="Start and show an upstream server again.")
@click.argument("name")
@answers
def enable(name: str) -> Answer:
    """Start an upstream server and show its tools again.

    \b
    Example:
      mms enable fs
    """
    return _switch(name, "enabled", on=True)


@click.command("disable", short_help="Stop an upstream server and keep its entry.")
@click.argument("name")
@answers
def disable(name: str) -> Answer:
    """Stop an upstream server and hide its tools; its entry stays.

    \b
    Example:
      mms disable fs
    """
    return _switch(name, "enabled", on=False)


@click.command("surfacing", short_help="Show or set surfacing for an upstream server.")
@click.argument("name")
@click.argument("state", required=False, type=click.Choice(["on", "off"]))
@answers
def surfacing(name: str, state: str | None) -> Answer:
    """Show or set whether memories are surfaced beside an upstream's responses.

    \b
    Examples:
      mms surfacing fs
      mms surfacing fs off
    """
    if state is not None:
        return _switch(name, "surfacing_enabled", on=state == "on")
    place = current_place()
    require(read_file(place.config_file) or {}, name)
    upstream = usable_settings(place).settings.proxy.upstream_servers.get(name)
    if upstream is None:
        raise unusable(name)
    on = upstream.surfacing_enabled
    return Answer(data={"name": name, "surfacing_enabled": on}, text="on" if on else "off")


def _switch(name: str, key: str, *, on: bool) -> Answer:
    place = current_place()

    def change(document: dict[str, Any]) -> dict[str, Any] | None:
        require(document, name)
        entry = servers_of(document)[name]
        if not isinstance(entry, dict):
            raise unusable(name)
        if entry.get(key, True) is on:
            return None
        return document | {"upstream_servers": {**servers_of(document), name: entry | {key: on}}}

    changed = edit(place, change)
    what = {"enabled": "server", "surfacing_enabled": "surfacing"}[key]
    said = f"{name}: {what} {'on' if on else 'off'}{'' if changed else ' already'}"
    return Answer(data={"name": name, key: on, "changed": changed}, talk=said)


def _connection(
    words: Sequence[str], command: str | None, arguments: str | None, url: str | None, transport: str | None
) -> Entry:
    """The keys that say how the server is reached."""
    if words and command:
        raise click.UsageError("give the program once: after `--`, or with --command")
    if arguments is not None and not command:
        raise click.UsageError("--args goes with --command")
    if command:
        try:
            words = [command, *shlex.split(arguments or "")]
        except ValueError as error:
            raise click.UsageError(f"--args cannot be read: {str(error).lower()}") from None
    if bool(words) == bool(url):
        raise click.UsageError("give a program (`-- COMMAND ARG...`) or an address (--url), one of them")
    if words and not words[0].strip():
        raise click.UsageError("the program is empty; give `-- COMMAND ARG...`")
    if words:
        if transport not in (None, "stdio"):
            raise click.UsageError(f"--transport {transport} needs --url")
        return {"transport": "stdio", "command": _from_here(words[0]), "args": list(words[1:])}
    if transport == "stdio":
        raise click.UsageError("--transport stdio needs a program")
    if fault := address_fault(url or ""):
        raise click.UsageError(f"--url {fault}")
    return {"transport": transport or "streamable_http", "url": url}


def _from_here(program: str) -> str:
    """A path that is relative to the present folder, made absolute: servers start elsewhere."""
    path = Path(program)
    return str(path.absolute()) if "/" in program and path.exists() else program


def _pairs(texts: Sequence[str], option: str) -> dict[str, str] | None:
    pairs: dict[str, str] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign and option == "--header":
            key, sign, value = text.partition(":")
        if not sign or not key.strip():
            raise click.UsageError(f"{option} takes K=V")
        pairs[key.strip()] = value.strip() if option == "--header" else value
    return pairs or None


def not_shown(loaded: Loaded) -> list[str]:
    """A line that says why no tools are shown at all; nothing when they are."""
    if loaded.settings.proxy.enabled:
        return []
    cause = '"enabled" is false' if "enabled" in loaded.settings.stated else "it has no upstream that can be used"
    return [f"no tools are shown: in the configuration, {cause}; `mms config validate` says more"]


def _styled(state: str) -> Cell | str:
    roles: dict[str, Role] = {"ready": "good", "failed": "bad", "invalid": "bad", "disabled": "dim"}
    return Cell(state, roles[state]) if state in roles else state


def _row(settings: Settings, name: str, live: LiveState | None) -> dict[str, Any]:
    """One upstream as `mms list` shows it."""
    upstream = settings.proxy.upstream_servers.get(name)
    if upstream is None:
        return dict.fromkeys((column.lower() for column in COLUMNS), None) | {"name": name, "state": "invalid"}
    policy = tool_policy(settings, name, "")
    cache = {True: "on", False: "off", None: settings.proxy.cache.tool_annotation_policy}[policy.cache]
    state = live.state if live else "enabled" if upstream.enabled and settings.proxy.enabled else "disabled"
    return {
        "name": name,
        "prefix": upstream.prefix,
        "transport": upstream.transport,
        "compression": policy.strategy,
        "cache": cache,
        "surfacing": "on" if policy.surfacing_enabled else "off",
        "state": state,
        "tools": live.tools if live else None,
    }
