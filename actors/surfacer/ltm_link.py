"""How the LTM is reached: a child process over stdio, or a running service through the official SDK."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from bus.build import VERSION
from bus.child import environment
from bus.rpc_peer import RpcPeer
from config.expand import expand
from config.schema_surfacing import SurfacingSettings

DEFAULT_COMMAND = "memtomem-server"
PROTOCOL_VERSION = "2025-11-25"
_CLIENT = {"name": "memtomem-bus", "version": VERSION}
_INITIALIZE_SECONDS = 30.0
_MAX_LINE = 16 * 1024 * 1024


class Link(Protocol):
    """An initialised MCP connection.

    Attributes:
        server: `serverInfo`.
        closed: set when the connection has ended.
    """

    @property
    def server(self) -> Mapping[str, Any]: ...
    @property
    def closed(self) -> asyncio.Event: ...

    async def request(self, method: str, params: bytes, timeout: float) -> bytes:
        """JSON of the result; raises `bus.errors.BusError` subclasses."""
        ...

    async def close(self) -> None: ...


class StdioLink:
    """A child process that speaks MCP on its stdio. Made by `open`."""

    def __init__(self, peer: RpcPeer, server: Mapping[str, Any]) -> None:
        self._peer = peer
        self.server = server
        self.closed = peer.closed

    @classmethod
    async def open(cls, argv: list[str], *, env: Mapping[str, str], cwd: Path, group_dir: Path | None) -> StdioLink:
        """Starts the child and does the handshake.

        Raises:
            OSError: it cannot be started. BusError: the handshake failed.
        """
        peer = await RpcPeer.spawn(argv, env=env, name="the LTM", cwd=str(cwd), group_dir=group_dir, max_line=_MAX_LINE)
        try:
            params = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": _CLIENT}
            answer = await peer.request("initialize", msgspec.json.encode(params), timeout=_INITIALIZE_SECONDS)
            peer.notify("notifications/initialized")
        except BaseException:
            await peer.close()
            raise
        server = msgspec.json.decode(answer).get("serverInfo")
        return cls(peer, server if isinstance(server, dict) else {})

    async def request(self, method: str, params: bytes, timeout: float) -> bytes:
        return await self._peer.request(method, params, timeout=timeout)

    async def close(self) -> None:
        await self._peer.close()


def connector(
    settings: SurfacingSettings,
    *,
    memories: Path,
    index: Path,
    group_dir: Path | None,
    env: Mapping[str, str] | None = None,
) -> tuple[str, Callable[[], Awaitable[Link]]]:
    """What the LTM of these settings is called, and how to connect to it.

    With stdio and the default command, but no such program on PATH, that is the embedded LTM.

    Args:
        memories: folder of the embedded LTM's notes; index: its index file.
        env: the environment that PATH and the LTM's own variables are read from (`os.environ` when `None`).
    """
    env = os.environ if env is None else env
    if settings.ltm_mcp_transport != "stdio":
        from actors.surfacer.ltm_remote import RemoteLink

        return (
            urlsplit(settings.ltm_mcp_url).hostname or "remote",
            lambda: RemoteLink.open(_expanded(settings, env)),
        )
    child_env = environment({name: value for name, value in env.items() if _is_ltm_variable(name)})
    cwd = next(folder for folder in (Path(env.get("HOME") or "/"), Path("/")) if folder.is_dir())
    command = settings.ltm_mcp_command
    if command == DEFAULT_COMMAND and shutil.which(command, path=env.get("PATH")) is None:
        argv = [
            sys.executable,
            "-P",
            "-m",
            "actors.surfacer.embedded",
            "--memories",
            str(memories),
            "--index",
            str(index),
        ]
        return "embedded", lambda: StdioLink.open(argv, env=child_env, cwd=cwd, group_dir=group_dir)

    def start() -> Awaitable[Link]:
        own = _expanded(settings, env)
        argv = [own.ltm_mcp_command, *own.ltm_mcp_args]
        return StdioLink.open(argv, env=child_env, cwd=cwd, group_dir=group_dir)

    return Path(command).name, start


def _expanded(settings: SurfacingSettings, env: Mapping[str, str]) -> SurfacingSettings:
    """Raises ConfigError for a variable that is not set."""

    def text(key: str, value: str) -> str:
        return expand(value, env, f"surfacing.{key}")

    headers = settings.ltm_mcp_headers or {}
    return msgspec.structs.replace(
        settings,
        ltm_mcp_command=text("ltm_mcp_command", settings.ltm_mcp_command),
        ltm_mcp_args=tuple(text("ltm_mcp_args", word) for word in settings.ltm_mcp_args),
        ltm_mcp_url=text("ltm_mcp_url", settings.ltm_mcp_url),
        ltm_mcp_headers={name: text(f"ltm_mcp_headers.{name}", value) for name, value in headers.items()},
    )


def _is_ltm_variable(name: str) -> bool:
    """memtomem reads its own settings from MEMTOMEM_*; ours (MEMTOMEM_STM_*) are none of its business."""
    return name.startswith("MEMTOMEM_") and not name.startswith("MEMTOMEM_STM_")
