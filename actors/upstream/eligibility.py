"""Follows a tool-graph provider: asks it at the start and whenever the discovered tools are others, and rules by what
it said. A provider that fails is asked again after a while."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from actors.upstream import toolgraph
from actors.upstream.messages import ToolgraphState
from actors.upstream.toolgraph import ProviderError, Ruling, Standing
from actors.upstream.toolgraph_kept import KeptAnswers, scope
from actors.upstream.toolgraph_provider import Provider
from bus.log import Log
from bus.tasks import end
from config.place import Place
from config.schema_proxy import ToolgraphSettings

RETRY_SECONDS = 30.0
MAX_RETRY_SECONDS = 600.0


class Eligibility:
    """Whether the provider lets tools be shown.

    Args:
        path: file of the kept answers.
        place: where the provider's process group is written down.
        on_change: called when rulings may be others.
    """

    def __init__(self, path: Path, place: Place, log: Log, on_change: Callable[[], None]) -> None:
        self._place = place
        self._log = log
        self._on_change = on_change
        self._kept = KeptAnswers(path, log)
        self._settings = ToolgraphSettings()
        self._standing = Standing()
        self._since = time.time()
        self._provider: Provider | None = None
        self._following: asyncio.Task[None] | None = None
        self._leaving: set[asyncio.Task[None]] = set()
        self._wanted = asyncio.Event()
        self._candidates: list[str] = []
        self._digest = b""
        self._asking = False
        self._retry: asyncio.TimerHandle | None = None

    async def open(self) -> None:
        await self._kept.open()

    def use(self, settings: ToolgraphSettings) -> None:
        """Follows the provider of these settings, from now on."""
        before, self._settings = self._settings, settings
        if settings.enabled == before.enabled and scope(settings) == scope(before):
            if self._provider is not None:
                self._provider.settings = settings
            return
        self._leave()
        self._standing = Standing(self._kept.find(scope(settings)) if settings.consult_cache_enabled else None)
        self._since, self._digest = time.time(), b""
        if settings.enabled:
            self._provider = Provider(settings, self._place, self._log)
            self._following = asyncio.get_running_loop().create_task(self._follow(self._provider), name="toolgraph")

    def consider(self, tools: Iterable[tuple[str, str, bytes]]) -> None:
        """Takes note of what is discovered (server, tool, its JSON); asks when that is something else than before."""
        if not self._settings.enabled:
            return
        digest = hashlib.sha256()
        candidates = set()
        for server, tool, raw in tools:
            candidates.add(toolgraph.candidate(server, tool, self._settings.server_name_map))
            digest.update(f"{server}\0{tool}\0{len(raw)}\n".encode("utf-8", "surrogatepass"))
            digest.update(raw)
        if candidates and digest.digest() != self._digest:
            self._candidates, self._digest = sorted(candidates), digest.digest()
            self._asking = True
            self._wanted.set()

    def rule(self, server: str, tool: str) -> Ruling | None:
        """What the provider says about a tool; `None` = it may be shown."""
        if not self._settings.enabled:
            return None
        ref = toolgraph.candidate(server, tool, self._settings.server_name_map)
        return toolgraph.rule(self._standing, self._settings, ref)

    @property
    def keeps_waiting(self) -> bool:
        """Whether tools are held back until the provider has answered."""
        answer = self._standing.answer
        covered = answer is not None and answer.asked.issuperset(self._candidates)
        return self._settings.enabled and self._asking and self._standing.failure is None and not covered

    @property
    def pid(self) -> int:
        return self._provider.pid if self._provider is not None else 0

    def describe(self) -> ToolgraphState | None:
        """Its state; `None` when no provider is asked."""
        if not self._settings.enabled:
            return None
        standing = self._standing
        answer = standing.answer
        return ToolgraphState(
            state=standing.failure or ("ready" if standing.live else "asking"),
            error=standing.error,
            graph_generation=answer.generation if answer is not None else None,
            rejected=len(answer.rejected) if answer is not None else 0,
            kept=answer is not None and not standing.live,
            withholds_all=toolgraph.withholds_all(standing, self._settings),
            since=self._since,
            pid=self.pid,
        )

    async def stop(self) -> None:
        self._leave()
        await asyncio.gather(*self._leaving)

    async def _follow(self, provider: Provider) -> None:
        delay = RETRY_SECONDS
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            self._cancel_retry()
            try:
                answer = await provider.ask(self._candidates)
            except ProviderError as error:
                self._log.warning("toolgraph_failed", kind=error.kind, error=error.message, retry_in=delay)
                self._become(replace(self._standing, failure=error.kind, error=error.message))
                self._retry = asyncio.get_running_loop().call_later(delay, self._wanted.set)
                delay = min(delay * 2, MAX_RETRY_SECONDS)
                continue
            delay = RETRY_SECONDS
            self._log.info("toolgraph_answered", generation=answer.generation, rejected=len(answer.rejected))
            self._become(Standing(answer, live=True))
            if self._settings.consult_cache_enabled:
                await self._kept.put(scope(self._settings), answer, self._settings.consult_cache_max_scopes)

    def _become(self, standing: Standing) -> None:
        if (standing.failure, standing.live) != (self._standing.failure, self._standing.live):
            self._since = time.time()
        self._standing = standing
        self._asking = self._wanted.is_set()
        self._on_change()

    def _cancel_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None

    def _leave(self) -> None:
        """Ends the provider that is followed now."""
        following, provider = self._following, self._provider
        self._following = self._provider = None
        self._cancel_retry()
        self._wanted = asyncio.Event()
        self._asking = False
        if following is not None and provider is not None:
            task = asyncio.get_running_loop().create_task(_end(following, provider))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)


async def _end(following: asyncio.Task[None], provider: Provider) -> None:
    await end((following,))
    await provider.close()
