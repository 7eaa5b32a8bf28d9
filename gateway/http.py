"""The gateway process behind Streamable HTTP: joins the bus, serves many clients, drains, leaves."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import sys
from collections.abc import Callable, Generator, Sequence

import uvicorn
import uvloop

from bus.errors import ConfigError
from config.address import is_loopback
from config.place import Place
from gateway.http_app import PATH, HttpEdge
from gateway.http_guard import Guard
from gateway.http_patience import PatientProtocol
from gateway.http_token import http_token
from gateway.main import DRAIN_SECONDS, joined, stop_on_signals

BACKLOG = 1_024
KEEP_ALIVE_SECONDS = 30


def run(
    place: Place,
    start_cluster: Callable[[], None],
    address: tuple[str, int],
    *,
    authenticate: bool = True,
    allowed_hosts: Sequence[str] = (),
) -> int:
    """Serves MCP at `http://HOST:PORT/mcp` until SIGTERM or SIGINT comes; returns the exit code.

    Args:
        start_cluster: starts the cluster of `place` unless it runs; called when it is gone; blocks for a moment.
        address: host and port; port 0 takes a free one.
        authenticate: ask every client for the bearer token.
        allowed_hosts: names by which clients may call this host, besides `localhost`, the bound one and addresses.

    Raises:
        ConfigError: the address cannot be listened on, or must not be.
    """
    host, _ = address
    if not authenticate and not is_loopback(host):
        raise ConfigError(f"--no-auth is for loopback addresses only, and {host} is none; leave it out")
    place.prepare()
    token, where = http_token(place.state / "http_token", os.environ) if authenticate else (None, "")
    listener = _listen(*address)
    port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    print(f"Serving MCP at http://{shown}:{port}{PATH}", file=sys.stderr)
    print(f"Clients send the bearer token {where}" if token else "Anybody on this machine may connect", file=sys.stderr)
    if not is_loopback(host):
        print("This is plain HTTP: put a TLS proxy in front of it before it crosses a network", file=sys.stderr)
    with listener:
        return uvloop.run(_serve(place, start_cluster, listener, Guard(token, host, allowed_hosts)))


async def _serve(place: Place, start_cluster: Callable[[], None], listener: socket.socket, guard: Guard) -> int:
    stop = stop_on_signals()
    async with joined(place, start_cluster) as (name, protocol):
        edge = HttpEdge(name, protocol, guard)
        server = _Server(
            uvicorn.Config(
                edge.app,
                http=PatientProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=int(DRAIN_SECONDS),
            )
        )
        serving = asyncio.get_running_loop().create_task(server.serve([listener]))
        stopping = asyncio.get_running_loop().create_task(stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        server.should_exit = True
        await edge.drain(DRAIN_SECONDS)
        await serving
    return 0


class _Server(uvicorn.Server):
    """Leaves the signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _listen(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        fix = "choose another port" if error.errno == errno.EADDRINUSE else "choose another host or port"
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}; {fix}") from None
