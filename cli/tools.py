"""`mms tools`: the catalogue as clients see it."""

from __future__ import annotations

from fnmatch import fnmatchcase

import click

from actors.upstream.messages import ServerState, ToolEntry
from cli.asking import on_cluster
from cli.catalogue import catalogue_when, is_settled
from cli.context import current_place
from cli.output import Answer, answers, printable, table

SUMMARY_CHARS = 70
NO_SUCH = "There is no such tool; `mms tools` lists all."
NONE = "There are no tools; `mms add` adds a server."


@click.command()
@click.argument("pattern", default="")
@answers
def tools(pattern: str) -> Answer:
    """The catalogue: every proxied tool, as clients see it.

    PATTERN is a part of a name, or a glob such as 'fs__*'. Starts the background cluster if none runs.

    \b
    Example:
      mms tools 'fs__*'
    """
    catalogue = on_cluster(current_place(), lambda bus: catalogue_when(bus, is_settled, "the servers"))
    found = [tool for tool in catalogue.tools if _fits(tool.name, pattern)]
    prefixes = {server.name: server.prefix for server in catalogue.servers}
    missing = [
        server
        for server in catalogue.servers
        if server.state not in ("ready", "disabled") and _fits(f"{server.prefix}__", pattern)
    ]
    withheld = [
        tool for tool in catalogue.withheld if _fits(_composed(prefixes.get(tool.server, ""), tool.tool), pattern)
    ]
    aliased = any(tool.alias_of for tool in found)
    return Answer(
        data={
            "tools": [_data(tool) for tool in found],
            "withheld": [
                {"server": tool.server, "tool": tool.tool, "reason": tool.reason, "detail": tool.detail}
                for tool in withheld
            ],
        },
        text=table(
            ("TOOL", "SERVER", *(("REAL NAME",) if aliased else ()), "DESCRIPTION"),
            [(tool.name, tool.server, *((tool.tool,) if aliased else ()), _summary(tool)) for tool in found],
        )
        if found
        else "",
        talk="\n".join([
            *(printable(f"withheld: {w.server} {w.tool} ({w.reason}) {w.detail}") for w in withheld),
            *map(_silent, missing),
            *([] if found or withheld or missing else [NO_SUCH if pattern else NONE]),
        ]),
    )  # fmt: skip


def _silent(server: ServerState) -> str:
    """Why the tools of a server may be missing."""
    state = "down" if server.state == "failed" else server.state
    return printable(f"{server.name} is {state}{f': {server.error}' if server.error else ''}; `mms health`")


def _fits(name: str, pattern: str) -> bool:
    name, pattern = name.casefold(), pattern.casefold()
    return fnmatchcase(name, pattern) if any(mark in pattern for mark in "*?[") else pattern in name


def _composed(prefix: str, tool: str) -> str:
    return f"{prefix}__{tool}" if prefix else tool


def _summary(tool: ToolEntry) -> str:
    first = tool.description.strip().split("\n", 1)[0]
    return first if len(first) <= SUMMARY_CHARS else f"{first[: SUMMARY_CHARS - 1]}…"


def _data(tool: ToolEntry) -> dict[str, object]:
    return {
        "name": tool.name,
        "server": tool.server,
        "tool": tool.tool,
        "description": tool.description,
        "read_only": tool.read_only,
    }
