"""One suite for actors in this process and over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bus import envelope
from bus.actor import Context, handles
from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import Busy, DeadlineExceeded, HandlerFailed, InvalidMessage, Refused, Stopping, UnknownOperation
from bus.message import Blob
from bus.status import GetStatus
from config.place import Place
from tests.bus.actors_under_test import Count, Echo, Echoed, Fail, Note, Probe, Sleep, Step, Steps, Unheard
from tests.eventually import eventually


@pytest.fixture
async def probe(any_place: Place) -> AsyncIterator[Probe]:
    actor = Probe(any_place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


@pytest.fixture
async def bus(probe: Probe) -> AsyncIterator[Bus]:
    client = Bus(Runtime(probe.place.runtime), "test")
    yield client
    client.close()


async def test_ask_returns_the_typed_reply(bus: Bus) -> None:
    reply = await bus.ask(Echo(text="grüß 한국어"), timeout=5)
    assert reply.text == "grüß 한국어"
    assert reply.blob is None


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
async def test_blobs_arrive_byte_for_byte(bus: Bus, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    reply = await bus.ask(Echo(text="", blob=Blob(data)), timeout=5)
    assert reply.blob is not None
    assert reply.blob.data == data


async def test_lone_surrogates_survive_in_a_blob(bus: Bus) -> None:
    reply = await bus.ask(Echo(text="", blob=Blob.of("a\ud800b")), timeout=5)
    assert reply.blob is not None
    assert reply.blob.text == "a\ud800b"


async def test_items_precede_the_reply_in_order(bus: Bus) -> None:
    seen: list[Step] = []
    reply = await bus.ask(Steps(count=50), timeout=5, on_item=seen.append, trace_id="t-1")
    assert [step.number for step in seen] == list(range(50))
    assert reply.text == "t-1"


async def test_tell_returns_after_the_actor_has_it(bus: Bus, probe: Probe) -> None:
    await bus.tell(Note(text="n"), timeout=5)
    assert probe.notes == ["n"]


async def test_watch_streams_until_the_end(bus: Bus) -> None:
    assert [item.text async for item in bus.watch(Count(up_to=3))] == ["0", "1", "2"]


async def test_leaving_a_watch_ends_it_at_the_actor(bus: Bus, probe: Probe) -> None:
    stream = bus.watch(Count(up_to=200))
    assert (await anext(stream)).text == "0"
    await stream.aclose()  # type: ignore[attr-defined]
    await eventually(lambda: probe.streams_closed == 1)


async def test_typed_errors_come_back_as_their_class(bus: Bus) -> None:
    with pytest.raises(Refused, match="not possible"):
        await bus.ask(Fail(how="typed"), timeout=5)


async def test_unexpected_errors_carry_no_detail(bus: Bus) -> None:
    with pytest.raises(HandlerFailed) as caught:
        await bus.ask(Fail(how="untyped"), timeout=5)
    assert "hunter2" not in caught.value.message
    assert "ValueError" in caught.value.message


async def test_unknown_operation_names_it(bus: Bus) -> None:
    with pytest.raises(UnknownOperation, match="Unheard"):
        await bus.ask(Unheard(), timeout=5)


async def test_a_body_of_another_shape_is_refused_by_field(bus: Bus) -> None:
    class Echo(Note, frozen=True, kw_only=True):  # the operation `Echo` with another type of `text`
        text: int  # type: ignore[assignment]

    with pytest.raises(InvalidMessage, match="text"):
        await bus.ask(Echo(text=5), timeout=5)


async def test_the_deadline_travels_and_ends_the_handler(bus: Bus, probe: Probe) -> None:
    with pytest.raises(DeadlineExceeded):
        await bus.ask(Sleep(seconds=60), timeout=0.1)
    await eventually(lambda: probe.cancelled == 1)


async def test_cancelling_the_caller_cancels_the_handler(bus: Bus, probe: Probe) -> None:
    task = asyncio.ensure_future(bus.ask(Sleep(seconds=60), timeout=60))
    await eventually(lambda: probe.started == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: probe.cancelled == 1)


async def test_a_cancel_overtakes_a_full_mailbox(bus: Bus, probe: Probe) -> None:
    tasks = [asyncio.ensure_future(bus.ask(Sleep(seconds=60), timeout=60)) for _ in range(8)]
    await eventually(lambda: probe.started == 4)
    tasks[0].cancel()
    await eventually(lambda: probe.cancelled == 1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await eventually(lambda: probe.cancelled == probe.started)


async def test_past_its_bound_the_mailbox_answers_busy(bus: Bus, probe: Probe) -> None:
    tasks = [asyncio.ensure_future(bus.ask(Sleep(seconds=60), timeout=60)) for _ in range(8)]
    await eventually(lambda: probe.started == 4)
    with pytest.raises(Busy, match="mailbox of probe"):
        await bus.ask(Sleep(seconds=60), timeout=60)
    status = await bus.ask(GetStatus(), timeout=5, actor="probe")
    assert (status.running, status.waiting, status.refused) == (4, 4, 1)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_work_in_flight_is_drained_on_stop(any_place: Place) -> None:
    actor = Probe(any_place)
    await actor.start()
    client = Bus(Runtime(any_place.runtime), "test")
    task = asyncio.ensure_future(client.ask(Sleep(seconds=0.2), timeout=60))
    await eventually(lambda: actor.started == 1)
    await actor.stop(drain=5)
    assert (await task).text == "slept"
    client.close()


async def test_a_stopping_actor_says_that_nothing_has_begun(any_place: Place) -> None:
    actor = Probe(any_place)
    await actor.start()
    client = Bus(Runtime(any_place.runtime), "test")
    last = asyncio.ensure_future(client.ask(Sleep(seconds=0.3), timeout=60))
    await eventually(lambda: actor.started == 1)
    stopping = asyncio.ensure_future(actor.stop(drain=5))
    await asyncio.sleep(0)
    with pytest.raises(Stopping, match="probe is stopping"):
        await client.ask(Echo(text="late"), timeout=60)
    assert (await last).text == "slept"
    await stopping
    client.close()


class SlowToStart(Probe):
    """Does not handle anything before its `setup` has been let go on."""

    def __init__(self, place: object) -> None:
        super().__init__(place)
        self.is_starting = asyncio.Event()
        self.go_on = asyncio.Event()
        self.is_set_up = False

    async def setup(self) -> None:
        self.is_starting.set()
        await self.go_on.wait()
        self.is_set_up = True

    @handles(Echo)
    async def echo(self, request: Echo, context: Context) -> Echoed:
        return Echoed(text=f"{request.text}, set up: {self.is_set_up}, left: {context.remaining()}")


@pytest.fixture
async def slow(any_place: Place) -> AsyncIterator[SlowToStart]:
    """An actor in the middle of its `setup`."""
    actor = SlowToStart(any_place)
    starting = asyncio.ensure_future(actor.start())
    await actor.is_starting.wait()
    yield actor
    actor.go_on.set()
    await starting
    await actor.stop(drain=0.1)


@pytest.fixture
async def early(slow: SlowToStart) -> AsyncIterator[Bus]:
    client = Bus(Runtime(slow.place.runtime), "test")
    yield client
    client.close()


async def test_what_is_asked_of_an_actor_that_starts_waits_until_it_is_set_up(slow: SlowToStart, early: Bus) -> None:
    asked = asyncio.ensure_future(early.ask(Echo(text="early"), timeout=60))
    watched = asyncio.ensure_future(anext(aiter(early.watch(Count(up_to=1)))))
    await eventually(lambda: len(slow._waiting) == 2)
    # That the status is told meanwhile, and has been told, lets nothing begin.
    for _ in range(2):
        status = await early.ask(GetStatus(), timeout=5, actor="probe")
        assert (status.waiting, status.running) == (2, 0)
    assert not asked.done()
    slow.go_on.set()
    assert (await asked).text.startswith("early, set up: True")
    assert (await watched).text == "0"


async def test_the_time_of_a_message_runs_while_it_waits(slow: SlowToStart, early: Bus) -> None:
    asked = asyncio.ensure_future(early.ask(Echo(text="early"), timeout=60))
    await eventually(lambda: len(slow._waiting) == 1)
    slow._waiting[0].arrived -= 45
    slow.go_on.set()
    assert float((await asked).text.rpartition(" ")[2]) <= 15


async def test_the_mailbox_of_an_actor_that_starts_is_bounded_for_watches_too(slow: SlowToStart, early: Bus) -> None:
    waiting = [asyncio.ensure_future(anext(aiter(early.watch(Count(up_to=1))))) for _ in range(4)]
    await eventually(lambda: len(slow._waiting) == 4)
    with pytest.raises(Busy, match="mailbox of probe"):
        await anext(aiter(early.watch(Count(up_to=1))))
    slow.go_on.set()
    assert [(await each).text for each in waiting] == ["0"] * 4


async def test_many_asks_in_flight_get_their_own_answers(any_place: Place) -> None:
    actor = Probe(any_place, concurrency=1000, mailbox=1000)
    await actor.start()
    client = Bus(Runtime(any_place.runtime), "test")
    replies = await asyncio.gather(*(client.ask(Echo(text=str(n)), timeout=20) for n in range(500)))
    assert [reply.text for reply in replies] == [str(n) for n in range(500)]
    client.close()
    await actor.stop()


def test_messages_can_be_read_by_any_msgpack_implementation() -> None:
    import msgpack

    frames = envelope.pack(
        envelope.ASK, {envelope.ID: 7, envelope.OPERATION: "Echo"}, Echo(text="hi", blob=Blob(b"big"))
    )
    assert frames[0] == bytes((envelope.WIRE_VERSION, envelope.ASK))
    assert msgpack.unpackb(frames[1]) == {"i": 7, "o": "Echo"}
    assert msgpack.unpackb(frames[2]) == {"text": "hi", "blob": msgpack.ExtType(envelope.BLOB_EXTENSION, b"\x00\x01")}
    assert frames[3] == b"big"
