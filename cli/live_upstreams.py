"""`mms add` and `mms list` with what only a running upstream actor knows: a probe before adding, live states."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from actors.upstream.messages import Catalogue, GetServers, ServerState
from bus.client import Bus
from bus.errors import BusError
from bus.launch import ChildSpec, last_words, launch
from cli.asking import START_SECONDS, on_bus
from cli.cluster import is_running
from cli.output import printable, talk
from cli.upstreams import Entry, LiveState, add_command, list_command
from config.place import Place
from config.schema_upstream import UpstreamSettings

LIVE_SECONDS = 2.0
POLL_SECONDS = 0.05
SILENT_SECONDS = 1.0
"""Waiting that takes longer than this is said."""
STOP_SECONDS = 10.0


def probe(place: Place, name: str, entry: Entry) -> Sequence[str]:
    """Starts the server under an upstream actor of its own, in a scratch place, and returns its tools' names.

    Raises:
        BusError: the server does not start, answer or list its tools within its connect time-out.
    """
    scratch = Path(tempfile.mkdtemp(prefix="mms-"))
    apart = dataclasses.replace(place, config_file=scratch / "stm_proxy.json").with_state(scratch / "bus")
    try:
        apart.prepare()
        apart.config_file.write_text(json.dumps({"enabled": True, "upstream_servers": {name: entry}}))
        actor = launch(ChildSpec("upstream", (sys.executable, "-P", "-m", "actors.upstream")), apart)
        try:
            seconds = UpstreamSettings(prefix=name).connect_timeout_seconds + START_SECONDS
            catalogue = on_bus(apart, lambda bus: _settled(bus, name, seconds))
        except BusError as error:
            said = last_words(apart.logs, "upstream") if actor.poll() else ""
            raise BusError(f"{name} could not be probed: {said or error.message}") from None
        finally:
            actor.terminate()
            actor.wait(STOP_SECONDS)
        server = next(server for server in catalogue.servers if server.name == name)
        if server.state != "ready":
            cause = _last_stderr(apart) or server.error or server.state
            raise BusError(f"{name} does not work: {printable(cause)}; --no-check adds it all the same")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        if apart.runtime is not None:
            shutil.rmtree(apart.runtime, ignore_errors=True)
    return [tool.name for tool in catalogue.tools if tool.server == name]


def live(place: Place) -> dict[str, LiveState]:
    """The states of the running cluster; empty when there is none, or it does not answer."""
    if not is_running(place):
        return {}
    try:
        catalogue = on_bus(place, lambda bus: bus.ask(GetServers(), timeout=LIVE_SECONDS))
    except BusError:
        return {}
    return {server.name: LiveState(server.state, server.exposed) for server in catalogue.servers}


async def _settled(bus: Bus, name: str, seconds: float) -> Catalogue:
    """The catalogue once the server is ready, or has failed.

    Raises:
        BusError: it is neither within `seconds`.
    """
    loop = asyncio.get_running_loop()
    start = loop.time()
    said = False
    while True:
        catalogue = await bus.ask(GetServers(), timeout=START_SECONDS, wait=START_SECONDS)
        server = next((server for server in catalogue.servers if server.name == name), None)
        if server is not None and (server.error or (server.state == "ready" and _is_complete(catalogue, server))):
            return catalogue
        elapsed = loop.time() - start
        if elapsed > seconds:
            raise BusError(f"no answer within {seconds:g} s")
        if elapsed > SILENT_SECONDS and not said:
            said = True
            talk(f"Waiting for {name} …")
        await asyncio.sleep(POLL_SECONDS)


def _is_complete(catalogue: Catalogue, server: ServerState) -> bool:
    """Whether the tools of a server that is ready stand in the catalogue; they follow its state after a moment."""
    told = {*(tool.server for tool in catalogue.tools), *(tool.server for tool in catalogue.withheld)}
    return not server.discovered or server.name in told


def _last_stderr(place: Place) -> str:
    """The last line that the server has written on stderr, from the log of its actor."""
    try:
        lines = (place.logs / "upstream.log").read_bytes().splitlines()
    except OSError:
        return ""
    documents = (json.loads(line) for line in reversed(lines))
    return next((str(document["line"]) for document in documents if document.get("event") == "upstream_stderr"), "")


add = add_command(probe)
list_upstreams = list_command(live)
