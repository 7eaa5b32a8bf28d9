"""Calls through the response cache: a kept answer, or one call to the server for everybody who asks the same."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from actors.upstream import kept
from actors.upstream.cache import Caching, is_complete, is_sensitive, response_key
from actors.upstream.cache_store import CacheStore
from actors.upstream.flights import Flight
from actors.upstream.messages import CacheStats, CallResult, Progress, UpstreamTimeout
from bus.errors import ConfigError
from bus.message import Blob
from bus.tasks import end
from config.credentials import may_hold_credential
from config.expand import expand_upstream
from config.schema_upstream import UpstreamSettings

SMALL_BYTES = 16 * 1024
"""Answers up to this length are looked through on the event loop: a thread would cost more."""

Relay = Callable[[Progress], None]


class Fetch(Protocol):
    """Asks the server, until a loop time; `relay` takes its progress."""

    def __call__(self, deadline: float, relay: Relay | None) -> Awaitable[CallResult]: ...


class Served(Protocol):
    """The server of a call, as far as the cache must know it."""

    @property
    def settings(self) -> UpstreamSettings: ...


@dataclass(frozen=True)
class CallOf:
    """One call.

    Attributes:
        params: JSON object without `name`.
        caching: how its tool is cached; `None` = not at all.
        writes: its tool declares that it writes.
        client: who calls, where the server serves clients apart; else empty.
    """

    served: Served
    server: str
    tool: str
    params: bytes
    caching: Caching | None
    writes: bool
    client: str = ""


@dataclass(eq=False)
class _UnderWay:
    """A call under way that others may join; `relays`: the server was asked to tell its progress."""

    server: str
    tool: str
    relays: bool
    flight: Flight[CallResult, Progress]


class CachedCalls:
    """Everything about calls and their cached answers.

    Args:
        caching: how a server's tool is cached at this moment.
    """

    def __init__(self, store: CacheStore, caching: Callable[[str, str], Caching | None]) -> None:
        self._store = store
        self._caching = caching
        self._opened = asyncio.Event()
        self._under_way: dict[bytes, _UnderWay] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._identities: dict[str, tuple[UpstreamSettings, str]] = {}
        self._forgotten: dict[str, int] = {}
        self._hits = self._misses = self._shared = self._sensitive = 0

    async def open(self) -> None:
        """Opens the store; calls that may be cached wait for it."""
        try:
            await self._store.open()
        finally:
            self._opened.set()
        await asyncio.to_thread(may_hold_credential, "")  # the first use compiles the patterns

    async def close(self) -> None:
        """Ends what is under way and writes what is left."""
        flights = [entry.flight.task for entry in self._under_way.values()]
        await end((*flights, *self._tasks))
        await self._store.close()

    def limit(self, max_entries: int, max_bytes: int) -> None:
        """Sets the bounds of the store, from now on."""
        self._store.limit(max_entries, max_bytes)

    async def call(self, call: CallOf, deadline: float, relay: Relay | None, fetch: Fetch) -> CallResult:
        """The answer, from the store or from the server.

        A call of a tool that declares that it writes drops what is cached of its server: it may be true no longer.

        Args:
            deadline: loop time until which this caller waits.

        Raises:
            what `fetch` raises; UpstreamTimeout: the deadline has passed.
        """
        if call.caching is None:
            if not call.writes:
                return await fetch(deadline, relay)
            await self._opened.wait()
            try:
                return await fetch(deadline, relay)
            finally:
                self.forget(call.server)
        await self._opened.wait()
        key = self._key(call)
        if key is None:
            return await fetch(deadline, relay)
        body = await self._store.get(key, call.caching.ttl)
        if body is not None:
            self._hits += 1
            return CallResult(result=Blob(body), cached=True)
        self._misses += 1
        return await self._join(key, call, deadline, relay, fetch)

    async def clear(self, server: str, tool: str) -> int:
        """Forgets cached answers, also on disk; returns how many.

        Raises:
            StateError: the disk does not forget them.
        """
        await self._opened.wait()
        count = self.forget(server, tool)
        await self._store.settle()
        return count

    def forget(self, server: str = "", tool: str = "") -> int:
        """Drops the answers of a server and tool (empty = all); what is under way now will not be kept either."""
        self._forgotten[server] = self._forgotten.get(server, 0) + 1
        for key, entry in list(self._under_way.items()):
            if server in ("", entry.server) and tool in ("", entry.tool):
                del self._under_way[key]
        return self._store.forget(server, tool)

    def scopes(self) -> list[tuple[str, str]]:
        """The servers and tools of which something is kept."""
        return list(self._store.tools)

    async def review(self, known: Callable[[str, str], bool]) -> None:
        """Drops the answers of tools that are cached no longer (they write now, or the configuration says so).

        Args:
            known: whether a tool is in the catalogue; of one that is away nothing is known, and its answers stay.
        """
        await self._opened.wait()
        for server, tool in self._store.tools:
            if known(server, tool) and self._caching(server, tool) is None:
                self.forget(server, tool)

    async def stats(self) -> CacheStats:
        await self._opened.wait()
        store = self._store
        return CacheStats(
            entries=len(store),
            bytes=store.total_bytes,
            in_memory=store.in_memory,
            hits=self._hits,
            misses=self._misses,
            shared=self._shared,
            sensitive=self._sensitive,
            by_tool=tuple((server, tool, count) for (server, tool), count in store.tools.most_common()),
            error=store.error,
            set_aside=store.set_aside,
        )

    def _key(self, call: CallOf) -> bytes | None:
        identity = self._identity(call)
        return response_key(call.server, call.tool, call.params, identity, call.client) if identity else None

    def _identity(self, call: CallOf) -> str:
        """The fingerprint of the server's connection with its variables resolved; empty when that is not possible."""
        settings = call.served.settings
        known = self._identities.get(call.server)
        if known is None or known[0] is not settings:
            try:
                found = kept.fingerprint(expand_upstream(call.server, settings, os.environ))
            except ConfigError:
                found = ""
            known = self._identities[call.server] = (settings, found)
        return known[1]

    async def _join(self, key: bytes, call: CallOf, deadline: float, relay: Relay | None, fetch: Fetch) -> CallResult:
        loop = asyncio.get_running_loop()
        while True:
            entry = self._under_way.get(key)
            own = entry is None or (relay is not None and not entry.relays)
            if entry is None or own:
                entry = self._begin(key, call, deadline, relay is not None, fetch)
            else:
                self._shared += 1
            try:
                result = await entry.flight.wait(deadline, relay)
            except TimeoutError:
                what = f"upstream {call.server} did not answer {call.tool} within the call's overall deadline"
                raise UpstreamTimeout(what) from None
            except UpstreamTimeout:
                if own or loop.time() >= deadline:
                    raise
                # It was begun long before this caller came, who has time left of its own.
            else:
                # What the server asks of one client is no answer for another.
                return await fetch(deadline, relay) if not own and _asks_back(result) else result

    def _begin(self, key: bytes, call: CallOf, deadline: float, relays: bool, fetch: Fetch) -> _UnderWay:
        """Asks the server; not bound to this caller, who may leave while others go on waiting."""
        overall = asyncio.get_running_loop().time() + call.served.settings.overall_deadline_seconds
        state = self._state(call)

        def work(relay: Relay) -> Awaitable[CallResult]:
            return fetch(max(deadline, overall), relay if relays else None)

        def landed(result: CallResult) -> None:
            if result.result is not None:
                body = result.result.data
                self._spawn(self._keep(key, call, body, state))

        def over() -> None:
            if self._under_way.get(key) is entry:
                del self._under_way[key]

        entry = self._under_way[key] = _UnderWay(call.server, call.tool, relays, Flight(work, landed, over))
        return entry

    async def _keep(self, key: bytes, call: CallOf, body: bytes, state: tuple[object, ...]) -> None:
        """Stores an answer that has been given already, if it may be stored and still holds."""
        if len(body) <= SMALL_BYTES:
            complete, sensitive = is_complete(body), is_sensitive(body)
        else:
            complete, sensitive = await asyncio.to_thread(lambda: (is_complete(body), is_sensitive(body)))
        caching = self._caching(call.server, call.tool)
        self._sensitive += sensitive
        if complete and not sensitive and caching is not None and self._state(call) == state:
            self._store.put(key, call.server, call.tool, body, caching.ttl)

    def _state(self, call: CallOf) -> tuple[object, ...]:
        """What must be the same before and after a call, so that its answer may be kept."""
        return self._identity(call), self._forgotten.get("", 0), self._forgotten.get(call.server, 0)

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _asks_back(result: CallResult) -> bool:
    return result.result is not None and b'"input_required"' in result.result.data
