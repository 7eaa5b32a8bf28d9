from __future__ import annotations

import asyncio
import json
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from actors.surfacer.messages import Boost, GetShown, ShownEvent
from actors.telemetry.actor import TelemetryActor
from actors.telemetry.messages import ProgressiveReadEvent, Query
from actors.tuner.actor import TunerActor
from actors.tuner.messages import (
    KINDS,
    AcceptRecommendation,
    GetRecommendations,
    MemoryRating,
    RateSurfacing,
    Rating,
    Recorded,
    ReportCompression,
    Tuning,
    WatchTuning,
)
from bus.actor import Actor, Context, handles
from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import BusError, PeerUnavailable
from bus.outbox import Outbox
from config.place import Place
from tests.actors.process import start_process
from tests.eventually import eventually


class Surfacer(Actor):
    """Stands in for the surfacer: every event `s…` has shown m1 and m2."""

    name = "surfacer"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.boosts: list[tuple[str, tuple[str, ...]]] = []

    @handles(GetShown)
    async def shown(self, request: GetShown, context: Context) -> ShownEvent:
        if not request.surfacing_id.startswith("s"):
            return ShownEvent()
        return ShownEvent(found=True, server="fs", tool="read", memory_ids=("m1", "m2"))

    @handles(Boost)
    async def boost(self, request: Boost, context: Context) -> None:
        self.boosts.append((request.surfacing_id, request.memory_ids))


@pytest.fixture
async def surfacer(any_place: Place) -> AsyncIterator[Surfacer]:
    actor = Surfacer(any_place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


@pytest.fixture
async def telemetry(any_place: Place) -> AsyncIterator[TelemetryActor]:
    actor = TelemetryActor(any_place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


@pytest.fixture
async def tuner(any_place: Place, telemetry: TelemetryActor) -> AsyncIterator[TunerActor]:
    actor = TunerActor(any_place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


@pytest.fixture
async def bus(tuner: TunerActor) -> AsyncIterator[Bus]:
    client = Bus(Runtime(tuner.place.runtime), "test")
    yield client
    client.close()


async def rate(bus: Bus, surfacing_id: str, *ratings: tuple[str, Rating]) -> Recorded:
    given = tuple(MemoryRating(memory_id=memory, rating=rating) for memory, rating in ratings)
    return await bus.ask(RateSurfacing(surfacing_id=surfacing_id, ratings=given, trace_id="t1"), timeout=10)


async def rows(bus: Bus, sql: str) -> list[Any]:
    found: list[Any] = msgspec.json.decode((await bus.ask(Query(sql=sql), timeout=20)).rows.data)
    return found


async def until_rows(bus: Bus, sql: str, expected: list[Any]) -> None:
    found: list[Any] = []
    for _ in range(200):
        found = await rows(bus, sql)
        if found == expected:
            return
        await asyncio.sleep(0.02)
    assert found == expected


async def test_what_is_said_to_be_recorded_is_in_the_record_of_events(
    any_place: Place, bus: Bus, surfacer: Surfacer
) -> None:
    record = any_place.state / "events"

    def kinds() -> list[str]:
        lines = [line for file in record.rglob("*.jsonl") for line in file.read_bytes().splitlines()]
        return [msgspec.json.decode(line)["kind"] for line in lines]

    for number in range(1, 4):
        assert (await rate(bus, f"s{number}", ("m1", "helpful"))).ok
        assert kinds().count("feedback") == number
    lost = ReportCompression(server="fs", tool="read", kind=KINDS[0], missing="the total")
    assert (await bus.ask(lost, timeout=10)).ok
    assert kinds().count("compression_feedback") == 1


async def test_a_rating_is_recorded_told_and_boosted_once(bus: Bus, surfacer: Surfacer) -> None:
    reply = await rate(bus, "s1", ("m1", "helpful"), ("m2", "not_relevant"))
    assert (reply.ok, reply.recorded) == (True, 2)
    assert reply.text == "Recorded for s1: 1 helpful, 1 not_relevant."
    await rate(bus, "s1", ("m1", "helpful"), ("m2", "not_relevant"))
    await rate(bus, "s1", ("m1", "partially_helpful"))
    await rate(bus, "s1", ("m1", "helpful"))
    await until_rows(
        bus,
        "SELECT memory_id, rating, server, tool, trace_id FROM feedback ORDER BY ts, memory_id",
        [
            ["m1", "helpful", "fs", "read", "t1"],
            ["m2", "not_relevant", "fs", "read", "t1"],
            ["m1", "partially_helpful", "fs", "read", "t1"],
            ["m1", "helpful", "fs", "read", "t1"],
        ],
    )
    await eventually(lambda: surfacer.boosts)
    assert surfacer.boosts == [("s1", ("m1",))]


async def test_an_empty_memory_id_rates_the_whole_event_and_one_by_name_wins(bus: Bus, surfacer: Surfacer) -> None:
    reply = await rate(bus, "s1", ("m2", "helpful"), ("", "not_relevant"))
    assert reply.recorded == 2
    await until_rows(
        bus, "SELECT memory_id, rating FROM latest_ratings ORDER BY 1", [["m1", "not_relevant"], ["m2", "helpful"]]
    )


async def test_what_cannot_be_recorded_is_said_so_and_nothing_is_stored(bus: Bus, surfacer: Surfacer) -> None:
    cases: list[tuple[str, list[tuple[str, Rating]], str]] = [
        ("unknown", [("", "helpful")], "'unknown' is not known"),
        ("s1", [("m1", "helpful"), ("m7", "helpful")], "'m7' is not a memory of 's1'; it has m1, m2"),
        ("s1", [], "no rating"),
    ]
    for surfacing_id, ratings, said in cases:
        reply = await rate(bus, surfacing_id, *ratings)
        assert (reply.ok, reply.recorded) == (False, 0)
        assert said in reply.text
    assert (await rate(bus, "s1", ("m1", "helpful"))).ok
    await until_rows(bus, "SELECT memory_id FROM feedback", [["m1"]])


async def test_without_the_surfacer_nothing_is_recorded_and_the_caller_knows(place: Place) -> None:
    tuner = TunerActor(place)
    await tuner.start()
    client = Bus(Runtime(place.runtime), "test")
    with pytest.raises(PeerUnavailable):
        await rate(client, "s1", ("m1", "helpful"))
    client.close()
    await tuner.stop(drain=0.1)


async def test_a_caller_that_leaves_does_not_end_a_rating_half_way(
    bus: Bus, surfacer: Surfacer, tuner: TunerActor
) -> None:
    stored = threading.Event()
    tuner._thread.submit(stored.wait)  # the store is busy
    asked = asyncio.create_task(rate(bus, "s1", ("m1", "not_relevant")))
    await eventually(lambda: any(task.get_name() == "rating" for task in asyncio.all_tasks()))
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    stored.set()
    stream = bus.watch(WatchTuning())
    while not (await anext(stream)).invalidated:
        pass
    await until_rows(bus, "SELECT count(*) FROM feedback", [[1]])


async def test_watchers_get_the_present_state_and_each_change(bus: Bus, surfacer: Surfacer) -> None:
    stream = bus.watch(WatchTuning())
    assert await anext(stream) == Tuning()
    await rate(bus, "s1", ("m1", "not_relevant"))
    assert await anext(stream) == Tuning(invalidated={"m1": 1})
    for number in range(2, 21):
        await rate(bus, f"s{number}", ("m1", "not_relevant"))
    last = await anext(stream)
    while not last.min_scores:
        last = await anext(stream)
    assert last == Tuning(min_scores={"fs__read": 0.37}, demoted=("m1",), invalidated={"m1": 20})
    later = bus.watch(WatchTuning())
    assert await anext(later) == last
    await until_rows(
        bus,
        "SELECT tool, old, new, reason FROM tuning",
        [["fs__read", 0.35, 0.37, "20 of 20 ratings of fs__read negative (100%)"]],
    )


async def test_settings_are_followed(tuner: TunerActor, bus: Bus, surfacer: Surfacer) -> None:
    tuner.place.config_file.write_text(  # type: ignore[attr-defined]
        json.dumps(
            {"surfacing": {"feedback_demotion_negative_threshold": 1, "context_tools": {"read": {"min_score": 0.5}}}}
        )
    )
    stream = bus.watch(WatchTuning())
    await rate(bus, "s1", ("m1", "not_relevant"))
    while (await anext(stream)).demoted != ("m1",):
        pass
    for number in range(2, 25):
        await rate(bus, f"s{number}", ("m1", "not_relevant"))
    assert (await anext(bus.watch(WatchTuning()))).min_scores == {}, "pinned by the bare tool name"


async def test_compression_reports_are_screened_and_kept(bus: Bus, tuner: TunerActor) -> None:
    report = ReportCompression(
        server="fs", tool="read", missing="the line password=hunter2", kind="truncated", trace_id="t9"
    )
    reply = await bus.ask(report, timeout=10)
    assert (reply.ok, reply.recorded) == (True, 1)
    await until_rows(
        bus,
        "SELECT server, tool, category, missing, trace_id FROM compression_feedback",
        [["fs", "read", "truncated", "the line password=***", "t9"]],
    )
    refused = await bus.ask(ReportCompression(server="fs", tool="read", missing="  "), timeout=10)
    assert not refused.ok
    state = tuner._home.state
    assert all(b"hunter2" not in file.read_bytes() for file in state.rglob("*") if file.is_file())


async def test_a_corrupt_store_is_reported_and_ratings_go_on(
    any_place: Place, surfacer: Surfacer, telemetry: TelemetryActor
) -> None:
    (any_place.state / "feedback.db").write_bytes(b"scrambled" * 1000)
    tuner = TunerActor(any_place)
    await tuner.start()
    client = Bus(Runtime(any_place.runtime), "test")
    assert (await rate(client, "s1", ("m1", "helpful"))).ok
    await until_rows(client, "SELECT component, what FROM fault", [["tuner", "store_set_aside"]])
    client.close()
    await tuner.stop(drain=0.1)


@pytest.fixture
def tuner_process(place: Place) -> Iterator[subprocess.Popen[bytes]]:
    process = start_process(place, "tuner")
    yield process
    process.kill()
    process.wait()


async def test_it_runs_as_a_process_and_remembers_after_a_kill(
    place: Place, tuner_process: subprocess.Popen[bytes]
) -> None:
    surfacer = Surfacer(place)
    await surfacer.start()
    client = Bus(Runtime(place.runtime), "test")
    reply = None
    while reply is None:
        try:
            reply = await rate(client, "s1", ("m1", "already_known"))
        except BusError:
            continue
    tuner_process.kill()
    tuner_process.wait()
    tuner = TunerActor(place)
    await tuner.start()
    assert (await anext(client.watch(WatchTuning()))).invalidated == {"m1": 1}
    client.close()
    await tuner.stop(drain=0.1)
    await surfacer.stop(drain=0.1)


async def report(bus: Bus, count: int) -> None:
    for _ in range(count):
        request = ReportCompression(server="fs", tool="read", missing="the second half", kind="truncated")
        await bus.ask(request, timeout=10)


async def test_recommendations_follow_feedback_until_they_are_accepted(
    bus: Bus, surfacer: Surfacer, any_place: Place
) -> None:
    configuration = {"upstream_servers": {"fs": {"prefix": "fs", "command": "x"}}}
    any_place.config_file.write_text(json.dumps(configuration))
    assert (await bus.ask(GetRecommendations(), timeout=10)).items == ()
    for number in range(3):
        await rate(bus, f"s{number}", ("", "not_relevant"))
    await report(bus, 3)

    async def about(tool: str | None = None, hours: float = 24.0) -> list[str]:
        found = await bus.ask(GetRecommendations(since_hours=hours, tool=tool), timeout=10)
        return [item.about for item in found.items]

    while await about() != ["surfacing", "budget"]:  # the tuner has not read the configuration yet
        await asyncio.sleep(0.05)
    assert await about("fs__read") == await about("read") == ["surfacing", "budget"]
    assert await about("") == await about("fs__write") == await about(hours=0) == []

    accept = AcceptRecommendation(server="fs", tool="read", about="surfacing", min_score=0.4)
    await bus.ask(accept, timeout=10)
    assert await about() == ["budget"]
    await bus.ask(AcceptRecommendation(server="fs", tool="read", about="budget"), timeout=10)
    assert await about() == []
    async for tuning in bus.watch(WatchTuning()):
        assert tuning.min_scores == {"fs__read": 0.4}
        break
    await until_rows(bus, "SELECT tool, old, new FROM tuning", [["fs__read", 0.35, 0.4]])
    await report(bus, 3)
    assert await about() == ["budget"]


async def test_follow_up_reads_count_where_telemetry_answers(bus: Bus, any_place: Place) -> None:
    configuration = {"upstream_servers": {"fs": {"prefix": "fs", "command": "x"}}}
    any_place.config_file.write_text(json.dumps(configuration))
    outbox = Outbox(bus)
    for number in range(5):
        for follow_up in (False, True):
            outbox.add(
                ProgressiveReadEvent(
                    key_digest=f"k{number}",
                    server="fs",
                    tool="read",
                    offset=16_000 * follow_up,
                    served_chars=16_000,
                    total_chars=90_000,
                    follow_up=follow_up,
                )
            )
    await outbox.close(10)
    while not (found := await bus.ask(GetRecommendations(), timeout=10)).items:
        await asyncio.sleep(0.05)
    [item] = found.items
    assert item.what == "raise max_result_chars 16,000 → 32,000"
    assert item.why.startswith("100% of 5 shortened responses were read on")
    assert not found.without_follow_ups


async def test_without_telemetry_only_feedback_is_looked_at(place: Place) -> None:
    tuner = TunerActor(place)
    await tuner.start()
    client = Bus(Runtime(place.runtime), "test")
    try:
        found = await client.ask(GetRecommendations(), timeout=20)
        assert (found.items, found.without_follow_ups) == ((), True)
    finally:
        client.close()
        await tuner.stop(drain=0.1)
