"""Changed connections: the new one is prepared while the old one serves, and takes over when it works."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine

import msgspec

from actors.upstream import kept
from actors.upstream.connection import Server
from actors.upstream.messages import ServerState
from config.schema_upstream import UpstreamSettings

DRAIN_STEP_SECONDS = 0.05


def same_connection(settings: UpstreamSettings, other: UpstreamSettings) -> bool:
    """Whether a server of the one serves for the other as well."""
    return settings.session == other.session and kept.fingerprint(settings) == kept.fingerprint(other)


class Replacements:
    """The new connections that are not in use yet, and the old ones that are in use no more."""

    def __init__(self) -> None:
        self._coming: dict[str, Server] = {}
        self._going: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    def find(self, name: str) -> Server | None:
        return self._coming.get(name)

    def prepare(self, name: str, settings: UpstreamSettings, start: Callable[[str, UpstreamSettings], Server]) -> None:
        """Starts what shall replace a server, unless that is under way."""
        coming = self._coming.get(name)
        if coming is not None and same_connection(coming.settings, settings):
            coming.settings = settings
            return
        self.drop(name)
        self._coming[name] = start(name, settings)

    def drop(self, name: str) -> None:
        """It is wanted no longer."""
        coming = self._coming.pop(name, None)
        if coming is not None:
            self.end(coming)

    def keep(self, names: set[str]) -> None:
        for name in set(self._coming) - names:
            self.drop(name)

    def take(self, name: str) -> Server | None:
        """What replaces a server from now on, if it works."""
        coming = self._coming.get(name)
        return self._coming.pop(name) if coming is not None and coming.serves else None

    def end(self, server: Server) -> None:
        """Ends a server now; `stop` waits for that."""
        self._spawn(server.stop())

    def retire(self, server: Server) -> None:
        """Ends a server when the calls that it still serves are over, or have had their time."""
        self._spawn(self._drain(server))

    def describe(self, state: ServerState) -> ServerState:
        """`state` with how its replacement does."""
        coming = self._coming.get(state.name)
        if coming is None:
            return state
        found = coming.describe(0)
        return msgspec.structs.replace(
            state,
            replacement=found.state,
            replacement_error=found.error,
            replacement_error_type=found.error_type,
        )

    async def stop(self) -> None:
        self._closing.set()
        self.keep(set())
        await asyncio.gather(*self._going)

    async def _drain(self, server: Server) -> None:
        loop = asyncio.get_running_loop()
        patience = loop.time() + server.settings.overall_deadline_seconds
        while not self._closing.is_set() and loop.time() < patience:
            talk = server.conversation
            if talk is None or talk.idle:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_STEP_SECONDS):
                    await self._closing.wait()
        await server.stop()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._going.add(task)
        task.add_done_callback(self._going.discard)
