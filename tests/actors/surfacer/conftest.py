"""A running surfacer over a notes folder of the test, with the embedded LTM as a real process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from actors.surfacer.actor import MEMORIES, SurfacerActor
from actors.surfacer.messages import GetSurfacerHealth, Surface, Surfaced
from actors.telemetry.messages import AnyEvent, Record
from actors.tuner.messages import Tuning, WatchTuning
from bus.actor import Actor, Context, handles, streams
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from config.place import Place
from tests.eventually import until
from tests.fixtures.scripted_ltm import ScriptedLtm


def note(place: Place, name: str, text: str) -> None:
    """Writes a note as a user would."""
    path = place.home / MEMORIES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def configure(place: Place, **surfacing: Any) -> None:
    """Writes the configuration: these keys of `surfacing`, beside those written before."""
    known = json.loads(place.config_file.read_text()) if place.config_file.exists() else {"surfacing": {}}
    known["surfacing"].update(surfacing)
    place.config_file.write_text(json.dumps(known), encoding="utf-8")


@pytest.fixture
def ltm(place: Place) -> ScriptedLtm:
    """A memory server as the LTM of the place."""
    found = ScriptedLtm(place.home)
    configure(place, **found.settings)
    return found


class Recorder(Actor):
    """Stands where telemetry is, and keeps the events it is handed."""

    name = "telemetry"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.received: list[AnyEvent] = []

    @handles(Record)
    async def record(self, request: Record, context: Context) -> None:
        for line in request.lines.data.splitlines():
            self.received.append(msgspec.json.decode(line, type=AnyEvent))


class Rater(Actor):
    """Stands where the tuner is, and streams what a test publishes."""

    name = "tuner"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._tunings: asyncio.Queue[Tuning] = asyncio.Queue()

    def publish(self, tuning: Tuning) -> None:
        self._tunings.put_nowait(tuning)

    @streams(WatchTuning)
    async def watch(self, request: WatchTuning, context: Context) -> AsyncIterator[Tuning]:
        while True:
            yield await self._tunings.get()


@pytest.fixture
async def recorder(place: Place) -> AsyncIterator[Recorder]:
    actor = Recorder(place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


@pytest.fixture
async def rater(place: Place) -> AsyncIterator[Rater]:
    actor = Rater(place)
    await actor.start()
    yield actor
    await actor.stop(drain=0.1)


@asynccontextmanager
async def running(place: Place, *, ready: bool = True) -> AsyncIterator[Bus]:
    """The surfacer of a place, and a client of its bus; waits for its LTM unless told not to."""
    actor = SurfacerActor(place)
    await actor.start()
    bus = Bus(Runtime(place.runtime), "test")
    try:
        if ready:
            await until(lambda: is_ready(bus))
        yield bus
    finally:
        bus.close()
        await actor.stop(drain=0.1)


async def is_ready(bus: Bus) -> bool:
    return (await bus.ask(GetSurfacerHealth(), timeout=5)).ltm == "ready"


async def surface(bus: Bus, arguments: dict[str, Any] | None = None, **fields: Any) -> Surfaced:
    """Asks for memories; a long answer of `fs.read_file` unless said otherwise."""
    call = {"server": "fs", "tool": "read_file", "response_chars": 10_000, "session": "s1", **fields}
    call.setdefault("advertised", f"{call['server']}__{call['tool']}")
    return await bus.ask(Surface(arguments=Blob.of(json.dumps(arguments or {})), **call), timeout=10)


@pytest.fixture(autouse=True)
def without_a_memory_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """No `memtomem-server` of this machine, and no settings of this environment."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


AUTH = "The auth handler rotates the refresh token on every use; access tokens are JWTs of 15 minutes."
POOL = "pgbouncer runs in transaction mode, so prepared statements must be off."


@pytest.fixture
def home(place: Place, ltm: ScriptedLtm, recorder: Recorder) -> Place:
    """A home whose memory server knows two things."""
    ltm.remember(postgres=POOL, auth=AUTH)
    return place
