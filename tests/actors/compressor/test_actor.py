"""The actor over its messages: in this process, over sockets, and as a process that is killed."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.compressor.actor import CompressorActor
from actors.compressor.messages import (
    Compress,
    GetRecallStats,
    Policy,
    ReadMore,
    SelectChunks,
)
from actors.compressor.pages import FOOTER
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from config.place import Place
from tests.actors.compressor import texts
from tests.actors.process import start_process
from tests.eventually import eventually


@pytest.fixture
async def actor(any_place: Place) -> AsyncIterator[CompressorActor]:
    made = CompressorActor(any_place)
    await made.start()
    yield made
    await made.stop(drain=1)


@pytest.fixture
async def bus(actor: CompressorActor) -> AsyncIterator[Bus]:
    client = Bus(Runtime(actor.place.runtime), "test")
    yield client
    client.close()


def request(text: str, strategy: str = "auto", trace_id: str = "") -> Compress:
    return Compress(
        server="srv", tool="read", texts=(Blob.of(text),), policy=Policy(strategy=strategy), trace_id=trace_id
    )


async def test_shorten_then_read_everything_back(bus: Bus) -> None:
    text = texts.log(3000)
    reply = await bus.ask(request(text, trace_id="t-1"), timeout=20)
    assert reply.texts[0] is not None
    assert f'key="{reply.keys[0]}"' in reply.texts[0].text
    parts, offset = [], 0
    while offset < len(text):
        page = await bus.ask(ReadMore(key=reply.keys[0], offset=offset), timeout=20)
        assert (page.server, page.tool, page.trace_id, page.total) == ("srv", "read", "t-1", len(text))
        parts.append(page.text.text.rpartition(FOOTER)[0])
        offset += page.served
    assert "".join(parts) == text


async def test_find_and_sections(bus: Bus) -> None:
    reply = await bus.ask(request(texts.markdown(90), "selective"), timeout=20)
    found = await bus.ask(ReadMore(key=reply.keys[0], find='"Section 77"'), timeout=20)
    assert "## Section 77" in found.text.text
    heading = texts.markdown(90).split("## ")[5].splitlines()[0]
    chosen = await bus.ask(SelectChunks(key=reply.keys[0], sections=(heading,)), timeout=20)
    assert f"## {heading}" in chosen.text.text


async def test_unknown_keys_are_error_results(bus: Bus) -> None:
    for ask in (ReadMore(key="nope"), SelectChunks(key="nope", sections=("a",))):
        page = await bus.ask(ask, timeout=20)
        assert page.is_error
        assert page.text.text == "this key is unknown or has expired; call the tool again for a fresh response"


async def test_a_store_that_fails_delivers_everything(bus: Bus, actor: CompressorActor) -> None:
    actor._store._db.execute("PRAGMA max_page_count = 12")
    text = texts.issues(400)
    reply = await bus.ask(request(text), timeout=20)
    assert reply.store_failed
    assert reply.texts == (None,)
    assert reply.keys == ()
    assert reply.delivered_chars == len(text)


async def test_a_corrupt_store_and_an_open_key_are_reported(place: Place) -> None:
    (place.state / "recall.db").write_bytes(b"nonsense" * 2000)
    (place.state / "recall.key").write_bytes(b"k" * 32)
    (place.state / "recall.key").chmod(0o644)
    actor = CompressorActor(place)
    await actor.start()
    client = Bus(Runtime(place.runtime), "test")
    try:
        stats = await client.ask(GetRecallStats(), timeout=20)
        assert "recall.db.damaged-" in stats.set_aside
        assert stats.entries == 0
        assert "mode 0644" in stats.key_fault
    finally:
        client.close()
        await actor.stop(drain=1)


async def test_a_long_text_does_not_hold_up_a_short_one(bus: Bus) -> None:
    order: list[str] = []

    async def ask(name: str, text: str) -> None:
        await bus.ask(request(text), timeout=60)
        order.append(name)

    long = asyncio.create_task(ask("long", texts.log(60_000)))
    await asyncio.sleep(0)
    await asyncio.gather(long, ask("short", texts.log(100)))
    assert order == ["short", "long"]


async def test_keys_survive_a_killed_process(place: Place) -> None:
    client = Bus(Runtime(place.runtime), "test")
    text = texts.issues(150)
    process = start_process(place, "compressor")
    try:
        reply = await client.ask(request(text), timeout=30, wait=30)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process = start_process(place, "compressor")
        page = await client.ask(ReadMore(key=reply.keys[0], limit=100), timeout=30, wait=30)
        assert text.startswith(page.text.text.rpartition(FOOTER)[0])
        assert page.served == 100
        nice = Path(f"/proc/{process.pid}/stat")
        if nice.exists():
            assert int(nice.read_text().rpartition(")")[2].split()[16]) >= 5
    finally:
        client.close()
        process.terminate()
        assert process.wait(20) == 0
    with sqlite3.connect(place.state / "recall.db") as db:
        assert db.execute("SELECT count(*) FROM originals").fetchone() == (1,)


async def test_stop_waits_for_work_in_flight(place: Place) -> None:
    actor = CompressorActor(place)
    await actor.start()
    client = Bus(Runtime(place.runtime), "test")
    asked = asyncio.create_task(client.ask(request(texts.log(30_000)), timeout=30))
    await eventually(lambda: actor._running)
    await actor.stop(drain=20)
    assert (await asked).texts[0] is not None
    client.close()
