"""A running LTM service over SSE or Streamable HTTP, through the official SDK.

The SDK takes 0.7 s to import, so this module is imported only when such a transport is configured, and the SDK off the
event loop.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from actors.surfacer.ltm_reply import LtmFault
from bus.errors import BusError, ConfigError, DeadlineExceeded, PeerUnavailable
from bus.rpc import RpcError
from config.address import address_fault
from config.credentials import mask
from config.schema_surfacing import SurfacingSettings

if TYPE_CHECKING:
    from mcp import Client

_CONNECT_SECONDS = 30.0
# Closed, session lost by a restart, a redirect; and what the SDK says of a failing HTTP status, under the code that the
# LTM's own errors have, too. A new connection is the only cure of these.
_BROKEN_CODES, _FAILED_STATUS = (-32000, -32600), "Server returned an error response"
_MODULES = ("mcp", "httpx2", "mcp.client.sse", "mcp.client.streamable_http")


class RemoteLink:
    """An SDK client whose contexts are entered and left in one task of its own. Made by `open`."""

    def __init__(self, settings: SurfacingSettings) -> None:
        self.server: Mapping[str, Any] = {}
        self.closed = asyncio.Event()
        self._settings = settings
        self._client: Client | None = None
        self._leave = asyncio.Event()
        self._connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, settings: SurfacingSettings) -> RemoteLink:
        """Connects to `ltm_mcp_url`.

        Raises:
            ConfigError: no URL, or none that can be one. PeerUnavailable: the service cannot be reached, or refuses.
        """
        if not settings.ltm_mcp_url:
            raise ConfigError(f"surfacing.ltm_mcp_url is missing, which transport {settings.ltm_mcp_transport} needs")
        if fault := address_fault(settings.ltm_mcp_url):
            raise ConfigError(f"surfacing.ltm_mcp_url {fault}")
        for module in _MODULES:
            await asyncio.to_thread(importlib.import_module, module)
        link = cls(settings)
        link._task = asyncio.get_running_loop().create_task(link._hold(), name="ltm-link")
        try:
            await asyncio.shield(link._connected)
        except BaseException:
            await link.close()
            raise
        return link

    async def request(self, method: str, params: bytes, timeout: float) -> bytes:
        """`tools/list` and `tools/call`; JSON of the result."""
        from mcp import MCPError

        client = self._client
        if client is None or self.closed.is_set():
            raise PeerUnavailable("the connection to the LTM is closed")
        decoded = msgspec.json.decode(params)
        try:
            async with asyncio.timeout(timeout):
                if method == "tools/list":
                    listed = await client.list_tools(cursor=decoded.get("cursor"))
                    return listed.model_dump_json(by_alias=True, exclude_none=True).encode()
                called = await client.call_tool(decoded["name"], decoded["arguments"])
                return called.model_dump_json(by_alias=True, exclude_none=True).encode()
        except TimeoutError:
            raise DeadlineExceeded(f"the LTM did not answer {method} within {timeout:g} s") from None
        except MCPError as error:
            told = f"the LTM answered: {mask(error.message[:300])}"
            if error.code not in _BROKEN_CODES and error.message != _FAILED_STATUS:
                raise RpcError(told) from None
            self._leave.set()
            raise PeerUnavailable(told) from None
        except Exception as error:
            # What is no MCP, each layer of the SDK refuses in its own way.
            raise LtmFault(f"the LTM's answer to {method} is unreadable: {type(error).__name__}") from None

    async def close(self) -> None:
        self._leave.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _hold(self) -> None:
        import httpx2
        from mcp import Client
        from mcp.client.sse import sse_client
        from mcp.client.streamable_http import streamable_http_client

        settings = self._settings
        headers = settings.ltm_mcp_headers or {}
        try:
            async with AsyncExitStack() as stack:
                if settings.ltm_mcp_transport == "sse":
                    target: Any = sse_client(settings.ltm_mcp_url, headers=headers)
                else:
                    http = await stack.enter_async_context(
                        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(_CONNECT_SECONDS, read=300.0))
                    )
                    target = streamable_http_client(settings.ltm_mcp_url, http_client=http, max_sse_event_size=None)
                self._client = await stack.enter_async_context(Client(target))
                info = self._client.server_info
                self.server = {} if info is None else {"name": info.name, "version": info.version}
                self._connected.set_result(None)
                await self._leave.wait()
        except (Exception, BaseExceptionGroup) as error:
            if not self._connected.done():
                self._connected.set_exception(_unavailable(error))
        finally:
            self._client = None
            self.closed.set()
            if not self._connected.done():
                self._connected.cancel()


def _unavailable(error: BaseException) -> BusError:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return PeerUnavailable(f"cannot reach the LTM: {type(error).__name__}; check surfacing.ltm_mcp_url and its headers")
