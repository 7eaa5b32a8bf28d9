"""The two eras of the protocol as clients speak them, and what a frame needs to pass from one to the other.

Which era applies is decided for each request by its own `_meta`: nothing is locked, so a first bad line cannot spoil a
connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from bus import jsonrpc
from bus.build import VERSION

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_VERSION = "2026-07-28"
UNSUPPORTED_VERSION = -32022
RESOURCE_NOT_FOUND = -32002
"""Of the handshake era only; the other one says `INVALID_PARAMS`."""

META = "io.modelcontextprotocol/"
VERSION_KEY = META + "protocolVersion"
CAPABILITIES_KEY = META + "clientCapabilities"
LOG_LEVEL_KEY = META + "logLevel"
SUBSCRIPTION_KEY = META + "subscriptionId"
STATELESS_ONLY = ("resultType", "ttlMs", "cacheScope")
"""Members of a result that only the stateless era has; handshake-era clients would hand them to the application."""
LISTED = {"ttlMs": 0, "cacheScope": "private"}
"""What a list, and the contents of a resource, must say in the stateless era."""
SERVER_INFO = {"name": "memtomem-bus", "title": "memtomem-bus gateway", "version": VERSION}
_ASKABLE = ("elicitation", "sampling", "roots")


class Failure(Exception):
    """Ends a request with a JSON-RPC error; `raw` is the JSON of the error object."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(message)
        self.raw = jsonrpc.error_object(code, message, data)


def check_envelope(meta: Mapping[str, msgspec.Raw]) -> None:
    """Raises the error that a stateless-era server owes to a request with a faulty envelope."""
    version = jsonrpc.value(meta[VERSION_KEY])
    if not isinstance(version, str):
        raise Failure(jsonrpc.INVALID_PARAMS, f"params._meta: {VERSION_KEY} must be a string")
    if version != STATELESS_VERSION:
        data = {"supported": [STATELESS_VERSION], "requested": version}
        raise Failure(UNSUPPORTED_VERSION, f"unsupported protocol version: {version}", data)
    capabilities = meta.get(CAPABILITIES_KEY)
    if capabilities is None or bytes(capabilities)[:1] != b"{":
        problem = "params._meta is missing the required envelope key(s)"
        raise Failure(jsonrpc.INVALID_PARAMS, f"{problem}: {CAPABILITIES_KEY}")


def foreign_meta(meta: Mapping[str, msgspec.Raw] | None) -> bytes | None:
    """What of a request's `_meta` travels on: neither the envelope of an era nor the token of this hop."""
    if meta is None:
        return None
    foreign = {k: v for k, v in meta.items() if not k.startswith(META) and k != "progressToken"}
    return jsonrpc.encode(foreign) if foreign else None


def askable(capabilities: bytes) -> bytes:
    """Of what a client declares, the JSON of that which lets a server ask it something; empty for nothing."""
    if capabilities[:1] != b"{" or capabilities == b"{}":
        return b""
    parts = jsonrpc.members(capabilities)
    found: dict[str, object] = {name: parts[name] for name in _ASKABLE if bytes(parts.get(name, b""))[:1] == b"{"}
    if "elicitation" in found and not jsonrpc.members(parts["elicitation"]):
        found["elicitation"] = {"form": {}}  # what an empty declaration has always meant
    return jsonrpc.encode(found) if found else b""


def without_nulls(raw: bytes) -> dict[str, Any]:
    """The members of a JSON object that are not `null`: some clients refuse a whole list for one."""
    return {key: value for key, value in jsonrpc.members(raw).items() if bytes(value) != b"null"}


def result_meta(raw: bytes, stateless: bool) -> bytes | None:
    """A result's `_meta` for a client of one era; `None` when nothing of it is left."""
    if raw[:1] != b"{":
        return None
    if stateless:
        return raw
    parts = {key: value for key, value in jsonrpc.members(raw).items() if not key.startswith(META)}
    return jsonrpc.encode(parts) if parts else None


def finished(raw: bytes, *, stateless: bool, listed: bool = False, replaced: Mapping[str, Any] | None = None) -> bytes:
    """A result of a server for a client of one era.

    Args:
        listed: it is of those that say how long they may be kept.
        replaced: members in place of the server's.
    """
    parts: dict[str, Any] = {"resultType": "complete"} if stateless else {}
    own = without_nulls(raw)
    for key, value in own.items():
        if key == "_meta":
            meta = result_meta(bytes(value), stateless)
            if meta is not None:
                parts[key] = msgspec.Raw(meta)
        elif key not in STATELESS_ONLY:
            parts[key] = value
    return jsonrpc.encode({**parts, **(_hints(own) if stateless and listed else {}), **(replaced or {})})


def _hints(parts: Mapping[str, Any]) -> Mapping[str, Any]:
    """How long a result may be kept, and by whom: what its server says, if that can be said; else not at all."""
    seconds, scope = bytes(parts.get("ttlMs", b"")), bytes(parts.get("cacheScope", b""))
    if seconds.isdigit() and scope in (b'"public"', b'"private"'):
        return {key: parts[key] for key in LISTED}
    return LISTED


def failed(raw: bytes, stateless: bool) -> bytes:
    """A server's error for a client of one era."""
    if not stateless or str(RESOURCE_NOT_FOUND).encode() not in raw:
        return raw
    parts: dict[str, Any] = dict(jsonrpc.members(raw))
    if jsonrpc.value(parts.get("code", msgspec.Raw(b"0"))) == RESOURCE_NOT_FOUND:
        parts["code"] = jsonrpc.INVALID_PARAMS
    return jsonrpc.encode(parts)
