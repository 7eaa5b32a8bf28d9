"""`mms tools`: the catalogue as clients see it."""

from __future__ import annotations

from fnmatch import fnmatchcase

import click

from actors.upstream.messages import Catalogue, ToolEntry, WatchCatalogue
from bus.client import Bus
from cli.asking import START_SECONDS, on_cluster
from cli.context import current_place
from cli.output import Answer, answers, printable, table

SUMMARY_CHARS = 70


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
    catalogue = on_cluster(current_place(), first_catalogue)
    found = [tool for tool in catalogue.tools if _fits(tool.name, pattern)]
    withheld = [tool for tool in catalogue.withheld if _fits(tool.tool, pattern)]
    return Answer(
        data={
            "tools": [_data(tool) for tool in found],
            "withheld": [
                {"server": tool.server, "tool": tool.tool, "reason": tool.reason, "detail": tool.detail}
                for tool in withheld
            ],
        },
        text=table(("TOOL", "SERVER", "DESCRIPTION"), [(tool.name, tool.server, _summary(tool)) for tool in found])
        if found
        else "",
        talk="\n".join(printable(f"withheld: {w.server} {w.tool} ({w.reason}) {w.detail}") for w in withheld)
        if found or withheld
        else "There is no such tool." if pattern else "There are no tools; `mms add` adds a server.",
    )  # fmt: skip


async def first_catalogue(bus: Bus) -> Catalogue:
    """The catalogue once there is one worth showing."""
    stream = bus.watch(WatchCatalogue(), wait=START_SECONDS)
    return await anext(stream)


def _fits(name: str, pattern: str) -> bool:
    name, pattern = name.casefold(), pattern.casefold()
    return fnmatchcase(name, pattern) if any(mark in pattern for mark in "*?[") else pattern in name


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
