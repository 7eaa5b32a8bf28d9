"""An upstream server behind the HTTP+SSE transport of 2024: one stream carries what it says, we POST beside it."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urljoin

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared._httpx_utils import stream_within_origin

from actors.upstream.http_client import (
    NOTICE_SECONDS,
    UNREACHED,
    WRITE_SECONDS,
    one_line,
    origin,
    status_error,
    transport_text,
)
from bus import jsonrpc
from bus.errors import BusError, PeerUnavailable
from bus.rpc import NotSent, OnNotification, OnRequest, Rpc, RpcError
from bus.tasks import end


class SsePeer(Rpc):
    """The connection to one server; closed when its stream ends. Made by `SsePeer.open`."""

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
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._posts: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._end_reason = "its stream ended"
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._receive()), loop.create_task(self._send())]

    async def opened(self) -> None:
        """Waits until the server has named the address to POST to.

        Raises:
            BusError: it cannot be reached, or refuses.
        """
        try:
            await asyncio.shield(self._endpoint)
        except BaseException:
            await self.close()
            raise

    def start(self, method: str, params: bytes | None) -> tuple[int, asyncio.Future[bytes]]:
        self._check_open()
        number = next(self._numbers)
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._posts.put_nowait((number, jsonrpc.request(str(number).encode(), method, params)))
        return number, future

    async def close(self) -> None:
        self._end()
        await end(self._tasks)
        self._endpoint.cancel()
        await self._client.aclose()

    def end_text(self) -> str:
        return self._end_reason

    def _write(self, frame: bytes) -> None:
        self._check_open()
        self._posts.put_nowait((0, frame))

    def _check_open(self) -> None:
        if self.closed.is_set():
            raise NotSent(f"the connection to {self.name} is closed: {self._end_reason}")

    async def _receive(self) -> None:
        """Reads the stream to its end, which is the connection's."""
        try:
            await self._events()
        except httpx2.SSEError:
            self._lost(RpcError(f"an answer is over the limit of {self._max_bytes} bytes (max_upstream_bytes)"))
        except httpx2.HTTPError as error:
            self._lost(PeerUnavailable(transport_text(error, self._url)))
        except OAuthFlowError as error:
            self._lost(RpcError(str(error)))
        except BusError as error:
            self._lost(error)
        finally:  # whatever happened, nothing more will come
            self._lost(PeerUnavailable(f"{origin(self._url)} ended its stream"))

    async def _events(self) -> None:
        headers = {"accept": "text/event-stream"}
        async with stream_within_origin(self._client, "GET", self._url, headers=headers) as response:
            if response.status_code != 200:
                raise self._refusal(response)
            if not response.headers.get("content-type", "").startswith("text/event-stream"):
                raise RpcError(f"{origin(self._url)} sends no event stream; is its transport streamable_http?")
            async for event in httpx2.EventSource(response, max_event_size=self._max_bytes):
                if event.event == "endpoint":
                    self._found(event.data)
                elif event.event == "message":
                    self._frame(one_line(event.data.encode()))

    def _found(self, address: str) -> None:
        try:
            endpoint = urljoin(self._url, address)
            httpx2.URL(endpoint)
        except (ValueError, httpx2.InvalidURL):
            raise RpcError(f"{origin(self._url)} wants its messages at something that is no address") from None
        if origin(endpoint) != origin(self._url):
            raise RpcError(f"{origin(self._url)} wants its messages at another place ({origin(endpoint)}); refused")
        if not self._endpoint.done():
            self._endpoint.set_result(endpoint)

    def _lost(self, error: BusError) -> None:
        if self.closed.is_set():
            return
        self._end_reason = error.message
        if not self._endpoint.done():
            self._endpoint.set_exception(error)
        self._end()

    async def _send(self) -> None:
        """POSTs what is to be sent: requests side by side, the rest in order."""
        with contextlib.suppress(BusError):  # `opened` reports it
            endpoint = await asyncio.shield(self._endpoint)
            async with asyncio.TaskGroup() as group:
                while True:
                    number, frame = await self._posts.get()
                    if number:
                        group.create_task(self._send_request(endpoint, number, frame))
                    else:
                        await self._post(endpoint, frame, NOTICE_SECONDS)

    async def _send_request(self, endpoint: str, number: int, frame: bytes) -> None:
        """One that fails ends its own request only."""
        failure = await self._post(endpoint, frame, WRITE_SECONDS)
        future = self._waiting.pop(number, None) if failure is not None else None
        if future is not None and failure is not None and not future.done():
            future.set_exception(failure)

    async def _post(self, endpoint: str, frame: bytes, seconds: float) -> BusError | None:
        headers = {"content-type": "application/json"}
        try:
            async with stream_within_origin(
                self._client, "POST", endpoint, content=frame.rstrip(), headers=headers, timeout=seconds
            ) as response:
                if response.status_code >= 300:
                    return self._refusal(response)
        except UNREACHED as error:
            return NotSent(f"{self.name}: {transport_text(error, self._url)}")
        except httpx2.HTTPError as error:
            return PeerUnavailable(f"{self.name}: {transport_text(error, self._url)}")
        except OAuthFlowError as error:
            return RpcError(str(error))
        return None

    def _refusal(self, response: httpx2.Response) -> RpcError:
        after = response.headers.get("retry-after", "")
        return status_error(response.status_code, self._url, self._server, after)
