"""A gateway beside a cluster that was started from other code."""

from __future__ import annotations

import asyncio
import os

import pytest

from bus.build import VERSION
from bus.census import RUNNING, running
from bus.envelope import WIRE_VERSION
from bus.lock import owner_of
from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient

pytestmark = pytest.mark.slow


def supervisor(home: Home) -> int:
    return owner_of(home.path / "bus" / "run" / "supervisor.lock")


def told(home: Home) -> tuple[int, str, int] | None:
    """Wire version, version and holders, as the supervisor has written them down."""
    found = running(home.path / "bus" / "run", supervisor(home))
    return (found.wire, found.build.partition("+")[0], found.holders) if found is not None else None


def pretend(home: Home, wire: int, holders: int) -> None:
    """Lets the running supervisor pass for one of another version."""
    (home.path / "bus" / "run" / RUNNING).write_text(f"{supervisor(home)} {wire} {holders} 0.0.1+older")


async def opened(home: Home) -> McpClient:
    client = await home.gateway()
    await client.handshake()
    await client.tools_with("echo__text")
    return client


@pytest.fixture
def home() -> Home:
    return Home()


@pytest.mark.parametrize("wire", [WIRE_VERSION, WIRE_VERSION + 1])
async def test_one_that_nobody_uses_is_replaced_in_its_mode(home: Home, wire: int) -> None:
    home.serve("echo")
    try:
        assert home.mms("up").returncode == 0
        before = supervisor(home)
        pretend(home, wire, 0)
        client = await opened(home)
        assert supervisor(home) not in (0, before)
        await eventually(lambda: told(home) == (WIRE_VERSION, VERSION, 1))
        await client.close()
        await eventually(lambda: told(home) == (WIRE_VERSION, VERSION, 0))
        assert "pinned" in home.mms("ps", "--json").stdout
        assert home.mms("down").returncode == 0
        await eventually(lambda: not home.processes())
    finally:
        home.remove()


async def test_one_in_use_is_joined_or_named(home: Home) -> None:
    home.serve("echo")
    try:
        client = await opened(home)
        await eventually(lambda: told(home) == (WIRE_VERSION, VERSION, 1))
        before = supervisor(home)
        pretend(home, WIRE_VERSION, 1)
        second = await opened(home)
        assert supervisor(home) == before
        await second.close()
        pretend(home, WIRE_VERSION + 1, 2)
        refused = await asyncio.to_thread(home.mms, "gateway")
        assert refused.returncode == 1
        assert f"process {before}, build 0.0.1+older" in refused.stderr
        assert f"wire version {WIRE_VERSION + 1}, this gateway {WIRE_VERSION}, and 2 gateways use it" in refused.stderr
        assert "`mms restart`" in refused.stderr
        os.kill(client.process.pid, 0)  # the first is not disturbed
        await client.close()
        assert home.mms("down").returncode == 0
    finally:
        home.remove()
