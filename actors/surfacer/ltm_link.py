"""How the LTM is reached: a child process over stdio, or a running service through the official SDK."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from actors.surfacer.ltm_session import Session, begin
from bus.child import environment
from bus.errors import PeerUnavailable
from bus.rpc_peer import RpcPeer
from config.address import host_of
from config.expand import expand
from config.schema_surfacing import SurfacingSettings

DEFAULT_COMMAND = "memtomem-server"
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

    def __init__(self, peer: RpcPeer, session: Session) -> None:
        self._peer = peer
        self._session = session
        self.server = session.server
        self.closed = peer.closed

    @classmethod
    async def open(
        cls,
        argv: list[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        group_dir: Path | None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> StdioLink:
        """Starts the child and does the handshake.

        Args:
            on_stderr: called with what it writes on stderr; of a foreign LTM that may hold queries, and is for no log.

        Raises:
            OSError: it cannot be started. BusError: the handshake failed.
        """
        peer = await RpcPeer.spawn(
            argv,
            env=env,
            name="the LTM",
            cwd=str(cwd),
            group_dir=group_dir,
            max_line=_MAX_LINE,
            on_stderr=on_stderr,
            shown_by="",
        )
        try:
            session = await begin(peer, _INITIALIZE_SECONDS)
        except BaseException as error:
            is_gone = peer.closed.is_set()
            await peer.close()
            if is_gone and isinstance(error, PeerUnavailable):
                raise PeerUnavailable(f"{Path(argv[0]).name} gave up: {peer.end_text()}") from None
            raise
        return cls(peer, session)

    async def request(self, method: str, params: bytes, timeout: float) -> bytes:
        return await self._peer.request(method, self._session.params(params), timeout=timeout)

    async def close(self) -> None:
        await self._peer.close()


def connector(
    settings: SurfacingSettings,
    *,
    memories: Path,
    index: Path,
    group_dir: Path | None,
    env: Mapping[str, str] | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
) -> tuple[str, Callable[[], Awaitable[Link]]]:
    """What the LTM of these settings is called, and how to connect to it.

    With stdio and the default command, but no such program on PATH, that is the embedded LTM.

    Args:
        memories: folder of the embedded LTM's notes; index: its index file.
        env: the environment that PATH and the LTM's own variables are read from (`os.environ` when `None`).
        on_stderr: called with what the embedded LTM writes on stderr.
    """
    env = os.environ if env is None else env
    if settings.ltm_mcp_transport != "stdio":
        from actors.surfacer.ltm_remote import RemoteLink

        return (
            host_of(settings.ltm_mcp_url) or "remote",
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
        return "embedded", lambda: StdioLink.open(
            argv, env=child_env, cwd=cwd, group_dir=group_dir, on_stderr=on_stderr
        )

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
