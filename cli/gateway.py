"""`mms gateway`: what an MCP client starts. Without click: every import here is a client's waiting time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from bus.errors import BusError
from cli.cluster import PrivateCluster, ensure_cluster
from cli.replacing import join_cluster
from config.place import Place

HELP = """\
Usage: mms gateway [OPTIONS]

  The MCP gateway on stdin and stdout, for the configuration of an MCP client;
  or behind Streamable HTTP, for many clients.
  Starts the local cluster in the background if none runs.

  Example: claude mcp add memtomem -- mms gateway
           mms gateway --http 127.0.0.1:8765

Options:
  --private          Bring a cluster of its own, which ends with it (containers, CI).
  --http HOST:PORT   Serve at http://HOST:PORT/mcp. Every client needs the bearer token
                     of MEMTOMEM_STM_HTTP_TOKEN, or of the file that is named at the start.
  --no-auth          No token; on loopback addresses only.
  --allow-host NAME  A further name by which clients may call this host (repeatable).
  --config PATH      Configuration file (default: ~/.memtomem/stm_proxy.json).
  -h, --help         Show this message and exit.
"""


LOOPBACK = "127.0.0.1"
_WITH_VALUE = {"--config": "a path", "--http": "HOST:PORT", "--allow-host": "a host name"}


class UsageError(Exception):
    """The arguments do not fit."""


@dataclass
class Options:
    """What the command line says.

    Attributes:
        http: host and port to listen on; `None` for stdin and stdout.
    """

    private: bool = False
    config: str = ""
    http: tuple[str, int] | None = None
    authenticate: bool = True
    allowed_hosts: list[str] = field(default_factory=list)


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
    try:
        place = Place.from_environment(config_file=options.config or None)
        return _serve_private(place, options) if options.private else _serve(place, options)
    except BusError as error:
        print(f"Error: {error.message}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Error: {error.filename or 'the gateway cannot serve'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _serve(place: Place, options: Options) -> int:
    join_cluster(place)
    return _gateway(place, lambda: ensure_cluster(place), options)


def _serve_private(place: Place, options: Options) -> int:
    cluster = PrivateCluster(place)
    try:
        return _gateway(cluster.place, cluster.ensure, options)
    finally:
        cluster.stop()


def _gateway(place: Place, start_cluster: Callable[[], None], options: Options) -> int:
    if options.http is None:
        from gateway.main import run

        return run(place, start_cluster)
    from gateway.http import run as run_http

    return run_http(
        place, start_cluster, options.http, authenticate=options.authenticate, allowed_hosts=options.allowed_hosts
    )


def _options(argv: list[str]) -> Options | None:
    """What the arguments say; `None` when help is wanted."""
    options = Options()
    words = list(argv)
    while words:
        word, equals, value = words.pop(0).partition("=")
        if word in ("-h", "--help"):
            return None
        if word in ("--private", "--no-auth") and not equals:
            options.private |= word == "--private"
            options.authenticate &= word != "--no-auth"
        elif word in _WITH_VALUE:
            if not equals and words:
                value = words.pop(0)
            if not value:
                raise UsageError(f"{word} needs {_WITH_VALUE[word]}")
            _set(options, word, value)
        else:
            raise UsageError(f"no such option or argument: {word}{equals}{value}")
    if options.http is None and (options.allowed_hosts or not options.authenticate):
        raise UsageError("--no-auth and --allow-host belong to --http")
    return options


def _set(options: Options, word: str, value: str) -> None:
    if word == "--config":
        options.config = value
    elif word == "--allow-host":
        options.allowed_hosts.append(value)
    else:
        host, colon, port = value.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit() and int(port) < 65_536):
            raise UsageError(f"--http needs HOST:PORT, not {value}")
        options.http = host.strip("[]") or LOOPBACK, int(port)
