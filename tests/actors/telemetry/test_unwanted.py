"""What the settings do not want to be kept."""

from __future__ import annotations

import asyncio
import json

import msgspec

from actors.telemetry.actor import TelemetryActor
from actors.telemetry.messages import ProgressiveReadEvent, Query, Record
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from config.place import Place
from tests.actors.telemetry.events import call, lines
from tests.eventually import PATIENCE_SECONDS


async def test_follow_ups_are_not_recorded_while_they_are_switched_off(place: Place) -> None:
    place.config_file.write_text(json.dumps({"progressive_reads": {"enabled": False}}))
    actor = TelemetryActor(place)
    await actor.start()
    bus = Bus(Runtime(place.runtime), "test")
    batch = lines(call(), ProgressiveReadEvent(key_digest="k", server="fs", tool="read"), call())
    await bus.tell(Record(lines=Blob(batch), producer="test"), timeout=10)
    table = await bus.ask(
        Query(sql="SELECT (FROM call SELECT count(*)), (FROM progressive_reads SELECT count(*))"), timeout=20
    )
    assert msgspec.json.decode(table.rows.data) == [[2, 0]]
    bus.close()
    await actor.stop(drain=0.1)


async def test_a_shorter_retention_takes_effect_without_a_restart(place: Place) -> None:
    place.config_file.write_text(json.dumps({"telemetry": {"retention_days": 0}}))
    actor = TelemetryActor(place)
    await actor.start()
    bus = Bus(Runtime(place.runtime), "test")

    async def tools() -> list[list[str]]:
        table = await bus.ask(Query(sql="SELECT tool FROM call"), timeout=20)
        found: list[list[str]] = msgspec.json.decode(table.rows.data)
        return found

    await bus.tell(Record(lines=Blob(lines(call(ts="2020-01-01T00:00:00Z", tool="old"))), producer="test"), timeout=10)
    assert await tools() == [["old"]]
    place.config_file.write_text(json.dumps({"telemetry": {"retention_days": 30}}))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while ["old"] in await tools():
            await bus.tell(Record(lines=Blob(lines(call(tool="new"))), producer="test"), timeout=10)
            await asyncio.sleep(0.1)
    assert ["new"] in await tools()
    bus.close()
    await actor.stop(drain=0.1)
