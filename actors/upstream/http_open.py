"""Opens the connection to an upstream server behind HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from actors.upstream import oauth
from actors.upstream.http_client import make_client, origin
from actors.upstream.http_peer import HttpPeer
from actors.upstream.sse_peer import SsePeer
from bus.errors import PeerUnavailable
from bus.rpc import OnNotification, OnRequest, Rpc
from config.schema_upstream import UpstreamSettings


async def open_http(
    server: str,
    settings: UpstreamSettings,
    *,
    tokens: Path,
    max_bytes: int,
    on_notification: OnNotification | None,
    on_request: OnRequest | None,
) -> Rpc:
    """The connection to one server, with the tokens of `mms login` if there are any.

    Args:
        settings: expanded.
        tokens: directory of the OAuth tokens.

    Raises:
        ConfigError: the address or a header cannot be used; RpcError, PeerUnavailable: it refuses, or is not there.
    """
    file = oauth.token_file(tokens, server)
    kept = await asyncio.to_thread(oauth.load, file, settings.url)
    auth = oauth.stored_login(server, settings, file, kept) if kept is not None else None
    client = await asyncio.to_thread(make_client, settings, auth)
    make = HttpPeer if settings.transport == "streamable_http" else SsePeer
    peer: HttpPeer | SsePeer = make(
        server,
        settings.url,
        client,
        max_bytes=max_bytes,
        on_notification=on_notification,
        on_request=on_request,
    )
    if isinstance(peer, SsePeer):
        seconds = settings.connect_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await peer.opened()
        except TimeoutError:
            where = origin(settings.url)
            raise PeerUnavailable(f"{where} named no address for messages within {seconds:g} s") from None
    return peer
