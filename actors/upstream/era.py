"""The two eras of the protocol, as requests to a server are written in them.

A server of the stateless era (2026-07-28) knows no session: each request says in its `_meta` who asks, in which
version, and what the client can be asked. What is sent to a server of the handshake era stays as it is.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from bus import jsonrpc
from bus.build import VERSION
from bus.errors import DeadlineExceeded
from bus.rpc import Rpc, RpcError

STATELESS_VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
PROBE_SECONDS = 2.0
"""How long a server may think about `server/discover`; one of the handshake era may never answer it."""
CLIENT_INFO = {"name": "memtomem-bus", "version": VERSION}


class Dialect:
    """How requests to one server are written.

    Args:
        stateless: the server is of the stateless era.
    """

    def __init__(self, stateless: bool) -> None:
        self.stateless = stateless

    def params(
        self, params: bytes | None, *, capabilities: bytes = b"", log_level: str = "", token: int = 0
    ) -> bytes | None:
        """`params` with what this era wants in `_meta`, and with a progress token if one is given; the other bytes
        stay as they came."""
        if not self.stateless and not token:
            return params
        meta = _meta(capabilities or b"{}", log_level) if self.stateless else b""
        if token:
            meta += (b"," if meta else b"") + b'"progressToken":%d' % token
        if params is None:
            return b'{"_meta":{' + meta + b"}}"
        parts: dict[str, msgspec.Raw] = jsonrpc.members(params) if b'"_meta"' in params else {}
        foreign = parts.get("_meta")
        if foreign is None:
            rest = params.lstrip()[1:].lstrip()
            return b'{"_meta":{' + meta + b"}" + (b"}" if rest.startswith(b"}") else b"," + rest)
        own = jsonrpc.members(b"{" + meta + b"}")
        return jsonrpc.encode({**parts, "_meta": {**jsonrpc.members(foreign), **own}})


HANDSHAKE = Dialect(False)
STATELESS = Dialect(True)


@lru_cache(maxsize=256)
def _meta(capabilities: bytes, log_level: str) -> bytes:
    """The envelope's members, without braces."""
    meta: dict[str, object] = {
        META + "protocolVersion": STATELESS_VERSION,
        META + "clientInfo": CLIENT_INFO,
        META + "clientCapabilities": msgspec.Raw(capabilities),
    }
    if log_level:
        meta[META + "logLevel"] = log_level
    return jsonrpc.encode(meta)[1:-1]


class Silent(Exception):
    """A server did not answer the probe: asked again, it would cost the same time again."""


async def discover(peer: Rpc, capabilities: bytes) -> dict[str, object] | None:
    """Asks whether the server is of the stateless era: its answer to `server/discover`, or `None` if it is not.

    Raises:
        Silent: no answer in time. PeerUnavailable: the server is gone, as some go when they are asked.
    """
    params = STATELESS.params(None, capabilities=capabilities)
    try:
        answer = jsonrpc.value(await peer.request("server/discover", params, timeout=PROBE_SECONDS))
    except DeadlineExceeded:
        raise Silent from None
    except RpcError:
        return None
    versions = answer.get("supportedVersions")
    if not isinstance(versions, list) or STATELESS_VERSION not in versions:
        return None
    return answer if isinstance(answer.get("capabilities"), dict) else None
