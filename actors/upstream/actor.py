"""The upstream pool as an actor."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from actors.telemetry.messages import FaultEvent
from actors.upstream.exposure import DEFAULT_CLIENT_SERVER_NAME
from actors.upstream.messages import CallResult, CallTool, Catalogue, GetServers, UpstreamDied, WatchCatalogue
from actors.upstream.pool import Pool
from bus.actor import Actor, Context, handles, streams
from config.place import Place
from config.watch import ConfigWatcher

CONCURRENCY = 1_024
"""Calls in flight: they only wait, so many cost little; a gateway bounds its own before that."""
ANSWER_SECONDS = 0.05
"""Kept of a caller's deadline for telling it which server did not answer."""


class UpstreamActor(Actor):
    """Owns the servers behind the gateway."""

    name = "upstream"

    def __init__(self, place: Place) -> None:
        super().__init__(place, concurrency=CONCURRENCY)
        self._place = place
        self._pool: Pool

    async def setup(self) -> None:
        watcher = ConfigWatcher(self._place)
        client_name = os.environ.get("MMS_CLIENT_SERVER_NAME") or DEFAULT_CLIENT_SERVER_NAME
        self._pool = Pool(self._place.state / "catalogue.json", self._place.groups, client_name, self.log)
        self._pool.config_error = _config_error(watcher)
        await self._pool.start(watcher.current.settings)
        self.spawn(self._follow(watcher), name="follow-configuration")

    async def teardown(self) -> None:
        await self._pool.stop()

    @handles(CallTool)
    async def call(self, request: CallTool, context: Context) -> CallResult:
        loop = asyncio.get_running_loop()
        left = context.remaining()
        if left is not None:
            left -= ANSWER_SECONDS
        found = self._pool.find(request.server, request.tool)
        deadline = loop.time() + (found.server.settings.overall_deadline_seconds if left is None else left)
        try:
            return await found.server.call(
                request.tool,
                request.params.data,
                read_only=found.read_only,
                deadline=deadline,
                on_progress=context.emit if request.progress else None,
            )
        except UpstreamDied as error:
            self.events.add(
                FaultEvent(component=f"upstream:{request.server}", what="died_in_call", trace_id=context.trace_id)
            )
            raise error

    @handles(GetServers)
    async def servers(self, request: GetServers, context: Context) -> Catalogue:
        return self._pool.snapshot()

    @streams(WatchCatalogue)
    async def watch(self, request: WatchCatalogue, context: Context) -> AsyncIterator[Catalogue]:
        catalogue = await self._pool.first()
        while True:
            yield catalogue
            catalogue = await self._pool.next(catalogue.generation)

    async def _follow(self, watcher: ConfigWatcher) -> None:
        async for loaded in watcher:
            self._pool.config_error = _config_error(watcher)
            if watcher.error:
                self.log.warning("config_unusable", error=watcher.error)
            else:
                self.log.info("config_loaded", generation=loaded.generation)
            await self._pool.apply(loaded.settings)


def _config_error(watcher: ConfigWatcher) -> str:
    """What people must know of a configuration that cannot be used, wholly or in part."""
    errors = [problem.message for problem in watcher.current.problems if problem.level == "error"]
    return watcher.error or (errors[0] if errors else "")
