"""Questions without an event loop, to a real actor over real sockets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bus.endpoint import Runtime
from bus.message import Blob, Request
from cli.hook_bus import ask_all
from config.place import Place
from tests.bus.actors_under_test import Echo, Echoed, Fail, Note, Probe, Sleep, Steps, Unheard
from tests.eventually import eventually


class Absent(Request[Echoed], frozen=True, kw_only=True):
    actor = "absent"
    reply = Echoed


@pytest.fixture
async def probe(place: Place) -> AsyncIterator[Probe]:
    actor = Probe(place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


async def ask(place: Place, *requests: Request[Any], seconds: float = 10.0) -> list[Any]:
    deadline = time.monotonic() + seconds
    return await asyncio.to_thread(ask_all, Runtime(place.runtime), requests, deadline, "trace-1")


async def test_replies_come_in_the_order_of_the_requests(place: Place, probe: Probe) -> None:
    large = Blob(b"x" * 300_000)
    slow, first, second = await ask(place, Sleep(seconds=0.05), Echo(text="grüß", blob=large), Echo(text="two"))
    assert (slow.text, first.text, first.blob, second.text) == ("slept", "grüß", large, "two")


async def test_what_goes_ahead_of_a_reply_is_passed_over(place: Place, probe: Probe) -> None:
    [reply] = await ask(place, Steps(count=3))
    assert reply.text == "trace-1"


async def test_an_acknowledgement_is_awaited(place: Place, probe: Probe) -> None:
    assert await ask(place, Note(text="kept")) == [None]
    assert probe.notes == ["kept"]


async def test_one_that_fails_costs_only_itself(place: Place, probe: Probe) -> None:
    replies = await ask(place, Fail(how="typed"), Fail(how="odd"), Unheard(), Absent(), Echo(text="well"))
    assert replies[:4] == [None] * 4
    assert replies[4].text == "well"


async def test_the_deadline_travels_with_the_question(place: Place, probe: Probe) -> None:
    assert await ask(place, Sleep(seconds=60), seconds=0.3) == [None]
    assert probe.started == 1
    await eventually(lambda: probe.cancelled == 1)
