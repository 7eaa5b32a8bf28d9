"""`stm_admin`: one tool, many actions. Asks the actors that know, and lets `admin_text` say it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from actors.compressor.messages import GetRecallStats, RecallStats
from actors.surfacer.messages import ClearSurfacingCache, GetSurfacerHealth
from actors.telemetry.messages import GetSelectionStats, GetStats, GetTelemetryHealth
from actors.tuner.messages import GetRecommendations
from actors.upstream.messages import ClearCache, GetCacheStats, GetServers
from bus.client import Bus
from bus.errors import BusError
from bus.message import Reply, Request
from config.problems import Problem
from gateway import admin_arguments, admin_text
from gateway.catalogue import CatalogueView
from gateway.compressors import Compressors

ASK_SECONDS = 10.0
START_SECONDS = 8.0
"""How long an actor that is still starting is waited for where nobody else can answer."""
STATS_ROWS = 20
"""Tools and latest calls in one answer."""

R = TypeVar("R", bound=Reply | None)
Known = TypeVar("Known", bound=Reply)


class Admin:
    """Answers the actions.

    Args:
        problems: what is wrong with the configuration, as this gateway has read it.
        compressors: the replicas of the compressor.
    """

    def __init__(
        self,
        bus: Bus,
        catalogue: CatalogueView,
        problems: Callable[[], Sequence[Problem]],
        compressors: Compressors,
    ) -> None:
        self._bus = bus
        self._catalogue = catalogue
        self._problems = problems
        self._compressors = compressors
        self._actions: dict[str, Callable[[dict[str, Any]], Awaitable[str]]] = {
            "proxy_stats": self._proxy_stats,
            "proxy_health": self._proxy_health,
            "proxy_cache_clear": self._proxy_cache_clear,
            "surfacing_stats": self._surfacing_stats,
            "selection_stats": self._selection_stats,
            "compression_stats": self._compression_stats,
            "progressive_stats": self._progressive_stats,
            "tuning_recommendations": self._tuning_recommendations,
        }

    async def answer(self, action: str, params: dict[str, Any] | None) -> str:
        """The text of one action.

        Raises:
            Refused: an argument does not fit. BusError: the actor that knows is not there.
        """
        checked = admin_arguments.read(action, params)
        if action == admin_arguments.HELP:
            return admin_arguments.help_text(checked["action"])
        return await self._actions[action](checked)

    async def _proxy_stats(self, params: dict[str, Any]) -> str:
        (savings, pending), surfacer = await asyncio.gather(
            self._stats("savings", limit=STATS_ROWS), self._if_there(GetSurfacerHealth())
        )
        return admin_text.savings(savings, None if surfacer is None else surfacer.last_hints, pending)

    async def _proxy_health(self, params: dict[str, Any]) -> str:
        catalogue, surfacer, telemetry, recall, cache = await asyncio.gather(
            self._if_there(GetServers()),
            self._if_there(GetSurfacerHealth()),
            self._if_there(GetTelemetryHealth()),
            self._recall(),
            self._if_there(GetCacheStats()),
        )
        parts = admin_text.Health(
            catalogue=catalogue, surfacer=surfacer, telemetry=telemetry, recall=recall, cache=cache
        )
        return admin_text.health(parts, self._problems())

    async def _proxy_cache_clear(self, params: dict[str, Any]) -> str:
        server, tool = self._scope(params["server"] or "", params["tool"] or "")
        cleared = await self._ask(ClearCache(server=server, tool=tool))
        if server or tool:
            return admin_text.cleared(cleared.entries, server, tool)
        await self._ask(ClearSurfacingCache())
        return admin_text.cleared(cleared.entries, "", "")

    async def _surfacing_stats(self, params: dict[str, Any]) -> str:
        (report, pending), surfacer = await asyncio.gather(
            self._stats(
                "surfacing", tool=self._key(params["tool"]), since=params["since"] or "", limit=params["limit"]
            ),
            self._if_there(GetSurfacerHealth()),
        )
        return admin_text.surfacing(report, surfacer, pending)

    async def _selection_stats(self, params: dict[str, Any]) -> str:
        return admin_text.selection(await self._ask(GetSelectionStats()))

    async def _compression_stats(self, params: dict[str, Any]) -> str:
        return admin_text.compression(*await self._stats("compression", tool=self._key(params["tool"])))

    async def _progressive_stats(self, params: dict[str, Any]) -> str:
        return admin_text.progressive(*await self._stats("progressive", tool=self._key(params["tool"])))

    async def _tuning_recommendations(self, params: dict[str, Any]) -> str:
        tool = None if params["tool"] is None else self._key(params["tool"])
        found = await self._ask(GetRecommendations(since_hours=params["since_hours"], tool=tool))
        return admin_text.recommendations(found, params["since_hours"])

    async def _stats(self, report: str, *, tool: str = "", since: str = "", limit: int = 10) -> tuple[Any, int]:
        """A report of telemetry, and how many events are not in it yet."""
        stats = await self._ask(GetStats(report=report, tool=tool, since=since, limit=limit))
        return msgspec.json.decode(stats.data.data), stats.pending

    def _key(self, tool: str | None) -> str:
        """The name under which statistics know a tool that may have been named as it is advertised."""
        entry = self._catalogue.find(tool or "")
        return (tool or "") if entry is None else f"{entry.server}__{entry.tool}"

    def _scope(self, server: str, tool: str) -> tuple[str, str]:
        """The server and its own tool name that a scope means; `tool` may be an advertised name or `server__tool`."""
        entry = self._catalogue.find(tool)
        if entry is not None and server in ("", entry.server):
            return entry.server, entry.tool
        names = [known.name for known in self._catalogue.servers if tool.startswith(f"{known.name}__")]
        named = max(names, key=len, default="")
        if named and server in ("", named):
            return named, tool.removeprefix(f"{named}__")
        return server, tool

    async def _ask(self, request: Request[R]) -> R:
        return await self._bus.ask(request, timeout=ASK_SECONDS, wait=START_SECONDS)

    async def _recall(self) -> RecallStats | None:
        """What the replicas of the compressor that answer hold together."""
        names = [*self._compressors.names, *await self._compressors.former()]
        found = await asyncio.gather(*(self._if_there(GetRecallStats(), name) for name in names))
        parts = [part for part in found if part is not None]
        return RecallStats.together(parts) if parts else None

    async def _if_there(self, request: Request[Known], actor: str = "") -> Known | None:
        """The answer, or `None` from an actor that does not answer: a report on the others is still of use."""
        try:
            return await self._bus.ask(request, timeout=ASK_SECONDS, actor=actor)
        except BusError:
            return None
