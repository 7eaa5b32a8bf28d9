"""The gateway as a client meets it: a process on a pipe.

`connect` is a gateway beside one cluster that all tests of this folder share, in front of every fixture server, the
bad ones included: cheap, and good for whatever leaves the cluster as it was. `home` is a place of its own for the rest.
Both refuse frames that a strict client would refuse, at the end of each test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from xprocess import ProcessStarter, XProcess

from tests.eventually import eventually_blocking
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.fixtures.official import python_server

GOOD = ("slow", "progress", "mixed", "failing", "changing", "library", "asking", "stateless", "shelf", "strict")
ODD = ("pages", "stuck", "schemas", "credentials", "described")
BAD = ("unreadable", "dying", "hanging", "flooding", "dirty", "hung", "quitting")
ADMIN = {"MEMTOMEM_STM_ADVERTISE_OBSERVABILITY_TOOLS": "true"}

Connect = Callable[..., Awaitable[McpClient]]
Start = Callable[..., Awaitable[McpClient]]


async def health(client: McpClient) -> str:
    """What `proxy_health` says."""
    return (await client.call("stm_admin", {"action": "proxy_health"})).text


def shared_servers(home: Home) -> dict[str, dict[str, Any]]:
    """Every fixture server under its own name; `fx` is the echo server, `x` and `x_a` have odd names."""
    servers = {name: home.upstream(name) for name in (*GOOD, *ODD, *BAD)}
    once: dict[str, Any] = {"call_timeout_seconds": 0.5, "overall_deadline_seconds": 0.5}
    covers = {"text": {"hidden": True}, "length": {"expose_in_profiles": ["explore"]}}
    return {
        **servers,
        "fx": home.upstream("echo", "fx"),
        "x": home.upstream("names", "x"),
        "x_a": home.upstream("pages", "x_a"),
        "own": home.upstream("asking", "own", session="dedicated"),
        "own2": home.upstream("asking", "own2", session="dedicated"),
        "own_stateless": home.upstream("stateless", "own_stateless", session="dedicated"),
        "both": home.upstream("both", session="dedicated"),
        "both_shared": home.upstream("both", "both_shared"),
        "deliberate": home.upstream("deliberate"),
        "hung": home.upstream("hung", connect_timeout_seconds=600),
        "hanging": home.upstream("hanging", circuit_max_failures=0, **once),
        "dying": home.upstream("dying", reconnect_delay_seconds=0, circuit_max_failures=0),
        "verbatim": home.upstream("flooding", "verbatim", compression="none"),
        "off": home.upstream("slow", "off", enabled=False),
        "covered": home.upstream("echo", "covered", tool_overrides=covers),
        "twin": home.upstream("twins", "twin"),
        "tight": home.upstream("echo", "tight", max_result_chars=2_000),
        "read": home.upstream("echo", "read"),
        "resting": home.upstream("slow", "resting", call_timeout_seconds=0.2, circuit_max_failures=5),
        "mine": home.upstream("dying", "mine", session="dedicated", reconnect_delay_seconds=0),
        "coming": home.upstream("changing", "coming", session="dedicated"),
        "patient": home.upstream("asking", "patient", session="dedicated", call_timeout_seconds=0.2),
        "missing": {"prefix": "missing", "command": str(home.path / "no-such-program")},
        "git": python_server("git", "--repository", str(repository(home.path / "repo"))),
        "time": python_server("time", "--local-timezone", "UTC"),
    }


def repository(path: Path) -> Path:
    """A small git repository with one commit."""
    path.mkdir()
    (path / "a.txt").write_text("first\n")
    git = ["git", "-C", str(path), "-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "The first commit"]):
        subprocess.run([*git, *words], check=True)
    return path


@pytest.fixture(scope="session")
def shared_home(xprocess: XProcess) -> Iterator[Home]:
    """The home of the shared cluster, which runs for all tests of the folder."""
    home = Home()
    home.configure(shared_servers(home))

    class Cluster(ProcessStarter):
        args: ClassVar[list[str]] = [sys.executable, "-P", "-m", "cli.supervise", "--pinned"]
        env: ClassVar[dict[str, str]] = home.environment()
        timeout = 60
        terminate_on_interrupt = True

        def startup_check(self) -> bool:
            return home.mms("ps").returncode == 0

    xprocess.ensure(f"cluster-{os.getpid()}", Cluster)
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
