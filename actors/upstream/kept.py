"""The catalogue of the last run, so that `tools/list` can answer while the servers are still starting."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import msgspec

from bus.errors import NewerState, StateError
from bus.files import write_private
from bus.log import Log
from config.schema_upstream import UpstreamSettings

SCHEMA_VERSION = 1
MAX_BYTES = 64 * 1024 * 1024


class KeptServer(msgspec.Struct):
    """The tools of one server as it listed them, valid for this very connection.

    Attributes:
        probes: it can be asked for its era; false for one that died of that, or let it run into a time limit.
    """

    connection: str
    tools: list[msgspec.Raw]
    instructions: str = ""
    probes: bool = True


class _File(msgspec.Struct):
    schema_version: int = SCHEMA_VERSION
    servers: dict[str, KeptServer] = {}


def fingerprint(settings: UpstreamSettings) -> str:
    """Names a connection without telling its secrets: the same command, arguments, environment, address, headers."""
    parts = (
        settings.transport,
        settings.command,
        settings.args,
        sorted((settings.env or {}).items()),
        settings.cwd,
        settings.url,
        sorted((settings.headers or {}).items()),
        *((settings.tls,) if settings.tls is not None else ()),
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def load(path: Path) -> dict[str, KeptServer]:
    """The kept servers; nothing when there is no file.

    Raises:
        NewerState: a newer version of ours wrote it. StateError: it cannot be read.
    """
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_File)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StateError(f"{path} cannot be read: {error}; it is only a copy and is written anew") from None
    if kept.schema_version > SCHEMA_VERSION:
        raise NewerState(f"{path} was written by a newer version (schema {kept.schema_version}); upgrade memtomem-bus")
    return kept.servers


def save(path: Path, servers: dict[str, KeptServer]) -> None:
    """Writes atomically, 0600.

    Raises:
        StateError: it is too large, or cannot be written.
    """
    data = msgspec.json.encode(_File(servers=servers))
    if len(data) > MAX_BYTES:
        raise StateError(
            f"the tools of all servers take {len(data)} bytes, of which at most {MAX_BYTES} are kept: the next start "
            "waits for the servers; hide tools that nobody needs"
        )
    try:
        write_private(path, data)
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}; check the disk") from None


class Kept:
    """The file and what is in it. One that cannot be read or written costs the head start, and is logged."""

    def __init__(self, path: Path, log: Log) -> None:
        self._path = path
        self._log = log
        self._servers: dict[str, KeptServer] = {}
        self._writing: asyncio.Task[None] | None = None
        self._stale = False
        self._writable = True
        self._said = ""

    async def open(self) -> None:
        try:
            self._servers = await asyncio.to_thread(load, self._path)
        except StateError as error:
            self._writable = not isinstance(error, NewerState)  # it is theirs, and nothing of it may be lost
            self._log.warning("kept_catalogue_unusable", error=error.message)

    def find(self, name: str, settings: UpstreamSettings) -> KeptServer | None:
        """What is known of a server that was reached in this very way; under another name, if it has been renamed."""
        connection = fingerprint(settings)
        found = self._servers.get(name)
        if found is not None and found.connection == connection:
            return found
        return next((other for other in self._servers.values() if other.connection == connection), None)

    def update(self, servers: dict[str, KeptServer]) -> None:
        """Has the servers written down, if they have changed; `close` waits for that."""
        if {name: _plain(one) for name, one in servers.items()} == {n: _plain(one) for n, one in self._servers.items()}:
            return
        self._servers = servers
        if not self._writable:
            return
        self._stale = True
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        while self._stale:
            self._stale = False
            said = ""
            try:
                await asyncio.to_thread(save, self._path, self._servers)
            except StateError as error:
                said = error.message
                if not self._said:
                    self._log.warning("kept_catalogue_not_written", error=said)
            self._said = said


def _plain(server: KeptServer) -> tuple[str, bool, list[bytes]]:
    return server.connection, server.probes, [bytes(tool) for tool in server.tools]
