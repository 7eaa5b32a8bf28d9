"""`mms register` and `mms unregister`: the gateway in the configuration of MCP clients."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from bus.errors import ConfigError
from cli.client_file import put_server, read_document, remove_server
from cli.context import current_place
from cli.host_entry import gateway_entry, is_gateway, updated
from cli.hosts import CLIENTS, Host, hosts
from cli.output import FAILED, USAGE, Answer, Failure, answers, is_terminal, table
from config.place import CONFIG_VARIABLE, Place, user_home

SERVER = "memtomem"
"""The gateway's name in a client, and so a part of its tools' names there."""

clients_option = click.option(
    "--client", "clients", multiple=True, type=click.Choice(CLIENTS), help="Which client; may be repeated."
)


class Registration(NamedTuple):
    """What became of one client: `registered`, `updated`, `unchanged`, `removed`, `absent`, `failed`."""

    host: Host
    state: str
    detail: str = ""

    @property
    def row(self) -> dict[str, Any]:
        return {
            "client": self.host.name,
            "state": self.state,
            "path": str(self.host.user.path),
            "message": self.detail,
        }


@click.command("register", short_help="Let MCP clients start the gateway.")
@clients_option
@click.option("--yes", "-y", is_flag=True, help="All clients that are found, without asking.")
@answers
def register(clients: tuple[str, ...], yes: bool) -> Answer:
    """Write the gateway into the configuration of MCP clients; the previous file stays beside it as .bak.

    \b
    Examples:
      mms register --client claude-code
      mms register --yes
    """
    place = current_place()
    chosen = chosen_hosts(clients, yes=yes)
    return _answer(register_all(place, chosen))


@click.command("unregister", short_help="Take the gateway out of MCP clients.")
@clients_option
@answers
def unregister(clients: tuple[str, ...]) -> Answer:
    """Take the gateway out of the configuration of MCP clients: of those given, or of all.

    \b
    Example:
      mms unregister --client cursor
    """
    known = hosts(os.environ)
    outcomes = [_unregister(known[name]) for name in clients or CLIENTS]
    if not clients:
        # Nobody wants to read about clients that never had it.
        outcomes = [outcome for outcome in outcomes if outcome.state != "absent"]
    return _answer(outcomes, nothing="no client had the gateway")


def chosen_hosts(clients: Sequence[str], *, yes: bool) -> list[Host]:
    """The clients that are named, or all that are found, after asking.

    Raises:
        Failure: `consent_missing` where nobody can be asked; `no_client` when none is found.
    """
    known = hosts(os.environ)
    if clients:
        return [known[name] for name in dict.fromkeys(clients)]
    present = found_hosts(os.environ)
    if not present:
        raise Failure("no_client", f"no MCP client found; --client names one of {', '.join(CLIENTS)}")
    if yes:
        return present
    if not is_terminal(sys.stdin):
        names = ", ".join(host.name for host in present)
        raise Failure("consent_missing", f"found {names}; say which with --client, or --yes for all", USAGE)
    return [host for host in present if click.confirm(f"Register with {host.title}?", default=True, err=True)]


def found_hosts(env: Mapping[str, str]) -> list[Host]:
    """Clients that have been used here: their configuration or its folder exists."""
    home = Path(user_home(env))
    return [
        host
        for host in hosts(env).values()
        if host.user.path.exists() or (host.user.path.parent.is_dir() and host.user.path.parent != home)
    ]


def register_all(place: Place, chosen: Iterable[Host]) -> list[Registration]:
    """Registers the gateway with each of them; one that cannot be written costs only itself.

    Raises:
        Failure: the program `mms` is not found.
    """
    command, env = gateway_command(), place_variables(place)
    return [_register(host, gateway_entry(host, command, env)) for host in chosen]


def registered_entries(host: Host) -> dict[str, Mapping[str, Any]]:
    """The gateway's entries in a client's configuration, by name.

    Raises:
        ConfigError: the file cannot be read.
    """
    servers = read_document(host.user).get(host.user.key)
    return {name: e for name, e in servers.items() if is_gateway(e)} if isinstance(servers, dict) else {}


def gateway_command() -> str:
    """The absolute path of `mms`: clients start it with a PATH of their own.

    Raises:
        Failure: there is no such program beside this Python.
    """
    beside = Path(sys.executable).with_name("mms")
    on_path = shutil.which("mms")
    # The stable name of an isolated installation (~/.local/bin/mms) outlives its updates.
    if on_path and os.path.realpath(on_path) == os.path.realpath(beside):
        return os.path.abspath(on_path)
    if os.access(beside, os.X_OK):
        return str(beside)
    if on_path:
        return os.path.abspath(on_path)
    raise Failure("no_program", f"{beside} does not exist; install memtomem-bus into this environment")


def place_variables(place: Place) -> dict[str, str]:
    """What the gateway must be told to find this place; nothing for the usual one."""
    usual = Place.from_environment({"HOME": user_home(os.environ)})
    variables = {} if place.home == usual.home else {"MEMTOMEM_STM_HOME": str(place.home)}
    if place.config_file != place.home / "stm_proxy.json":
        variables[CONFIG_VARIABLE] = str(place.config_file)
    return variables


def outcome_table(outcomes: Iterable[Registration]) -> str:
    """One line per client; empty when there are none."""
    rows = [(outcome.host.name, outcome.state, outcome.host.user.path) for outcome in outcomes]
    return table(("CLIENT", "STATE", "FILE"), rows) if rows else ""


def next_steps(outcomes: Iterable[Registration]) -> list[str]:
    """What a person does now, and what went wrong."""
    said = []
    for outcome in outcomes:
        if outcome.detail:
            said.append(f"{outcome.host.title}: {outcome.detail}")
        elif outcome.state in ("registered", "updated", "removed"):
            said.append(f"{outcome.host.title}: {outcome.host.after if outcome.state != 'removed' else 'restart it'}")
    return said


def _answer(outcomes: list[Registration], *, nothing: str = "nothing was changed") -> Answer:
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    return Answer(
        data={"clients": [outcome.row for outcome in outcomes]},
        text=outcome_table(outcomes),
        talk="\n".join(next_steps(outcomes)) if outcomes else nothing,
        exit_code=FAILED if failed else 0,
        error="config_error" if failed else "",
        message="; ".join(outcome.detail for outcome in failed),
    )


def _register(host: Host, entry: dict[str, Any]) -> Registration:
    try:
        servers = read_document(host.user).get(host.user.key)
        servers = servers if isinstance(servers, dict) else {}
        # A person may have given it another name.
        name = next(iter(registered_entries(host)), SERVER)
        present = servers.get(name)
        if present is None:
            put_server(host.user, name, entry)
            return Registration(host, "registered")
        if not is_gateway(present):
            text = f"{host.user.path} has another server called {SERVER}; rename or remove it there"
            return Registration(host, "failed", text)
        changed = put_server(host.user, name, updated(present, entry)) if updated(present, entry) != present else False
    except ConfigError as error:
        return Registration(host, "failed", error.message)
    return Registration(host, "updated" if changed else "unchanged")


def _unregister(host: Host) -> Registration:
    try:
        names = list(registered_entries(host))
        for name in names:
            remove_server(host.user, name)
    except ConfigError as error:
        return Registration(host, "failed", error.message)
    return Registration(host, "removed" if names else "absent")
