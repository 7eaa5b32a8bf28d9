"""Events arrive at least once, in order, and never make their producer wait."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from bus import outbox
from bus.actor import Actor, Context, handles
from bus.client import Bus
from bus.endpoint import Runtime
from bus.outbox import Outbox
from bus.record import Record
from config.place import Place
from tests.eventually import eventually


class Number(msgspec.Struct):
    n: int


class Keeper(Actor):
    """Stands where telemetry stands."""

    name = "telemetry"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.numbers: list[int] = []
        self.dropped = 0

    @handles(Record)
    async def record(self, request: Record, context: Context) -> None:
        self.numbers += [msgspec.json.decode(line, type=Number).n for line in request.lines.data.splitlines()]
        self.dropped += request.dropped


async def test_everything_arrives_in_order(place: Place) -> None:
    keeper = Keeper(place)
    await keeper.start()
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    for n in range(5_000):
        box.add(Number(n))
    await eventually(lambda: len(keeper.numbers) == 5_000)
    assert keeper.numbers == list(range(5_000))
    bus.close()
    await keeper.stop()


async def test_what_nobody_took_is_kept_and_sent_later(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "RETRY_SECONDS", 0.05)
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    box.add(Number(1))
    keeper = Keeper(place)
    await keeper.start()
    await eventually(lambda: keeper.numbers == [1])
    bus.close()
    await keeper.stop()


async def test_a_flush_ends_with_the_acknowledgement_and_not_before(place: Place) -> None:
    keeper = Keeper(place)
    await keeper.start()
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    for n in range(3):
        box.add(Number(n))
        await box.flush(20)
        assert keeper.numbers == list(range(n + 1))
    await box.flush(20)
    bus.close()
    await keeper.stop()


async def test_a_flush_does_not_wait_for_a_receiver_that_is_away(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "TELL_TIMEOUT_SECONDS", 0.05)
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    box.add(Number(1))
    async with asyncio.timeout(20):
        await box.flush(3600)
        await box.flush(3600)
    bus.close()
    await box.close(0.1)


async def test_past_the_bound_the_oldest_go_and_are_counted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "MAX_EVENTS", 100)
    monkeypatch.setattr(outbox, "RETRY_SECONDS", 0.05)
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    for n in range(250):
        box.add(Number(n))
    assert box.dropped == 150
    keeper = Keeper(place)
    await keeper.start()
    await eventually(lambda: len(keeper.numbers) == 100)
    assert keeper.numbers == list(range(150, 250))
    assert keeper.dropped == 150
    bus.close()
    await keeper.stop()


async def test_an_event_that_is_no_valid_text_costs_itself(place: Place) -> None:
    class Text(msgspec.Struct):
        n: int
        text: str

    keeper = Keeper(place)
    await keeper.start()
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    box.add(Text(1, "a\ud800"))
    box.add(Number(2))
    await eventually(lambda: keeper.numbers == [2])
    assert keeper.dropped == 1
    bus.close()
    await keeper.stop()


async def test_closing_sends_what_is_left(place: Place) -> None:
    keeper = Keeper(place)
    await keeper.start()
    bus = Bus(Runtime(place.runtime), "test")
    box = Outbox(bus)
    box.add(Number(7))
    await box.close(5)
    assert keeper.numbers == [7]
    bus.close()
    await keeper.stop()
