"""`mms init`: from nothing to a client that uses the gateway."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from cli import example
from cli.context import current_place
from cli.discovery import discover
from cli.hosts import CLIENTS
from cli.importing import as_rows, choose, hints, import_chosen, imported_table, report
from cli.output import FAILED, USAGE, Answer, Failure, answers, is_terminal, talk
from cli.registering import (
    chosen_hosts,
    clients_option,
    found_hosts,
    gateway_command,
    next_steps,
    outcome_table,
    register_all,
)
from cli.upstream_entries import insert, servers_of
from config.edit import edit
from config.place import Place
from config.read import read_file

AFTERWARDS = (
    "servers that stand behind the gateway now can be removed from the client itself, so that their tools show once",
    "`mms doctor` checks everything, `mms list` shows the servers, `mms stats` what was saved",
)


@click.command("init", short_help="First set-up: import servers, register the gateway.")
@clients_option
@click.option("--allow-project-configs", is_flag=True, help="Also this folder's own files, .mcp.json and the like.")
@click.option("--yes", "-y", is_flag=True, help="Import all, register with all that are found; do not ask.")
@click.option("--demo", is_flag=True, help="Set up an example server of ours instead; asks nothing, needs no network.")
@answers
def init(clients: tuple[str, ...], allow_project_configs: bool, yes: bool, demo: bool) -> Answer:
    """Set up: find the servers that your MCP clients know, import those you choose, register the gateway.

    With --client, only the clients named are registered with; servers are looked for in all. With --demo nothing is
    looked for or imported, and only clients that are named are touched.

    \b
    Examples:
      mms init
      mms init --yes --client claude-code
      mms init --demo
    """
    place = current_place()
    if demo:
        return _demo(place, clients)
    document = read_file(place.config_file) or {}
    gateway_command()
    if not yes and not is_terminal(sys.stdin):
        raise Failure("consent_missing", "nobody can be asked here; --yes imports and registers all", USAGE)
    found = discover(os.environ, CLIENTS, Path.cwd() if allow_project_configs else None)
    said = [*found.problems, *hints(CLIENTS, allowed=allow_project_configs)]
    chosen = found.candidates if yes else choose(found.candidates, "--yes")
    imported = import_chosen(place, chosen)
    said += report(imported)
    if imported_table(imported) and not yes:
        talk(imported_table(imported))
    wanted = chosen_hosts(clients, yes=yes) if clients or found_hosts(os.environ) else []
    registered = register_all(place, wanted)
    said += next_steps(registered)
    if not wanted:
        said.append("not registered with a client; `mms register --client NAME` does it")
    if not servers_of(document) and not any(outcome.name for outcome in imported):
        said.append("no servers yet; `mms add NAME -- COMMAND` adds one")
    failed = [outcome.detail for outcome in registered if outcome.state == "failed"]
    tables = [imported_table(imported) if yes else "", outcome_table(registered)]
    return Answer(
        data=as_rows(imported)
        | {"clients": [outcome.row for outcome in registered], "problems": found.problems, "next": list(AFTERWARDS)},
        text="\n\n".join(shown for shown in tables if shown),
        talk="\n".join([*said, *AFTERWARDS]),
        exit_code=FAILED if failed else 0,
        error="config_error" if failed else "",
        message="; ".join(failed),
    )


def _demo(place: Place, clients: tuple[str, ...]) -> Answer:
    """The example server in the configuration, and what to try with it."""
    wanted = example.entry(place)
    present = servers_of(read_file(place.config_file) or {}).get(example.NAME)
    if present not in (None, wanted):
        raise Failure(
            "config_error",
            f"{place.config_file} has another upstream {example.NAME}; `mms remove {example.NAME}` makes room",
        )
    files = example.write_files(place)
    if clients:
        gateway_command()
    tools: list[str] = []
    if present is None:
        from cli.live_upstreams import probe

        tools = list(probe(place, example.NAME, wanted))
        edit(place, lambda document: insert(document, example.NAME, wanted))
    registered = register_all(place, chosen_hosts(clients, yes=True)) if clients else []
    failed = [outcome.detail for outcome in registered if outcome.state == "failed"]
    added = "added the server" if present is None else "the server is there already:"
    steps = [f"  {number}. {step}" for number, step in enumerate(example.next_steps(), 1)]
    return Answer(
        data={
            "name": example.NAME,
            "folder": str(example.folder(place)),
            "files": files,
            "tools": tools,
            "clients": [outcome.row for outcome in registered],
            "next": example.next_steps(),
        },
        text="\n\n".join(shown for shown in ("\n".join(tools), outcome_table(registered)) if shown),
        talk="\n".join(
            [
                f"{added} {example.NAME} over {len(files)} example files in {example.folder(place)}",
                *next_steps(registered),
                "what to try:",
                *steps,
            ]
        ),
        exit_code=FAILED if failed else 0,
        error="config_error" if failed else "",
        message="; ".join(failed),
    )
