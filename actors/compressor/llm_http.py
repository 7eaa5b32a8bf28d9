"""One POST to a model's API. The HTTP library is loaded, off the loop, when the first summary is asked for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from actors.compressor.llm_api import NoSummary
from config.llm import Endpoint

if TYPE_CHECKING:
    import httpx2

MAX_REPLY_BYTES = 4 * 1024 * 1024
OK = 200


class Http:
    """A client with a pool of connections."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._making = asyncio.Lock()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def post(self, where: Endpoint, data: bytes) -> bytes:
        """The body of a reply of status 200. Has no time limit of its own. What it raises holds no part of the
        reply, which may repeat the key.

        Raises:
            NoSummary: another status, a connection that cannot be made or breaks, or far too long a reply.
        """
        async with self._making:
            if self._client is None:
                self._client = await asyncio.to_thread(_client)
        import httpx2

        try:
            async with self._client.stream("POST", where.url, headers=dict(where.headers), content=data) as response:
                if response.status_code != OK:
                    raise NoSummary(f"http {response.status_code}", f"{where.host} answered {response.status_code}")
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    size += len(part)
                    if size > MAX_REPLY_BYTES:
                        raise NoSummary(
                            "malformed", f"the reply of {where.host} is larger than {MAX_REPLY_BYTES} bytes"
                        )
                    parts.append(part)
                return b"".join(parts)
        except httpx2.DecodingError:
            raise NoSummary("malformed", f"the reply of {where.host} cannot be decompressed") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise NoSummary("connection", f"{where.host}: {type(error).__name__}") from None


def _client() -> httpx2.AsyncClient:
    import httpx2

    # A proxy of the environment is not asked for what runs on this machine.
    direct = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
    return httpx2.AsyncClient(timeout=None, follow_redirects=False, mounts=direct)
