"""An upstream server behind Streamable HTTP: each request is a POST, its answer a JSON body or a stream of events.

Frames travel as the bytes they are: the SDK's transport would parse and re-format them, and one failed POST in it ends
every call in flight. What is the SDK's here are the rules of headers and redirects, and OAuth (`oauth`).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import msgspec
from mcp.client.auth import OAuthFlowError
from mcp.shared._httpx_utils import stream_within_origin
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)

from actors.upstream.era import META
from actors.upstream.http_client import (
    NOTICE_SECONDS,
    RESTARTED,
    UNREACHED,
    WRITE_SECONDS,
    is_forgotten,
    one_line,
    origin,
    status_error,
    transport_text,
)
from bus import jsonrpc
from bus.errors import PeerUnavailable
from bus.rpc import NotSent, OnNotification, OnRequest, Rpc, RpcError, SessionLost, TooLarge
from bus.tasks import end

SESSION_HEADER = "mcp-session-id"
RETRY_SECONDS = 1.0
"""Wait before a broken stream is opened again, unless the server names another."""
SHORTEST_WAIT, LONGEST_WAIT = 0.1, 60.0
"""What a server may name, in seconds."""
MAX_REOPENS = 3
"""Failures in a row after which a stream is given up; one that brings nothing new has failed."""
QUICK_SECONDS = 1.0
"""A subscription that is cut sooner says nothing of the server: something on the way lets none stand."""
GOODBYE_SECONDS = 1.0
DRAIN_SECONDS = 300.0

_VERSION_KEY = (META + "protocolVersion").encode()
_draining: set[asyncio.Task[None]] = set()


class HttpPeer(Rpc):
    """The connection to one server. A server that forgot our session (it was restarted) closes it.

    Args:
        client: belongs to the peer from now on.
        max_bytes: largest answer accepted.
    """

    def __init__(
        self,
        server: str,
        url: str,
        client: httpx2.AsyncClient,
        *,
        max_bytes: int,
        on_notification: OnNotification | None,
        on_request: OnRequest | None,
    ) -> None:
        super().__init__(f"upstream {server}", on_notification, on_request)
        self._server = server
        self._url = url
        self._client = client
        self._max_bytes = max_bytes
        self._session_id = ""
        self._version = ""
        self._exchanges: dict[int, asyncio.Task[None]] = {}
        self._stateless: set[int] = set()
        self._side: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Task[None] | None = None
        self._parameter_headers: dict[str, dict[tuple[str, ...], str]] = {}
        self._end_reason = "it was closed"

    def start(self, method: str, params: bytes | None) -> tuple[int, asyncio.Future[bytes]]:
        self._check_open()
        loop = asyncio.get_running_loop()
        number = next(self._numbers)
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting[number] = future
        if method in ("initialize", "tools/list"):
            future.add_done_callback(lambda done: self._learn(method, done))  # before whoever asked goes on
        task = loop.create_task(self._exchange(number, method, params))
        self._exchanges[number] = task
        task.add_done_callback(lambda _: self._exchanges.pop(number, None))
        return number, future

    def cancel(self, number: int, reason: str) -> None:
        future = self._waiting.pop(number, None)
        if future is None:
            return
        future.cancel()
        task = self._exchanges.get(number)
        if task is not None:
            task.cancel()  # closing its stream is all the notice that a server of the stateless era gets
        if number not in self._stateless and not self.closed.is_set():
            self.notify("notifications/cancelled", jsonrpc.encode({"requestId": number, "reason": reason}))

    def notify(self, method: str, params: bytes | None = None) -> None:
        self._check_open()
        first = method == "notifications/initialized"
        seconds = NOTICE_SECONDS if first else WRITE_SECONDS
        task = self._in_background(self._post(jsonrpc.notification(method, params), seconds))
        if first:
            self._opening = task
            if self._session_id:
                self._in_background(self._listen())

    async def close(self) -> None:
        """Ends the session. After the server's end, answers that are still arriving may do so."""
        if self.closed.is_set() and self._exchanges:
            task = asyncio.get_running_loop().create_task(self._drain())
            _draining.add(task)
            task.add_done_callback(_draining.discard)
            return
        alive = not self.closed.is_set()
        self.closed.set()
        self._abandon()
        await end([*self._exchanges.values(), *self._side])
        if alive and self._session_id:
            with contextlib.suppress(httpx2.HTTPError, OAuthFlowError, TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await self._client.delete(self._url, headers=self._headers())
        await self._client.aclose()

    def end_text(self) -> str:
        return self._end_reason

    def _write(self, frame: bytes) -> None:
        self._check_open()
        self._in_background(self._post(frame, WRITE_SECONDS))

    def _check_open(self) -> None:
        if self.closed.is_set():
            raise NotSent(f"the connection to {self.name} is closed: {self._end_reason}")

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._side.add(task)
        task.add_done_callback(self._side.discard)
        return task

    def _retire(self, reason: str) -> None:
        """No new requests; those in flight have connections of their own and may still be answered."""
        if not self.closed.is_set():
            self._end_reason = reason
            self.closed.set()

    async def _drain(self) -> None:
        await asyncio.wait(list(self._exchanges.values()), timeout=DRAIN_SECONDS)
        self._abandon()
        await end([*self._exchanges.values(), *self._side])
        await self._client.aclose()

    # One request.

    async def _exchange(self, number: int, method: str, params: bytes | None) -> None:
        """POSTs a request and settles its future, whatever happens."""
        began = time.monotonic()
        try:
            if self._opening is not None and not self._opening.done():
                await asyncio.wait([self._opening])
            await self._ask(number, method, params)
            self._fail(number, RpcError(f"{origin(self._url)} ended its answer to {method} without a result"))
        except UNREACHED as error:
            reason = transport_text(error, self._url)
            self._retire(reason)
            self._fail(number, NotSent(f"{self.name}: {reason}"))
        except httpx2.HTTPError as error:
            reason = transport_text(error, self._url)
            if method == "subscriptions/listen" and time.monotonic() - began > QUICK_SECONDS:
                self._retire(reason)  # how the restart of a server without sessions shows
            self._fail(number, PeerUnavailable(f"{self.name}: {reason}"))
        except OAuthFlowError as error:
            self._fail(number, RpcError(str(error)))
        finally:
            self._stateless.discard(number)
            self._fail(number, PeerUnavailable(f"{self.name} went away before it answered"))

    async def _ask(self, number: int, method: str, params: bytes | None) -> None:
        body = jsonrpc.request(str(number).encode(), method, params)
        headers = self._headers()
        if params is not None and _VERSION_KEY in params:
            headers |= self._stateless_headers(number, method, params)
        elif method == "initialize":
            headers.pop(MCP_PROTOCOL_VERSION_HEADER, None)
        async with self._stream("POST", headers, body) as response:
            if response.status_code >= 300:
                await self._refused(number, response)
                return
            if method == "initialize":
                self._session_id = response.headers.get(SESSION_HEADER, "")
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream":
                await self._follow(response, number)
                why = f"{origin(self._url)} ended its stream before it answered"
                self._fail(number, PeerUnavailable(f"{self.name}: {why}"))
            elif kind == "application/json":
                content = await self._read(response)
                if content is None:
                    self._fail(number, self._too_large())
                elif content:
                    self._frame(one_line(content), number)
            else:
                self._fail(number, RpcError(f"{origin(self._url)} answered {method} with {kind or 'no content type'}"))

    async def _refused(self, number: int, response: httpx2.Response) -> None:
        """A failing status: the JSON-RPC error in its body if there is one, else what the status means."""
        content = b""
        with contextlib.suppress(httpx2.HTTPError, TimeoutError):  # the status says enough
            async with asyncio.timeout(NOTICE_SECONDS):
                content = await self._read(response) or b""
        if self._session_id and number not in self._stateless and is_forgotten(response.status_code, content):
            self._retire(RESTARTED)
            what = "it no longer knows our session, so it was restarted; nothing has run, call again"
            self._fail(number, SessionLost(what))
            return
        with contextlib.suppress(jsonrpc.FrameError):
            if content.startswith(b"{") and jsonrpc.parse(content)[0].error is not msgspec.UNSET:
                self._frame(one_line(content), number)
        after = response.headers.get("retry-after", "")
        self._fail(number, status_error(response.status_code, self._url, self._server, after))

    async def _follow(self, response: httpx2.Response, number: int) -> None:
        """Reads events until the request is answered; resumes where the stream broke for as long as that brings
        anything new, as it does with servers that do not hold their connections open."""
        last, wait = await self._events(response, number)
        failures = 0
        while last and number in self._waiting and failures < MAX_REOPENS:
            await asyncio.sleep(wait)
            headers = {**self._headers(), "accept": "text/event-stream", "last-event-id": last}
            later = ""
            with contextlib.suppress(httpx2.HTTPError):  # even if nobody is there, the request has been sent
                async with self._stream("GET", headers) as again:
                    if not _is_stream(again):
                        return
                    later, wait = await self._events(again, number)
            failures = failures + 1 if later in ("", last) else 0
            last = later or last

    async def _events(self, response: httpx2.Response, number: int | None) -> tuple[str, float]:
        """Takes events until the stream ends or `number` is answered: the last event's id, and the wait before the
        stream may be opened again, seconds."""
        last, wait = "", RETRY_SECONDS
        try:
            async for event in httpx2.EventSource(response, max_event_size=self._max_bytes):
                last = event.id or last
                if event.retry is not None:
                    wait = min(max(SHORTEST_WAIT, event.retry / 1000), LONGEST_WAIT)
                if event.event == "message":
                    self._frame(one_line(event.data.encode()), number)
                if number is not None and number not in self._waiting:
                    break
        except httpx2.SSEError:
            if number is None:
                raise
            self._fail(number, self._too_large())
        except httpx2.TransportError:
            if not last:
                raise
        return last, wait

    async def _listen(self) -> None:
        """The stream of what belongs to no request. Its end is how a server's restart shows while nothing is asked."""
        last, wait, failures, known = "", RETRY_SECONDS, 0, False
        if self._opening is not None:
            await asyncio.wait([self._opening])
        while failures < MAX_REOPENS and not self.closed.is_set():
            headers = {**self._headers(), "accept": "text/event-stream", **({"last-event-id": last} if last else {})}
            opened = time.monotonic()
            try:
                async with self._stream("GET", headers) as response:
                    status = response.status_code
                    if status == 404 or (known and status == 400):
                        self._retire(RESTARTED)
                        return
                    if _is_stream(response):
                        known = True
                        found, wait = await self._events(response, None)
                        last = found or last
                    elif status != 429 and status < 500:
                        return  # it has no such stream
            except httpx2.SSEError:
                self.junk_lines += 1
            except UNREACHED as error:
                self._retire(transport_text(error, self._url))
                return
            except httpx2.HTTPError:
                wait = RETRY_SECONDS
            except OAuthFlowError:
                return
            failures = 0 if time.monotonic() - opened > RETRY_SECONDS else failures + 1
            await asyncio.sleep(max(wait, RETRY_SECONDS))

    async def _post(self, frame: bytes, seconds: float) -> None:
        """A notification, or an answer to a request of the server: nothing comes back, and a failure fails nothing."""
        with contextlib.suppress(httpx2.HTTPError, OAuthFlowError, TimeoutError):
            async with asyncio.timeout(seconds), self._stream("POST", self._headers(), frame):
                pass

    @asynccontextmanager
    async def _stream(
        self, method: str, headers: dict[str, str], body: bytes | None = None
    ) -> AsyncGenerator[httpx2.Response, None]:
        async with stream_within_origin(
            self._client, method, self._url, headers=headers, content=body and body.rstrip()
        ) as response:
            yield response

    async def _read(self, response: httpx2.Response) -> bytes | None:
        """The body; `None` when it is over the limit."""
        parts, size = [], 0
        async for part in response.aiter_bytes():
            parts.append(part)
            size += len(part)
            if size > self._max_bytes:
                return None
        return b"".join(parts).strip()

    def _headers(self) -> dict[str, str]:
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if self._session_id:
            headers[SESSION_HEADER] = self._session_id
        if self._version:
            headers[MCP_PROTOCOL_VERSION_HEADER] = self._version
        return headers

    def _stateless_headers(self, number: int, method: str, params: bytes) -> dict[str, str]:
        """What a server of the stateless era wants to read in the headers as well."""
        parts = jsonrpc.members(params)
        meta = jsonrpc.value(parts["_meta"]) if "_meta" in parts else {}
        version = meta.get(_VERSION_KEY.decode())
        if not isinstance(version, str):
            return {}
        self._stateless.add(number)
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
        key = NAME_BEARING_METHODS.get(method)
        if key is None or key not in parts:
            return headers
        name = jsonrpc.string(parts[key])
        headers[MCP_NAME_HEADER] = encode_header_value(name)
        wanted = self._parameter_headers.get(name) if method == "tools/call" else None
        if wanted and "arguments" in parts:
            headers |= mcp_param_headers(wanted, jsonrpc.value(parts["arguments"]))
        return headers

    def _learn(self, method: str, answer: asyncio.Future[bytes]) -> None:
        """Keeps what later headers need: the version agreed on, and which arguments a tool wants to see in headers."""
        if answer.cancelled() or answer.exception() is not None:
            return
        result = answer.result()
        if method == "initialize":
            version = jsonrpc.value(result).get("protocolVersion")
            self._version = version if isinstance(version, str) else ""
        elif method == "tools/list" and b'"x-mcp-header"' in result:
            for tool in filter(lambda entry: isinstance(entry, dict), jsonrpc.value(result).get("tools", ())):
                self._parameter_headers[str(tool.get("name"))] = x_mcp_header_map(tool.get("inputSchema"))

    def _fail(self, number: int, error: Exception) -> None:
        future = self._waiting.pop(number, None)
        if future is not None and not future.done():
            future.set_exception(error)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"the answer of {self.name} is over the limit of {self._max_bytes} bytes (max_upstream_bytes)")


def _is_stream(response: httpx2.Response) -> bool:
    return response.status_code == 200 and response.headers.get("content-type", "").startswith("text/event-stream")
