"""The catalogue, once the servers have had their chance: a person waits longer than a client's first `tools/list`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.upstream.messages import Catalogue, GetServers, ServerState
from bus.client import Bus
from cli.asking import START_SECONDS
from cli.output import talk

SETTLE_SECONDS = 50.0
"""A cluster's start and a server's default connect time-out (30 s)."""
SILENT_SECONDS = 1.0
"""Waiting that takes longer than this is said."""
POLL_SECONDS = 0.05


async def catalogue_when(bus: Bus, condition: Callable[[Catalogue], bool], waiting_for: str) -> Catalogue:
    """The catalogue once it fulfils the condition, or as it is after `SETTLE_SECONDS`.

    Raises:
        BusError: the upstream actor does not answer.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    said = False
    while True:
        catalogue = await bus.ask(GetServers(), timeout=START_SECONDS, wait=START_SECONDS)
        elapsed = loop.time() - start
        if condition(catalogue) or elapsed > SETTLE_SECONDS:
            return catalogue
        if elapsed > SILENT_SECONDS and not said:
            said = True
            talk(f"Waiting for {waiting_for} …")
        await asyncio.sleep(POLL_SECONDS)


def is_settled(catalogue: Catalogue) -> bool:
    """Whether every server has started, with its tools in the catalogue, or has failed for the first time."""
    return all(has_settled(catalogue, server) for server in catalogue.servers)


def has_settled(catalogue: Catalogue, server: ServerState) -> bool:
    """The same for one server. The tools of a ready one stand in the catalogue a moment after its state."""
    if server.state == "starting" and not server.error:
        return False
    told = {*(tool.server for tool in catalogue.tools), *(tool.server for tool in catalogue.withheld)}
    return server.state != "ready" or not server.discovered or server.name in told
