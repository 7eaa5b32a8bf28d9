"""The hook where no cluster runs, and how its events keep one alive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bus.supervision import GetCluster
from tests.eventually import PATIENCE_SECONDS, eventually_blocking
from tests.fixtures.hook_place import ROTATION, HookPlace


@pytest.fixture
def place() -> Iterator[HookPlace]:
    place = HookPlace(bus={"idle_exit_seconds": 3600}, surfacing={"dedup_ttl_seconds": 0})
    yield place
    place.home.mms("down")
    try:
        eventually_blocking(lambda: not place.home.processes())
    finally:
        place.home.remove()


async def test_it_starts_one_and_says_nothing_this_time(place: HookPlace) -> None:
    assert place.is_silent(ROTATION)
    eventually_blocking(lambda: place.owner("surfacer"))
    supervisor = place.owner("supervisor")
    sessions = (f"s{n}" for n in range(1000))
    eventually_blocking(lambda: not place.is_silent(ROTATION, session=next(sessions)))
    assert place.owner("supervisor") == supervisor

    before = await seconds_left(place)
    end = time.monotonic() + PATIENCE_SECONDS
    while await seconds_left(place) <= before:  # without a hook it only falls
        assert place.hook(ROTATION).returncode == 0
        assert time.monotonic() < end


@pytest.mark.slow
def test_many_at_once_start_one(place: HookPlace) -> None:
    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(lambda n: place.is_silent(ROTATION, session=str(n)), range(6)))
    eventually_blocking(lambda: place.owner("supervisor"))
    assert len([line for line in place.home.processes().values() if "cli.supervise" in line]) == 1


def test_one_that_is_not_to_be_started_is_not(place: HookPlace) -> None:
    assert place.is_silent(ROTATION, MEMTOMEM_STM_HOOK__AUTO_SPAWN="false")
    assert place.is_silent({**ROTATION, "tool_name": "WebFetch"})
    place.home.config_file.write_text("{")
    assert place.is_silent(ROTATION, MEMTOMEM_STM_HOOK__AUTO_SPAWN="false")
    assert not place.home.processes()
    assert not place.locks.exists()


async def seconds_left(place: HookPlace) -> float:
    with place.home.bus() as bus:
        found = await bus.ask(GetCluster(), timeout=10)
    assert found.idle_exit_seconds is not None
    return found.idle_exit_seconds
