"""`mms add` and `mms list` with what only a running upstream actor knows: a probe before adding, live states."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from actors.upstream.messages import Catalogue, GetServers
from bus.errors import BusError
from bus.launch import ChildSpec, last_words, launch
from cli.asking import on_bus
from cli.catalogue import catalogue_when, has_settled
from cli.cluster import is_running
from cli.output import printable
from cli.upstream_entries import Entry
from cli.upstreams import LiveState, add_command, list_command
from config.place import Place

LIVE_SECONDS = 2.0
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
            catalogue = on_bus(apart, lambda bus: catalogue_when(bus, lambda now: _tells_of(now, name), name))
        except BusError as error:
            said = last_words(apart.logs, "upstream") if actor.poll() else ""
            raise BusError(f"{name} could not be probed: {said or error.message}") from None
        finally:
            actor.terminate()
            actor.wait(STOP_SECONDS)
        server = next((server for server in catalogue.servers if server.name == name), None)
        if server is None or server.state != "ready":
            cause = server.error or server.state if server else catalogue.config_error
            said = _last_stderr(apart)
            last = f" (its last words: {printable(said)})" if said else ""
            raise BusError(f"{name} does not work: {printable(cause)}{last}; --no-check adds it all the same")
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


def _tells_of(catalogue: Catalogue, name: str) -> bool:
    """Whether the catalogue says how the server of that name has started."""
    return any(server.name == name and has_settled(catalogue, server) for server in catalogue.servers)


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
