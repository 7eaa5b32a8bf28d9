"""The actor over its messages: in this process, over sockets, and as a process that is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import duckdb
import msgspec
import pytest

from actors.telemetry.actor import TelemetryActor
from actors.telemetry.messages import (
    Event,
    GetStats,
    GetTelemetryHealth,
    LabelSelection,
    Query,
    Record,
    TelemetryHealth,
)
from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import BusError, DeadlineExceeded, Refused
from bus.message import Blob
from config.place import Place
from tests.actors.process import start_process
from tests.actors.telemetry.events import call, calls, lines
from tests.actors.telemetry.holder import held_by_another_process
from tests.actors.telemetry.test_query import ENDLESS
from tests.actors.telemetry.test_selection_log import pair
from tests.eventually import until


@pytest.fixture
async def actor(any_place: Place) -> AsyncIterator[TelemetryActor]:
    found = TelemetryActor(any_place)
    await found.start()
    yield found
    await found.stop(drain=0.1)


@pytest.fixture
async def bus(actor: TelemetryActor) -> AsyncIterator[Bus]:
    client = Bus(Runtime(actor.place.runtime), "test")
    yield client
    client.close()


async def send(bus: Bus, *events: Event, **fields: Any) -> None:
    await bus.tell(Record(lines=Blob(lines(*events)), producer="test", **fields), timeout=10)


async def rows(bus: Bus, sql: str) -> list[Any]:
    table = await bus.ask(Query(sql=sql), timeout=20)
    decoded: list[Any] = msgspec.json.decode(table.rows.data)
    return decoded


async def health(bus: Bus) -> TelemetryHealth:
    return await bus.ask(GetTelemetryHealth(), timeout=10)


async def test_a_query_sees_everything_acknowledged_before_it(bus: Bus) -> None:
    for count in (3, 6, 9):
        await send(bus, *calls(3))
        assert await rows(bus, "SELECT count(*) FROM call") == [[count]]


async def test_stats_are_one_json_object(bus: Bus) -> None:
    await send(bus, call(original_tokens=100, delivered_tokens=40))
    reply = await bus.ask(GetStats(report="savings", by="server"), timeout=20)
    data = msgspec.json.decode(reply.data.data)
    assert (data["calls"], data["saved_tokens"], data["groups"][0]["key"]) == (1, 60, "fs")
    assert reply.pending == 0


async def test_events_reach_the_file_without_anybody_asking(bus: Bus, actor: TelemetryActor) -> None:
    await send(bus, *calls(4))

    async def all_loaded() -> bool:
        return (await health(bus)).loaded == 4

    await until(all_loaded)
    with duckdb.connect(actor._database, read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM call").fetchall() == [(4,)]


async def test_health_counts_bad_lines_and_what_producers_dropped(bus: Bus) -> None:
    await bus.tell(Record(lines=Blob(b"nonsense\n" + lines(call())), producer="gateway", dropped=7), timeout=10)
    await bus.tell(Record(lines=Blob(lines(call())), producer="gateway", dropped=1), timeout=10)
    found = await health(bus)
    assert (found.rejected, found.dropped_by_producers, found.store) == (1, {"gateway": 8}, "ready")
    assert await rows(bus, "SELECT component, sum(count) FROM fault WHERE what = 'events_dropped' GROUP BY 1") == [
        ["gateway", 8]
    ]
    assert found.journal_bytes > 0


async def test_refusals_and_time_limits_arrive_as_such(bus: Bus) -> None:
    with pytest.raises(Refused, match="DROP"):
        await bus.ask(Query(sql="DROP TABLE call"), timeout=10)
    with pytest.raises(Refused, match="waltz"):
        await bus.ask(GetStats(report="waltz"), timeout=10)
    with pytest.raises(DeadlineExceeded):
        await bus.ask(Query(sql=ENDLESS, timeout_seconds=0.05), timeout=10)


async def test_events_are_taken_while_a_query_runs_and_leaving_ends_the_query(bus: Bus) -> None:
    endless = asyncio.create_task(bus.ask(Query(sql=ENDLESS, timeout_seconds=3600), timeout=3600))
    await send(bus, *calls(2))
    assert (await health(bus)).appended == 2
    endless.cancel()
    await asyncio.gather(endless, return_exceptions=True)
    assert await rows(bus, "SELECT count(*) FROM call") == [[2]]


async def test_while_a_person_has_the_file_open_answers_say_what_waits(bus: Bus, actor: TelemetryActor) -> None:
    await send(bus, *calls(2))
    assert await rows(bus, "SELECT count(*) FROM call") == [[2]]
    with held_by_another_process(actor._database, read_only=True):
        await send(bus, *calls(5))
        table = await bus.ask(Query(sql="SELECT count(*) FROM call"), timeout=20)
        assert (msgspec.json.decode(table.rows.data), table.pending) == ([[2]], 5)
        assert (await health(bus)).store == "held"
    assert await rows(bus, "SELECT count(*) FROM call") == [[7]]
    assert (await health(bus)).store == "ready"


async def test_a_store_damaged_between_two_loads_is_rebuilt_and_reported(bus: Bus, actor: TelemetryActor) -> None:
    await send(bus, *calls(6))
    assert await rows(bus, "SELECT count(*) FROM call") == [[6]]
    actor._database.write_bytes(b"scrambled" * 999)
    assert await rows(bus, "SELECT count(*) FROM call") == [[6]]
    assert await rows(bus, "SELECT component, what FROM fault") == [["telemetry", "store_set_aside"]]
    assert "damaged" in (await health(bus)).store_error


async def test_stopping_loads_what_was_acknowledged(place: Place) -> None:
    actor = TelemetryActor(place)
    await actor.start()
    client = Bus(Runtime(place.runtime), "test")
    await send(client, *calls(11))
    client.close()
    await actor.stop()
    with duckdb.connect(place.state / "analytics.duckdb", read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM call").fetchall() == [(11,)]


async def test_killed_under_load_it_has_every_acknowledged_event_exactly_once(place: Place) -> None:
    """Three times killed at full load; batches whose acknowledgement was lost are sent again, as producers do."""
    client = Bus(Runtime(place.runtime), "test")
    acknowledged: set[str] = set()
    waiting = [calls(50) for _ in range(120)]
    for round_ in range(3):
        process = start_process(place, "telemetry")
        goal = len(waiting) * (2 - round_) // 3
        while len(waiting) > goal:
            batch = waiting[-1]
            try:
                await client.tell(Record(lines=Blob(lines(*batch)), producer="test"), timeout=10)
            except BusError:
                continue
            acknowledged.update(event.event_id for event in batch)
            waiting.pop()
        # In flight while it dies: batches, and a load on behalf of a question.
        unheard = asyncio.gather(
            client.ask(GetStats(), timeout=2),
            *(client.tell(Record(lines=Blob(lines(*batch))), timeout=2) for batch in waiting[-5:]),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
        process.send_signal(signal.SIGKILL)
        process.wait()
        unheard.cancel()
        await asyncio.wait([unheard])
    process = start_process(place, "telemetry")
    try:
        found = {row[0]: row[1] for row in await rows(client, "SELECT event_id, count(*) FROM call GROUP BY event_id")}
        assert acknowledged <= found.keys()
        assert set(found.values()) == {1}
        assert len(acknowledged) == 6_000
    finally:
        process.terminate()
        process.wait()
        client.close()


async def test_looking_for_an_old_selection_keeps_no_event_waiting(place: Place) -> None:
    place.config_file.write_text('{"selection_telemetry": {"enabled": true}}')
    rotated = place.state / "selection_log.jsonl.1"
    os.mkfifo(rotated)  # a log that takes for ever to read
    actor = TelemetryActor(place)
    await actor.start()
    client = Bus(Runtime(place.runtime), "test")
    labelling = asyncio.ensure_future(client.ask(LabelSelection(selection_id="old", user_corrected=True), timeout=60))
    log = await asyncio.to_thread(rotated.open, "wb")  # open on both ends: it is being read
    await send(client, call(tool="meanwhile"))
    assert await rows(client, "SELECT tool FROM call") == [["meanwhile"]]
    assert not labelling.done()
    with log:
        log.write(pair("old")[0] + b"\n")
    await labelling
    assert '"kind":"feedback"' in (place.state / "selection_log.jsonl").read_text()
    client.close()
    await actor.stop(drain=0.1)
