"""The one connection of the cluster to its long-term memory: warmed at start, reconnected with back-off.

The LTM is any MCP server with `mem_search`; see `ltm_link` for how it is reached.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from actors.surfacer.ltm_link import Link
from actors.surfacer.ltm_reply import (
    Abilities,
    Found,
    LtmFault,
    read_abilities,
    read_compose,
    read_scratch,
    read_search,
    read_tools,
    structured_of,
    text_of,
)
from actors.surfacer.memory import Memory
from bus.errors import BusError, DeadlineExceeded, PeerUnavailable, Refused
from bus.rpc import RpcError
from config.credentials import mask

State = Literal["starting", "ready", "down"]

CANDIDATES = 20
"""Hits asked for: enough to see which words are common among them."""
START_SECONDS = 30.0
WRITE_SECONDS = 10.0
PROPOSAL_SOURCE = "memtomem-bus"
"""Who proposes, as the LTM's review queue shows it."""
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0
_STABLE_SECONDS = 60.0
SCRATCH_SECONDS = 0.1
"""More than working memory may take once the search is over: what was found is not to be lost for it."""
_MOST_SCRATCH_MISSES = 3
_COMPOSE_SCHEMA = 2
_MOST_PAGES = 20


class Ltm:
    """A reconnecting session.

    Args:
        connect: opens a link to the server, handshake included.
        kind: what `health` calls it: `embedded`, a command, or a host.

    Attributes:
        state: `starting` until the first connection, then `ready` or `down`.
        error: why it is down, one line.
        abilities: of the present or last connection.
    """

    def __init__(self, connect: Callable[[], Awaitable[Link]], kind: str) -> None:
        self.kind = kind
        self.state: State = "starting"
        self.error = ""
        self.abilities = Abilities()
        self.scale = ""
        self._connect = connect
        self._link: Link | None = None
        self._has_scratch = True
        self._scratch_misses = 0
        self._wanted = asyncio.Event()
        self._readiness = asyncio.Event()

    async def run(self, on_change: Callable[[], None] = lambda: None) -> None:
        """Keeps the connection until cancelled.

        Args:
            on_change: called after `state` has changed.
        """
        delay = FIRST_RETRY_SECONDS
        loop = asyncio.get_running_loop()
        while True:
            link = None
            started = loop.time()
            try:
                async with asyncio.timeout(START_SECONDS):
                    link = await self._connect()
                    self.abilities = await self._learn(link)
                self._link, self.state, self.error = link, "ready", ""
                self._has_scratch, self._scratch_misses = True, 0
                self._readiness.set()
                on_change()
                await link.closed.wait()
                self.error = f"the connection to {self.kind} was lost"
            except TimeoutError:
                self.error = f"{self.kind} did not answer within {START_SECONDS:g} s; check ltm_mcp_command"
            except (BusError, OSError) as error:
                self.error = mask(getattr(error, "message", "")) or f"cannot start {self.kind}: {error}"
            finally:
                self._link = None
                self._readiness.clear()
                if link is not None:
                    await link.close()
            self.state = "down"
            on_change()
            delay = FIRST_RETRY_SECONDS if loop.time() - started > _STABLE_SECONDS else delay
            self._wanted.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), delay)
            delay = min(delay * 2, LONGEST_RETRY_SECONDS)

    async def wait_ready(self, timeout: float) -> None:
        """Waits for the connection, ending a back-off pause; returns after `timeout` seconds at the latest."""
        self._wanted.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._readiness.wait(), timeout)

    async def search(
        self,
        query: str,
        *,
        timeout: float,
        namespace: str = "",
        limit: int = CANDIDATES,
        style: Literal["structured", "compact"] = "structured",
        context_window: int = 0,
        rerank: bool | None = None,
        session_context: bool = False,
    ) -> Found:
        """Searches for memories.

        Args:
            timeout: seconds for the whole search.
            rerank: `None` leaves it to the LTM.
            session_context: adds the LTM's working memory as candidates, where it has one.

        Raises:
            PeerUnavailable: not connected (yet), or lost meanwhile. LtmFault: it answered with an error.
            DeadlineExceeded: no answer in time.
        """
        link = self._ready()
        arguments: dict[str, object] = {
            "query": query,
            "top_k": limit,
            "namespace": namespace or None,
            "context_window": context_window or None,
            "rerank": rerank,
        }
        async with self._within(timeout):
            if self.abilities.compose >= _COMPOSE_SCHEMA:
                params = {k: v for k, v in arguments.items() if v is not None}
                found = read_compose(text_of(await self._do(link, "context_compose", params, timeout)))
            else:
                is_known = style in self.abilities.formats or not self.abilities.formats
                arguments["output_format"] = style if is_known else None
                found = read_search(text_of(await self._call(link, "mem_search", arguments, timeout)))
            self.scale = found.scale or self.scale
            if session_context and self._has_scratch and "mem_do" in self.abilities.tools:
                found = replace(found, memories=(*found.memories, *await self._scratch(link)))
        return found

    async def add(
        self, content: str, *, title: str, namespace: str, tags: tuple[str, ...]
    ) -> tuple[str, dict[str, Any]]:
        """Adds a note; returns what the LTM said and its structured content.

        Raises:
            as `search`, and Refused: this LTM cannot take notes.
        """
        link = self._ready()
        if "mem_add" not in self.abilities.tools:
            raise Refused(f"the LTM ({self.kind}) offers no mem_add; add the note with its own tools")
        arguments = {
            "content": content,
            "title": title or None,
            "namespace": namespace or None,
            "tags": list(tags) or None,
        }
        result = await self._call(link, "mem_add", arguments, WRITE_SECONDS)
        return text_of(result), structured_of(result)

    async def boost(self, chunk_ids: list[str]) -> None:
        """Raises the rank of memories that were helpful (`increment_access`); raises as `search`."""
        link = self._ready()
        if "mem_do" in self.abilities.tools and chunk_ids:
            text_of(await self._do(link, "increment_access", {"chunk_ids": chunk_ids}, WRITE_SECONDS))

    async def propose(self, content: str, *, source_ref: str, idempotency_key: str) -> str:
        """Submits a pending memory (`candidate_propose`), if `abilities.propose`; returns what the LTM said.

        Raises:
            as `search`.
        """
        params: dict[str, object] = {"content": content, "source": PROPOSAL_SOURCE, "idempotency_key": idempotency_key}
        if source_ref:
            params["source_ref"] = source_ref
        return text_of(await self._do(self._ready(), "candidate_propose", params, WRITE_SECONDS))

    @property
    def is_ready(self) -> bool:
        """Whether a search can begin now; false as soon as the connection is lost, before `state` says so."""
        return self._link is not None and not self._link.closed.is_set()

    def _ready(self) -> Link:
        if self._link is None or self._link.closed.is_set():
            raise PeerUnavailable(f"the LTM ({self.kind}) is {self.state}{': ' + self.error if self.error else ''}")
        return self._link

    async def _call(self, link: Link, tool: str, arguments: Mapping[str, object], timeout: float) -> bytes:
        params = {"name": tool, "arguments": self.abilities.accepts(tool, arguments)}
        return await link.request("tools/call", msgspec.json.encode(params), timeout)

    async def _do(self, link: Link, action: str, params: Mapping[str, object], timeout: float) -> bytes:
        return await self._call(link, "mem_do", {"action": action, "params": params}, timeout)

    async def _scratch(self, link: Link) -> tuple[Memory, ...]:
        """The LTM's working memory; empty when it has none, or does not answer in `SCRATCH_SECONDS`."""
        try:
            found = read_scratch(text_of(await self._do(link, "scratch_get", {}, SCRATCH_SECONDS)))
        except (LtmFault, RpcError):
            self._has_scratch = False
        except BusError:
            self._scratch_misses += 1
            self._has_scratch = self._scratch_misses < _MOST_SCRATCH_MISSES
        else:
            self._scratch_misses = 0
            return found
        return ()

    @contextlib.asynccontextmanager
    async def _within(self, seconds: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                yield
        except TimeoutError:
            raise DeadlineExceeded(f"the LTM ({self.kind}) did not answer within {seconds:g} s") from None

    async def _learn(self, link: Link) -> Abilities:
        tools: dict[str, frozenset[str] | None] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            params = msgspec.json.encode({} if cursor is None else {"cursor": cursor})
            page, following = read_tools(await link.request("tools/list", params, START_SECONDS))
            tools |= page
            if following is None or following == cursor:
                break
            cursor = following
        if "mem_search" not in tools:
            raise LtmFault(f"{self.kind} offers no mem_search, so it is no LTM; check ltm_mcp_command")
        version = ""
        if "mem_do" in tools:
            with contextlib.suppress(LtmFault, RpcError):  # optional: without it, less is known
                arguments = Abilities(tools=tools).accepts("mem_do", {"action": "version", "params": {}})
                params = msgspec.json.encode({"name": "mem_do", "arguments": arguments})
                version = text_of(await link.request("tools/call", params, START_SECONDS))
        return read_abilities(link.server, tools, version)
