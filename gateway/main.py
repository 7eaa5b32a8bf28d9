"""The gateway process on stdio: joins the bus, serves one client, drains, leaves."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import uvloop

from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import BusError
from bus.log import Log
from bus.outbox import Outbox
from bus.supervision import Hold
from bus.tasks import end
from config.place import Place
from config.session import SessionSettings
from config.watch import ConfigWatcher
from gateway.catalogue import CatalogueView
from gateway.pipeline import Pipeline
from gateway.protocol import Protocol
from gateway.selection import Selections
from gateway.session import Session
from gateway.stdio import Lines, Output, read, take_standard_streams
from gateway.tools import OwnTools

DRAIN_SECONDS = 5.0
LEASE_RETRY_SECONDS = 1.0
LAST_EVENTS_SECONDS = 1.0


def run(place: Place, start_cluster: Callable[[], None]) -> int:
    """Serves MCP on stdin and stdout until stdin ends or SIGTERM or SIGINT comes; returns the exit code.

    Args:
        start_cluster: starts the cluster of `place` unless it runs; called when it is gone; blocks for a moment.
    """
    return uvloop.run(_serve(place, start_cluster))


async def _serve(place: Place, start_cluster: Callable[[], None]) -> int:
    reader, writer = take_standard_streams()
    loop = asyncio.get_running_loop()
    stop = stop_on_signals()
    async with joined(place, start_cluster) as (name, protocol):
        output = Output()
        await output.open(writer)
        session = Session(f"{name}-{secrets.token_hex(4)}", output.write, os.getcwd())
        protocol.open(session)
        lines = Lines(lambda line: protocol.handle(session, line), lambda: protocol.too_long(session))
        reading = loop.create_task(read(reader, lines))
        ends = [loop.create_task(event.wait()) for event in (lines.ended, stop, output.lost)]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        await protocol.drain(session, 0 if output.lost.is_set() else DRAIN_SECONDS)
        await output.flush(DRAIN_SECONDS)
        protocol.close(session)
        await end((reading, *ends))
    return 0


def stop_on_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


@asynccontextmanager
async def joined(place: Place, start_cluster: Callable[[], None]) -> AsyncGenerator[tuple[str, Protocol], None]:
    """On the bus, with all that it takes to serve clients: the name of this gateway, and the protocol."""
    loop = asyncio.get_running_loop()
    log = Log("gateway", place.logs)
    name = f"gateway-{os.getpid()}"
    bus = Bus(Runtime(place.runtime), name)
    events = Outbox(bus)
    watcher = ConfigWatcher(place, log=log)
    own_settings = SessionSettings.from_environment(os.environ)
    catalogue = CatalogueView(bus)
    settings = watcher.current.settings
    selections = Selections(events, catalogue, settings.proxy)
    pipeline = Pipeline(bus, events, settings, own_settings, start_cluster, selections)
    own = OwnTools(bus, events, pipeline, catalogue, own_settings, lambda: watcher.current.problems)
    protocol = Protocol(catalogue, own, pipeline, lambda: pipeline.settings.proxy.max_instruction_chars)

    catalogue.on_change = protocol.tools_changed

    background = [
        loop.create_task(catalogue.follow()),
        loop.create_task(_hold(bus)),
        loop.create_task(_follow_settings(watcher, pipeline, own, protocol, log)),
    ]
    for problem in watcher.current.problems:
        if problem.level != "note":
            log.warning("config_problem", key=problem.key, problem=problem.message)
    try:
        yield name, protocol
    finally:
        await end(background)
        await events.close(LAST_EVENTS_SECONDS)
        bus.close()


async def _hold(bus: Bus) -> None:
    """Keeps a lease on the cluster, so that a background one stays as long as this gateway does."""
    while True:
        with contextlib.suppress(BusError):
            async for _ in bus.watch(Hold()):
                pass
        await asyncio.sleep(LEASE_RETRY_SECONDS)


async def _follow_settings(
    watcher: ConfigWatcher, pipeline: Pipeline, own: OwnTools, protocol: Protocol, log: Log
) -> None:
    async for loaded in watcher:
        if watcher.error:
            log.warning("config_unusable", error=watcher.error)
        else:
            shown = own.definitions()
            pipeline.use(loaded.settings)
            if own.definitions() != shown:
                protocol.tools_changed(own=True)
