"""The way to a server: a child process, or an address."""

from __future__ import annotations

import asyncio
import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from bus.child import environment
from bus.errors import BusError, ConfigError
from bus.rpc import OnNotification, OnRequest, Rpc
from bus.rpc_peer import RpcPeer
from config.place import Place
from config.schema_upstream import UpstreamSettings


async def open_peer(
    name: str,
    settings: UpstreamSettings,
    *,
    place: Place,
    cwd: str,
    max_bytes: int,
    on_notification: OnNotification,
    on_request: OnRequest,
    on_stderr: Callable[[bytes], None],
) -> Rpc:
    """Starts the server, or connects to it.

    Args:
        settings: with their variables resolved.
        place: where its process group is written down and its OAuth tokens are kept.
        cwd: where it runs unless its settings say so; empty = the home directory.
        max_bytes: largest answer accepted.

    Raises:
        ConfigError, OSError, PeerUnavailable.
    """
    if settings.transport != "stdio":
        await asyncio.to_thread(importlib.import_module, "actors.upstream.http_open")  # the SDK, 0.7 s
        from actors.upstream.http_open import open_http

        return await open_http(
            name,
            settings,
            tokens=place.tokens,
            max_bytes=max_bytes,
            on_notification=on_notification,
            on_request=on_request,
        )
    env = environment(settings.env)
    cwd = settings.cwd or cwd or str(Path.home())
    command = settings.command
    if os.sep not in command and shutil.which(command, path=env.get("PATH")) is None:
        raise ConfigError(
            f"command not found: {command}; install it, or set its full path: `mms set {name} command=PATH`"
        )
    if not await asyncio.to_thread(os.path.isdir, cwd):
        raise ConfigError(f"its working directory {cwd} does not exist")
    return await RpcPeer.spawn(
        [command, *settings.args],
        env=env,
        cwd=cwd,
        name=f"upstream {name}",
        group_dir=place.groups,
        max_line=max_bytes,
        on_notification=on_notification,
        on_request=on_request,
        on_stderr=on_stderr,
    )


def in_one_line(error: BaseException, settings: UpstreamSettings) -> str:
    """The error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"cannot start {settings.command}: {error.strerror}"
    if isinstance(error, msgspec.MsgspecError):
        return f"its answer to the handshake has another shape: {error}"
    text = error.message if isinstance(error, BusError) else str(error)
    return text.splitlines()[0] if text else type(error).__name__
