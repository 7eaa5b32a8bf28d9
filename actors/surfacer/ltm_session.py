"""The beginning of a conversation with an LTM on stdio, in either era of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bus import jsonrpc
from bus.build import VERSION
from bus.rpc import RpcError
from bus.rpc_peer import RpcPeer

HANDSHAKE_VERSION = "2025-11-25"
STATELESS_VERSION = "2026-07-28"
_CLIENT = {"name": "memtomem-bus", "version": VERSION}
_META = "io.modelcontextprotocol/"
_ENVELOPE = jsonrpc.encode(
    {
        _META + "protocolVersion": STATELESS_VERSION,
        _META + "clientInfo": _CLIENT,
        _META + "clientCapabilities": {},
    }
)


@dataclass(frozen=True)
class Session:
    """What the LTM is.

    Attributes:
        server: its `serverInfo`.
        stateless: it wants to be told in each request who asks.
    """

    server: Mapping[str, Any]
    stateless: bool = False

    def params(self, params: bytes) -> bytes:
        """The params of a request (a JSON object without `_meta`) as the LTM wants them."""
        if not self.stateless:
            return params
        rest = params[1:]
        return b'{"_meta":' + _ENVELOPE + (b"" if rest == b"}" else b",") + rest


async def begin(peer: RpcPeer, seconds: float) -> Session:
    """Shakes hands; an LTM that refuses may know the stateless era only, and is asked for that.

    Args:
        seconds: limit of each single request.

    Raises:
        RpcError: it refuses both, with the words in which it refused the handshake. PeerUnavailable, DeadlineExceeded.
    """
    hello = {"protocolVersion": HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": _CLIENT}
    try:
        answer = jsonrpc.value(await peer.request("initialize", jsonrpc.encode(hello), timeout=seconds))
    except RpcError as refused:
        return await _discover(peer, seconds, refused)
    peer.notify("notifications/initialized")
    return Session(_object(answer.get("serverInfo")))


async def _discover(peer: RpcPeer, seconds: float, refused: RpcError) -> Session:
    try:
        params = b'{"_meta":' + _ENVELOPE + b"}"
        answer = jsonrpc.value(await peer.request("server/discover", params, timeout=seconds))
    except RpcError:
        raise refused from None
    versions = answer.get("supportedVersions")
    if not isinstance(versions, list) or STATELESS_VERSION not in versions:
        raise refused
    return Session(_object(_object(answer.get("_meta")).get(_META + "serverInfo")), stateless=True)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
