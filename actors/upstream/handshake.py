"""The beginning of a conversation with a server, in either era: who it is, what it can do, which tools it has."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace

import msgspec

from actors.upstream.era import CLIENT_INFO, HANDSHAKE, META, STATELESS, STATELESS_VERSION, Dialect, Silent, discover
from bus import jsonrpc
from bus.errors import PeerUnavailable
from bus.rpc import Rpc, RpcError

PROTOCOL_VERSION = "2025-11-25"
MAX_PAGES = 1_000
UNSUPPORTED_VERSION = -32022


class DiedOnProbe(PeerUnavailable):
    """The server went away when it was asked for its era; started again, it must not be asked."""

    code = "died_on_probe"


@dataclass(frozen=True)
class Session:
    """What a server said about itself.

    Attributes:
        dialect: how to write requests to it.
        capabilities: as it declared them.
        silent: it let the probe run into its time limit.
    """

    server_info: str
    protocol_version: str
    instructions: str
    dialect: Dialect = HANDSHAKE
    capabilities: dict[str, object] = field(default_factory=dict)
    silent: bool = False

    def offers(self, feature: str, detail: str = "") -> bool:
        """Whether it declared a capability, and within it a detail such as `subscribe`."""
        found = self.capabilities.get(feature)
        return isinstance(found, dict) and (not detail or found.get(detail) is True)


async def open_session(
    peer: Rpc,
    timeout: float,
    *,
    capabilities: bytes = b"{}",
    probe: bool = True,
    prefers_handshake: bool = False,
) -> Session:
    """Finds the era and begins. `timeout` bounds each single request.

    Args:
        capabilities: JSON of what we can be asked by the server (sampling, elicitation, roots). A session that clients
            share cannot tell whose call such a request belongs to, so it declares none.
        probe: ask with `server/discover`.
        prefers_handshake: but only a server that refuses the handshake. Servers that speak both eras ask their clients
            in that of the connection, and some know only one way.

    Raises:
        DiedOnProbe, RpcError, PeerUnavailable, DeadlineExceeded; msgspec.MsgspecError for an answer of another shape.
    """
    if prefers_handshake:
        try:
            return await _shake_hands(peer, timeout, capabilities)
        except RpcError as refused:
            found = None
            with contextlib.suppress(Silent):
                found = await discover(peer, capabilities) if probe else None
            if found is None:
                raise refused from None
            return _discovered(found)
    silent = False
    if probe:
        try:
            found = await discover(peer, capabilities)
        except Silent:
            silent = True
        except PeerUnavailable:
            if not peer.pid:
                raise  # no child of ours: it was not the question that ended it
            raise DiedOnProbe("it went away when it was asked for its protocol version") from None
        else:
            if found is not None:
                return _discovered(found)
    try:
        session = await _shake_hands(peer, timeout, capabilities)
    except RpcError as refused:
        if not silent or not _speaks_stateless_only(refused):
            raise
        # It was only slow: the probe has reached it first after all, and it has answered that one for good.
        return await open_session(peer, timeout, capabilities=capabilities)
    return replace(session, silent=silent)


async def _shake_hands(peer: Rpc, timeout: float, capabilities: bytes) -> Session:
    params = {
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": msgspec.Raw(capabilities),
        "clientInfo": CLIENT_INFO,
    }
    answer = jsonrpc.value(await peer.request("initialize", jsonrpc.encode(params), timeout=timeout))
    peer.notify("notifications/initialized")
    version = str(answer.get("protocolVersion", ""))
    return _session(answer, answer.get("serverInfo"), version, HANDSHAKE)


def _discovered(answer: dict[str, object]) -> Session:
    meta = answer.get("_meta")
    info = meta.get(META + "serverInfo") if isinstance(meta, dict) else None
    return _session(answer, info, STATELESS_VERSION, STATELESS)


def _session(answer: dict[str, object], info: object, version: str, dialect: Dialect) -> Session:
    about = info if isinstance(info, dict) else {}
    capabilities = answer.get("capabilities")
    return Session(
        server_info=f"{about.get('name', '')} {about.get('version', '')}".strip(),
        protocol_version=version,
        instructions=str(answer.get("instructions") or ""),
        dialect=dialect,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
    )


async def list_tools(peer: Rpc, timeout: float, dialect: Dialect = HANDSHAKE) -> tuple[list[bytes], list[str]]:
    """All pages of `tools/list`, and oddities for people; a server without tools gives an empty list."""
    return await list_pages(peer, "tools/list", "tools", timeout, dialect)


async def list_pages(
    peer: Rpc, method: str, key: str, timeout: float, dialect: Dialect, capabilities: bytes = b""
) -> tuple[list[bytes], list[str]]:
    """The JSON of each entry of every page, in order, as it came; a cursor that was seen before ends the list.

    Args:
        key: member of the result that holds the entries.

    Raises:
        as `open_session`; a method that the server does not have gives an empty list.
    """
    entries: list[bytes] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        own = None if cursor is None else jsonrpc.encode({"cursor": cursor})
        try:
            page = jsonrpc.members(
                await peer.request(method, dialect.params(own, capabilities=capabilities), timeout=timeout)
            )
        except RpcError as error:
            if cursor is None and _is_method_not_found(error):
                return [], []
            raise
        if key not in page:
            raise msgspec.ValidationError(f"Object missing required field `{key}`")
        entries += [bytes(entry) for entry in jsonrpc.elements(page[key])]
        cursor = msgspec.json.decode(page.get("nextCursor", b"null"), type=str | None)
        if not cursor:
            return entries, []
        if cursor in seen:
            return _without_repeats(entries), [f"the cursor of {method} repeats after {len(seen)} pages; stopped there"]
        seen.add(cursor)
    return entries, [f"{method} has more than {MAX_PAGES} pages; stopped there"]


def _is_method_not_found(error: RpcError) -> bool:
    found = jsonrpc.value(error.raw) if error.raw else {}
    return isinstance(found, dict) and found.get("code") == jsonrpc.METHOD_NOT_FOUND


def _speaks_stateless_only(error: RpcError) -> bool:
    """Whether a server refuses the handshake because its connection is of the other era already."""
    found = jsonrpc.value(error.raw) if error.raw else {}
    data = found.get("data") if isinstance(found, dict) else None
    supported = data.get("supported") if isinstance(data, dict) else None
    return found.get("code") == UNSUPPORTED_VERSION and isinstance(supported, list) and STATELESS_VERSION in supported


def _without_repeats(entries: list[bytes]) -> list[bytes]:
    return list(dict.fromkeys(entries))
