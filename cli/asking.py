"""Asking the cluster from a command."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bus.client import Bus
from bus.endpoint import Runtime
from cli.cluster import ensure_cluster, is_running
from cli.output import Failure
from config.place import Place

T = TypeVar("T")

ASK_SECONDS = 10.0
"""A command's patience with one answer."""
START_SECONDS = 20.0
"""Its patience with an actor that is starting."""


def on_bus(place: Place, work: Callable[[Bus], Awaitable[T]]) -> T:
    """Runs `work` with a connection to the cluster of this place."""

    async def run() -> T:
        bus = Bus(Runtime(place.runtime), "mms")
        try:
            return await work(bus)
        finally:
            bus.close()

    return asyncio.run(run())


def must_run(place: Place) -> None:
    """
    Raises:
        Failure: no cluster runs at this place.
    """
    if not is_running(place):
        raise Failure("not_running", f"no cluster runs for {place.home}; `mms up` starts it")


def on_cluster(place: Place, work: Callable[[Bus], Awaitable[T]]) -> T:
    """The same, with a background cluster that is started if none runs."""
    ensure_cluster(place)
    return on_bus(place, work)
