"""Logging in at an upstream server: the SDK's OAuth flow, with a person at a browser in the middle."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared._httpx_utils import stream_within_origin
from mcp.shared.auth import AuthorizationCodeResult
from pydantic import ValidationError

from actors.upstream import oauth
from actors.upstream.era import CLIENT_INFO
from actors.upstream.handshake import PROTOCOL_VERSION
from actors.upstream.http_client import make_client, origin, status_error, transport_text
from bus import jsonrpc
from bus.errors import Refused
from config.schema_upstream import UpstreamSettings

REQUEST_SECONDS = 5.0
MAX_REQUEST_BYTES = 16_384
_MALFORMED = (IndexError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
"""What reading a request that is none raises."""
_PAGE = "<!doctype html><title>memtomem-bus</title><p>{}</p>"


async def log_in(server: str, settings: UpstreamSettings, tokens: Path, show: Callable[[str], None]) -> Path:
    """Logs in and keeps the tokens; returns their file.

    Args:
        settings: expanded.
        tokens: directory of the token files.
        show: takes the address that the person has to open.

    Raises:
        Refused: it needs no login, or the login failed; ConfigError: its address cannot be used.
    """
    if settings.transport == "stdio":
        raise Refused(f"upstream {server} is a program, not an HTTP server; its credentials go into its env")
    async with _Callback() as callback:

        async def redirect(address: str) -> None:
            callback.expect(address)
            show(address)

        login = oauth.new_login(settings, oauth.token_file(tokens, server), callback.address, redirect, callback.wait)
        client = await asyncio.to_thread(make_client, settings, login)
        async with client:
            try:
                status = await _knock(client, settings)
            except httpx2.HTTPError as error:
                raise Refused(f"cannot log in at {server}: {transport_text(error, settings.url)}") from None
            except (OAuthFlowError, ValidationError) as error:
                raise Refused(f"the login at {server} failed: {str(error).splitlines()[0]}") from None
    if not login.is_good:
        raise Refused(f"{origin(settings.url)} asked for no login (HTTP {status})")
    if status >= 400:
        raise status_error(status, settings.url, server)
    await login.keep_metadata()
    return oauth.token_file(tokens, server)


async def _knock(client: httpx2.AsyncClient, settings: UpstreamSettings) -> int:
    """Sends a first request, which starts the flow when it is refused; the status of its last answer."""
    if settings.transport == "sse":
        async with stream_within_origin(client, "GET", settings.url, headers={"accept": "text/event-stream"}) as found:
            return found.status_code
    hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": CLIENT_INFO}
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": PROTOCOL_VERSION,
    }
    body = jsonrpc.request(b"1", "initialize", jsonrpc.encode(hello))
    async with stream_within_origin(client, "POST", settings.url, content=body, headers=headers) as found:
        return found.status_code


class _Callback:
    """The local address to which the authorization server sends the person back."""

    def __init__(self) -> None:
        self._state = ""
        self._result: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server
        self.address = ""

    async def __aenter__(self) -> _Callback:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=MAX_REQUEST_BYTES)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{port}{oauth.CALLBACK_PATH}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._result.cancel()

    def expect(self, address: str) -> None:
        """Only an answer to this authorization request counts."""
        self._state = parse_qs(urlsplit(address).query).get("state", [""])[0]

    async def wait(self) -> AuthorizationCodeResult:
        return await self._result

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, *_MALFORMED):
            async with asyncio.timeout(REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, text = self._answer(head.split(b" ", 2)[1].decode("ascii"))
            page = _PAGE.format(text).encode()
            header = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n"
            writer.write(header.encode() + b"Connection: close\r\n\r\n" + page)
            await writer.drain()
        writer.close()

    def _answer(self, target: str) -> tuple[str, str]:
        """Takes the query of the redirect; a status and what the person reads."""
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if url.path != oauth.CALLBACK_PATH or not self._state or query.get("state") != self._state:
            return "404 Not Found", "This is not what is waited for here."
        if not self._result.done():
            if "code" in query:
                found = AuthorizationCodeResult(code=query["code"], state=query["state"], iss=query.get("iss"))
                self._result.set_result(found)
            else:
                self._result.set_exception(OAuthFlowError(f"it was refused ({query.get('error', 'no code')[:80]})"))
        return "200 OK", "Done. You can close this window and go back to the terminal."
