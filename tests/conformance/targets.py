"""What the suites are run against: the fixture server, and the gateway with it as the only upstream."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.eventually import eventually_blocking
from tests.fixtures.home import Home
from tests.fixtures.http_gateway import running
from tests.fixtures.mcp_client import STATELESS_VERSION, envelope

SERVER = Path(__file__).parents[1] / "fixtures" / "servers" / "conformance.py"


@dataclass(frozen=True)
class Target:
    """One way to reach the fixture server.

    Attributes:
        transport: between the gateway and the server; empty: there is no gateway.
        session: the setting of that name.
    """

    transport: str = ""
    session: str = "shared"

    @property
    def name(self) -> str:
        return f"gateway, {self.transport}, {self.session}" if self.transport else "direct"


DIRECT = Target()
BEHIND = tuple(Target(way, session) for way in ("stdio", "streamable_http") for session in ("dedicated", "shared"))


@contextmanager
def serving(target: Target) -> Iterator[str]:
    """The address to test, for as long as everything runs that it needs."""
    if target.transport == "stdio":
        with _gateway({"command": sys.executable, "args": [str(SERVER), "stdio"]}, target.session) as url:
            yield url
        return
    with _server() as url:
        if not target.transport:
            yield url
            return
        with _gateway({"transport": target.transport, "url": url}, target.session) as behind:
            yield behind


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, str(SERVER), "http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://localhost:{int(process.stdout.readline())}/mcp"
        finally:
            process.kill()


@contextmanager
def _gateway(upstream: dict[str, Any], session: str) -> Iterator[str]:
    home = Home()
    try:
        home.configure({"conformance": {"prefix": "", "session": session, **upstream}})
        with running(home, "--private", "--no-auth") as gateway:
            eventually_blocking(lambda: "test_simple_text" in _tools(gateway.url), patience=60)
            yield gateway.url.replace("127.0.0.1", "localhost")
    finally:
        home.remove()


def _tools(url: str) -> str:
    headers = {"mcp-protocol-version": STATELESS_VERSION, "mcp-method": "tools/list"}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": envelope()}}
    return httpx2.post(url, json=frame, headers=headers, timeout=30).text
