"""`mms gateway`: what an MCP client starts. Without click: every import here is a client's waiting time."""

from __future__ import annotations

import sys

from bus.errors import BusError
from cli.cluster import PrivateCluster, ensure_cluster
from config.place import Place

HELP = """\
Usage: mms gateway [OPTIONS]

  The MCP gateway on stdin and stdout, for the configuration of an MCP client.
  Starts the local cluster in the background if none runs.

  Example: claude mcp add memtomem -- mms gateway

Options:
  --private       Bring a cluster of its own, which ends with it (containers, CI).
  --config PATH   Configuration file (default: ~/.memtomem/stm_proxy.json).
  -h, --help      Show this message and exit.
"""


class UsageError(Exception):
    """The arguments do not fit."""


def run(argv: list[str]) -> int:
    """Serves until stdin ends; returns the exit code."""
    try:
        options = _options(argv)
    except UsageError as error:
        print(f"Error: {error}; `mms gateway --help` shows the options", file=sys.stderr)
        return 2
    if options is None:
        sys.stdout.write(HELP)
        return 0
    private, config = options
    try:
        place = Place.from_environment(config_file=config or None)
        return _serve_private(place) if private else _serve(place)
    except BusError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _serve(place: Place) -> int:
    ensure_cluster(place)
    from gateway.main import run as serve

    return serve(place, lambda: ensure_cluster(place))


def _serve_private(place: Place) -> int:
    cluster = PrivateCluster(place)
    try:
        from gateway.main import run as serve

        return serve(cluster.place, cluster.ensure)
    finally:
        cluster.stop()


def _options(argv: list[str]) -> tuple[bool, str] | None:
    """Whether the cluster is private, and the configuration file; `None` when help is wanted."""
    private, config = False, ""
    words = list(argv)
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            return None
        if word == "--private":
            private = True
        elif word == "--config" and words:
            config = words.pop(0)
        elif word.startswith("--config=") and word != "--config=":
            config = word.removeprefix("--config=")
        elif word in ("--config", "--config="):
            raise UsageError("--config needs a path")
        else:
            raise UsageError(f"no such option or argument: {word}")
    return private, config
