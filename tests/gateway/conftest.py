"""The gateway as a client meets it: a process on a pipe.

`connect` is a gateway beside one cluster that all tests of this folder share, in front of every server that behaves:
cheap, and good for whatever leaves the cluster as it was. `home` is a place of its own for everything else.
Both refuse frames that a strict client would refuse, at the end of each test.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from tests.eventually import eventually_blocking
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient

SHARED = ("slow", "progress", "mixed", "failing", "library", "stateless", "unreadable")

Connect = Callable[..., Awaitable[McpClient]]
Start = Callable[..., Awaitable[McpClient]]


@pytest.fixture(scope="session")
def shared_home() -> Iterator[Home]:
    """The home of the shared cluster; `fx` is the echo server."""
    home = Home()
    servers = {name: home.upstream(name) for name in SHARED}
    home.configure({"fx": home.upstream("echo", "fx"), **servers})
    yield home
    stopped = home.mms("down")
    left = home.processes()
    home.remove()
    assert stopped.returncode == 0, stopped.stderr
    assert not left, left


@pytest.fixture
async def connect(shared_home: Home) -> AsyncIterator[Connect]:
    """Starts gateways beside the shared cluster: `await connect(version=…, capabilities=…, ready=…, **env)`.

    `version=None` leaves the handshake out; `ready` names tools to wait for.
    """
    clients: list[McpClient] = []

    async def begin(
        version: str | None = "2025-11-25",
        *,
        capabilities: dict[str, object] | None = None,
        ready: tuple[str, ...] = ("fx__echo",),
        **env: str,
    ) -> McpClient:
        client = await shared_home.gateway(**env)
        clients.append(client)
        if version is None:
            client.modern = True
        else:
            await client.handshake(version, capabilities)
        await client.tools_with(*ready)
        return client

    yield begin
    for client in clients:
        await client.close()
    assert [fault for client in clients for fault in client.faults] == []


@pytest.fixture
def home() -> Iterator[Home]:
    """A home of its own. At the end of the test nothing that was started there may be left."""
    home = Home()
    yield home
    try:
        eventually_blocking(lambda: not home.processes())
    finally:
        home.remove()


@pytest.fixture
async def start(home: Home) -> AsyncIterator[Start]:
    """Starts `mms gateway --private` in `home`, shakes hands and waits for tools: `await start("fx__echo", **env)`."""
    clients: list[McpClient] = []

    async def begin(*ready: str, **env: str) -> McpClient:
        client = await home.gateway("--private", **env)
        clients.append(client)
        await client.handshake()
        await client.tools_with(*ready)
        return client

    yield begin
    for client in clients:
        await client.close()
    assert [fault for client in clients for fault in client.faults] == []
