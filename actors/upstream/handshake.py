"""The beginning of a session with a server: `initialize`, then every page of `tools/list`."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from bus import jsonrpc
from bus.build import VERSION
from bus.rpc_peer import RpcError, RpcPeer

PROTOCOL_VERSION = "2025-11-25"
MAX_PAGES = 1_000


@dataclass(frozen=True)
class Session:
    """What a server said about itself.

    Attributes:
        tools: the JSON of each tool, in order, as it came.
        warnings: oddities for people, e.g. a cursor that does not advance.
    """

    server_info: str
    protocol_version: str
    instructions: str
    tools: list[bytes] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def open_session(peer: RpcPeer, timeout: float) -> Session:
    """Shakes hands and lists the tools. `timeout` bounds each single request.

    A session that clients share cannot tell whose call a request from the server belongs to, so none of sampling,
    elicitation and roots is declared.

    Raises:
        RpcError, PeerUnavailable, DeadlineExceeded; msgspec.MsgspecError for an answer of another shape.
    """
    params = {
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "memtomem-bus", "version": VERSION},
    }
    answer = jsonrpc.value(await peer.request("initialize", jsonrpc.encode(params), timeout=timeout))
    peer.notify("notifications/initialized")
    info = answer.get("serverInfo") or {}
    tools, warnings = await list_tools(peer, timeout)
    return Session(
        server_info=f"{info.get('name', '')} {info.get('version', '')}".strip(),
        protocol_version=str(answer.get("protocolVersion", "")),
        instructions=str(answer.get("instructions") or ""),
        tools=tools,
        warnings=warnings,
    )


class _Page(msgspec.Struct):
    tools: list[msgspec.Raw]
    nextCursor: str | None = None


async def list_tools(peer: RpcPeer, timeout: float) -> tuple[list[bytes], list[str]]:
    """All pages of `tools/list`; a cursor that was seen before ends the list with a warning.

    Raises:
        as `open_session`; a server without tools gives an empty list.
    """
    tools: list[bytes] = []
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        params = None if cursor is None else jsonrpc.encode({"cursor": cursor})
        try:
            page = msgspec.json.decode(await peer.request("tools/list", params, timeout=timeout), type=_Page)
        except RpcError as error:
            if cursor is None and _is_method_not_found(error):
                return [], []
            raise
        tools += [bytes(tool) for tool in page.tools]
        cursor = page.nextCursor
        if not cursor:
            return tools, []
        if cursor in seen:
            return _without_repeats(tools), [f"the cursor of tools/list repeats after {len(seen)} pages; stopped there"]
        seen.add(cursor)
    return tools, [f"tools/list has more than {MAX_PAGES} pages; stopped there"]


def _is_method_not_found(error: RpcError) -> bool:
    found = jsonrpc.value(error.raw) if error.raw else {}
    return isinstance(found, dict) and found.get("code") == jsonrpc.METHOD_NOT_FOUND


def _without_repeats(tools: list[bytes]) -> list[bytes]:
    return list(dict.fromkeys(tools))
