"""The catalogue of the last run, so that `tools/list` can answer while the servers are still starting."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from bus.errors import NewerState
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
    )
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


def load(path: Path) -> dict[str, KeptServer]:
    """The kept servers; nothing when there is no usable file (it is only a copy).

    Raises:
        NewerState: a newer version of ours wrote it.
    """
    try:
        data = path.read_bytes()
        kept = msgspec.json.decode(data, type=_File)
    except (OSError, msgspec.MsgspecError):
        return {}
    if kept.schema_version > SCHEMA_VERSION:
        raise NewerState(f"{path} was written by a newer version (schema {kept.schema_version}); upgrade memtomem-bus")
    return kept.servers


def save(path: Path, servers: dict[str, KeptServer]) -> None:
    """Writes atomically, 0600. Raises OSError."""
    data = msgspec.json.encode(_File(servers=servers))
    if len(data) > MAX_BYTES:
        return
    temporary = path.with_suffix(".tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    temporary.replace(path)
