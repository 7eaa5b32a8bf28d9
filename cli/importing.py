"""`mms import`: the servers of MCP clients become upstreams, many at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from cli.context import current_place
from cli.discovery import Candidate, Discovered, Imported, discover, shipped_files, take
from cli.hosts import CLIENTS, hosts
from cli.output import USAGE, Answer, Failure, answers, count, is_terminal, printable, style, table, talk
from config.address import host_of
from config.edit import edit
from config.place import Place
from config.read import read_file


@click.command("import", short_help="Add the servers that your MCP clients know.")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--from", "clients", multiple=True, type=click.Choice(CLIENTS), help="Only of this client.")
@click.option("--all", "everything", is_flag=True, help="All that are found, without asking.")
@click.option("--allow-project-configs", is_flag=True, help="Also this folder's own files, .mcp.json and the like.")
@answers
def import_servers(
    names: tuple[str, ...], clients: tuple[str, ...], everything: bool, allow_project_configs: bool
) -> Answer:
    """Add the servers that your MCP clients know: all, those named, or those you choose.

    The clients' own files stay as they are. Files that a repository can ship are read only when you allow it, since
    each entry is a command that will be run.

    \b
    Examples:
      mms import
      mms import --from cursor --all
      mms import github filesystem
    """
    place = current_place()
    # A broken file of our own is said before anybody is asked anything.
    read_file(place.config_file)
    wanted = clients or CLIENTS
    folder = Path.cwd() if allow_project_configs else None
    found = discover(os.environ, wanted, folder)
    passed_over = hints(wanted, allowed=allow_project_configs)
    if not found.candidates:
        nothing = f"no servers found in {_titles(wanted)}"
        return Answer(data=_data([], found), talk="\n".join([*found.problems, *passed_over, nothing]))
    if names:
        chosen = _named(found.candidates, names)
    elif everything:
        chosen = found.candidates
    else:
        chosen = choose(found.candidates, "--all, or the names of those to import")
    outcomes = import_chosen(place, chosen)
    said = [*found.problems, *report(outcomes), *passed_over]
    return Answer(data=_data(outcomes, found), text=imported_table(outcomes), talk="\n".join(said))


def import_chosen(place: Place, chosen: Sequence[Candidate]) -> list[Imported]:
    """Writes the chosen servers into the configuration; returns what became of each."""
    outcomes: list[Imported] = []

    def change(document: dict[str, Any]) -> dict[str, Any] | None:
        nonlocal outcomes
        changed, outcomes = take(place, document, chosen, os.environ)
        return changed if any(outcome.name for outcome in outcomes) else None

    if chosen:
        edit(place, change)
    return outcomes


def choose(candidates: Sequence[Candidate], without_terminal: str) -> list[Candidate]:
    """Asks a person which ones; nothing is chosen for somebody who cannot be asked.

    Raises:
        Failure: `consent_missing` off a terminal.
    """
    usable = [candidate for candidate in candidates if not candidate.fault]
    if not usable:
        return list(candidates)
    if not is_terminal(sys.stdin):
        raise Failure("consent_missing", f"{len(usable)} servers found; say which: {without_terminal}", USAGE)
    talk(table(("NO", "NAME", "CLIENT", "STARTS"), numbered(usable)))
    while True:
        answer = click.prompt("Import which (numbers, all, none)", default="all", err=True)
        picked = _picked(answer, len(usable))
        if picked is not None:
            return [usable[number] for number in picked]
        talk(f"{style('Error:', 'bad', err=True)} numbers from 1 to {len(usable)}, all, or none")


def numbered(candidates: Iterable[Candidate]) -> list[tuple[object, ...]]:
    """Rows of a table to choose from. Arguments stay out: they may be secret."""
    return [
        (
            number,
            candidate.name,
            candidate.kind,
            candidate.entry.get("command") or host_of(candidate.entry["url"]) or "http",
        )
        for number, candidate in enumerate(candidates, 1)
    ]


def report(outcomes: Iterable[Imported]) -> list[str]:
    """What people should know about an import, one line each."""
    said: list[str] = []
    for outcome in outcomes:
        if outcome.name:
            said += outcome.remarks
        else:
            said.append(f"left out: {outcome.candidate.label} {outcome.skipped}")
    return [*said, f"imported {count(sum(bool(outcome.name) for outcome in outcomes), 'server')}"]


def imported_table(outcomes: Iterable[Imported]) -> str:
    """The new upstreams; empty when there are none."""
    rows = [(o.name, o.prefix, o.candidate.entry["transport"], o.candidate.kind) for o in outcomes if o.name]
    return table(("NAME", "PREFIX", "TRANSPORT", "FROM"), rows) if rows else ""


def as_rows(outcomes: Iterable[Imported]) -> dict[str, Any]:
    """The same as members of a JSON document."""
    outcomes = list(outcomes)
    return {
        "imported": [
            {"name": o.name, "prefix": o.prefix, "kind": o.candidate.kind, "path": str(o.candidate.source.path)}
            for o in outcomes
            if o.name
        ],
        "skipped": [
            {"name": o.candidate.name, "kind": o.candidate.kind, "reason": o.skipped} for o in outcomes if not o.name
        ],
    }


def hints(clients: Iterable[str], *, allowed: bool) -> list[str]:
    """Files of this folder that were passed over."""
    if allowed:
        return []
    return [
        f"{path} was not read: a repository can ship it; --allow-project-configs reads it"
        for path in shipped_files(os.environ, clients, Path.cwd())
    ]


def _data(outcomes: Sequence[Imported], found: Discovered) -> dict[str, Any]:
    return as_rows(outcomes) | {"problems": found.problems}


def _named(candidates: Sequence[Candidate], names: Sequence[str]) -> list[Candidate]:
    known = {candidate.name for candidate in candidates}
    if missing := [name for name in names if name not in known]:
        raise Failure("unknown_server", f"no client knows a server {printable(missing[0])}; known: {_list(known)}")
    return [candidate for candidate in candidates if candidate.name in names]


def _picked(answer: str, count: int) -> list[int] | None:
    words = answer.replace(",", " ").lower().split()
    if words in (["all"], ["none"]):
        return list(range(count)) if words == ["all"] else []
    if words and all(word.isascii() and word.isdigit() and 0 < int(word) <= count for word in words):
        return sorted({int(word) - 1 for word in words})
    return None


def _titles(clients: Iterable[str]) -> str:
    known = hosts(os.environ)
    return ", ".join(known[name].title for name in clients)


def _list(names: Iterable[str]) -> str:
    return ", ".join(printable(name) for name in sorted(names))
