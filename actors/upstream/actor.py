"""The upstream pool as an actor."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Awaitable

from actors.telemetry.messages import FaultEvent
from actors.upstream.cache_store import CacheStore
from actors.upstream.cached_calls import CachedCalls, CallOf, Relay
from actors.upstream.calling import Ask, tool_params
from actors.upstream.exposure import DEFAULT_CLIENT_SERVER_NAME
from actors.upstream.library import LibraryActor
from actors.upstream.messages import (
    Authorize,
    CacheStats,
    CallResult,
    CallTool,
    Catalogue,
    ClearCache,
    Cleared,
    GetCacheStats,
    GetServers,
    LoggedIn,
    LogIn,
    UpstreamDied,
    WatchCatalogue,
)
from actors.upstream.pool import Pool
from bus.actor import Context, handles, streams
from bus.errors import Refused
from config.expand import expand_upstream
from config.place import Place
from config.problems import did_you_mean, printable
from config.schema import Settings
from config.watch import ConfigWatcher

CONCURRENCY = 1_024
"""Calls in flight: they only wait, so many cost little; a gateway bounds its own before that."""
PROBE_SECONDS = 5.0
"""How often it is looked whether tools that are withheld as unhealthy may be probed."""


class UpstreamActor(LibraryActor):
    """Owns the servers behind the gateway."""

    name = "upstream"

    def __init__(self, place: Place) -> None:
        super().__init__(place, concurrency=CONCURRENCY)
        self._place = place

    async def setup(self) -> None:
        watcher = ConfigWatcher(self._place, log=self.log)
        client_name = os.environ.get("MMS_CLIENT_SERVER_NAME") or DEFAULT_CLIENT_SERVER_NAME
        self._pool = Pool(self._place, client_name, self.log, self._rests)
        self._pool.catalogue.config_error = _config_error(watcher)
        self._cached = CachedCalls(
            CacheStore(self._place.state / "cache.db", self._cache_fault), self._pool.catalogue.caching
        )
        self._bound_cache(watcher.current.settings)
        self.spawn(self._cached.open(), name="open-cache")
        await self._pool.start(watcher.current.settings)
        self.spawn(self._review_cache(), name="review-cache")
        self.spawn(self._probe_tools(), name="probe-tools")
        self.spawn(self._follow(watcher), name="follow-configuration")

    async def teardown(self) -> None:
        await self._cached.close()
        await self._pool.stop()

    @handles(CallTool)
    async def call(self, request: CallTool, context: Context) -> CallResult:
        found = self._pool.find(request.server, request.tool)
        dedicated = found.server.settings.session == "dedicated"

        def fetch(deadline: float, relay: Relay | None) -> Awaitable[CallResult]:
            ask = Ask(
                "tools/call",
                tool_params(request.params.data, request.tool),
                request.tool,
                found.read_only,
                deadline,
                on_progress=relay,
                capabilities=request.capabilities,
                log_level=request.log_level,
                handshake=request.handshake,
            )
            return self._pool.call(request.server, request.session, ask)

        call = CallOf(
            found.server,
            request.server,
            request.tool,
            request.params.data,
            found.caching,
            found.writes,
            client=request.session if dedicated else "",
        )
        deadline = self._pool.deadline(request.server, context.remaining())
        try:
            return await self._cached.call(call, deadline, context.emit if request.progress else None, fetch)
        except UpstreamDied as error:
            self.events.add(
                FaultEvent(component=f"upstream:{request.server}", what="died_in_call", trace_id=context.trace_id)
            )
            raise error

    @handles(ClearCache)
    async def clear_cache(self, request: ClearCache, context: Context) -> Cleared:
        self._check_scope(request.server, request.tool)
        return Cleared(entries=await self._cached.clear(request.server, request.tool))

    @handles(GetCacheStats)
    async def cache_stats(self, request: GetCacheStats, context: Context) -> CacheStats:
        return await self._cached.stats()

    @handles(LogIn)
    async def log_in(self, request: LogIn, context: Context) -> LoggedIn:
        server = self._pool.newest(request.server)
        settings = expand_upstream(server.name, server.settings, os.environ)
        await asyncio.to_thread(importlib.import_module, "actors.upstream.login")  # the SDK, 0.7 s
        from actors.upstream.login import log_in

        file = await log_in(
            server.name, settings, self._place.tokens, lambda address: context.emit(Authorize(address=address))
        )
        self._cached.forget(server.name)  # it may be another person's account now
        server.retry_now()
        return LoggedIn(file=str(file))

    @handles(GetServers)
    async def servers(self, request: GetServers, context: Context) -> Catalogue:
        return self._pool.catalogue.snapshot()

    @streams(WatchCatalogue)
    async def watch(self, request: WatchCatalogue, context: Context) -> AsyncIterator[Catalogue]:
        catalogue = await self._pool.catalogue.first()
        while True:
            yield catalogue
            catalogue = await self._pool.catalogue.next(catalogue)

    async def _probe_tools(self) -> None:
        while True:
            await asyncio.sleep(PROBE_SECONDS)
            await self._pool.probe()

    def _rests(self, server: str, detail: str) -> None:
        self.log.warning("breaker_open", server=server, detail=detail)
        self.events.add(FaultEvent(component=f"upstream:{server}", what="breaker_open", detail=detail))

    async def _follow(self, watcher: ConfigWatcher) -> None:
        async for loaded in watcher:
            self._pool.catalogue.config_error = _config_error(watcher)
            if watcher.error:
                self.log.warning("config_unusable", error=watcher.error)
            else:
                self.log.info("config_loaded", generation=loaded.generation)
            self._pool.apply(loaded.settings)
            self._bound_cache(loaded.settings)
            await self._cached.review(self._pool.catalogue.exposes)

    async def _review_cache(self) -> None:
        """A tool that begins to write loses what is cached of it."""
        catalogue = self._pool.catalogue.current
        while True:
            catalogue = await self._pool.catalogue.next(catalogue)
            await self._cached.review(self._pool.catalogue.exposes)

    def _check_scope(self, server: str, tool: str) -> None:
        """Raises Refused when a scope names what does not exist: nothing would be cleared, and nobody would know."""
        known = self._pool.known()
        for name, entry in self._cached.scopes():
            known.setdefault(name, set()).add(entry)
        if server and server not in known:
            what = f"there is no server {printable(server)}{did_you_mean(server, known)}"
            raise Refused(f"{what}; `mms list` shows the servers")
        listed = known[server] if server else {name for tools in known.values() for name in tools}
        if tool and listed and tool not in listed:
            where = f"server {server} has no tool" if server else "no server has a tool"
            what = f"{where} {printable(tool)}{did_you_mean(tool, listed)}"
            raise Refused(f"{what}; it is the server's own name for it that counts")

    def _bound_cache(self, settings: Settings) -> None:
        self._cached.limit(settings.proxy.cache.max_entries, settings.proxy.cache.max_bytes)

    def _cache_fault(self, what: str, detail: str) -> None:
        self.log.error(what, detail=detail)
        self.events.add(FaultEvent(component="upstream:cache", what=what, detail=detail))


def _config_error(watcher: ConfigWatcher) -> str:
    """What people must know of a configuration that cannot be used, wholly or in part."""
    errors = [problem.message for problem in watcher.current.problems if problem.level == "error"]
    return watcher.error or (errors[0] if errors else "")
