"""The analytics file in use: others read it beside a running actor, hold it for long, and it is torn by a crash."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import duckdb
import pytest

from actors.telemetry.messages import Event, GetTelemetryHealth, Query, Record, TelemetryHealth
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from config.place import Place
from tests.actors.process import start_process
from tests.actors.telemetry.events import calls, lines
from tests.actors.telemetry.holder import held_by_another_process
from tests.actors.telemetry.test_actor import rows
from tests.eventually import until

pytestmark = pytest.mark.slow

READER = """
import sys, duckdb
for _ in range(int(sys.argv[2])):
    while True:
        try:
            with duckdb.connect(sys.argv[1], read_only=True) as store:
                print(store.execute("SELECT count(*) FROM call").fetchone()[0], flush=True)
            break
        except (duckdb.IOException, duckdb.CatalogException):
            pass
"""


@pytest.fixture
async def client(place: Place) -> AsyncIterator[Bus]:
    found = Bus(Runtime(place.runtime), "test")
    yield found
    found.close()


async def send(client: Bus, batch: list[Event]) -> None:
    await client.tell(Record(lines=Blob(lines(*batch)), producer="test"), timeout=10)


async def started(place: Place, client: Bus) -> subprocess.Popen[bytes]:
    process = start_process(place, "telemetry")
    await client.ping("telemetry", timeout=20, wait=20)
    return process


async def when(client: Bus, condition: Callable[[TelemetryHealth], bool]) -> None:
    """Returns once the actor's health is so; nobody asks for data meanwhile."""

    async def holds() -> bool:
        return condition(await client.ask(GetTelemetryHealth(), timeout=20))

    await until(holds)


async def everything(client: Bus) -> dict[str, int]:
    """Event id → how often it is in the store."""
    return {row[0]: row[1] for row in await rows(client, "SELECT event_id, count(*) FROM call GROUP BY event_id")}


async def test_others_read_the_file_beside_a_busy_actor(place: Place, client: Bus) -> None:
    process = await started(place, client)
    try:
        await send(client, calls(10))
        await client.ask(Query(sql="SELECT 1"), timeout=20)
        file = str(place.state / "analytics.duckdb")
        reader = subprocess.Popen([sys.executable, "-c", READER, file, "12"], stdout=subprocess.PIPE, text=True)
        sent = 10
        while reader.poll() is None:
            await send(client, calls(50))
            sent += 50
            await client.ask(GetTelemetryHealth(), timeout=20)
        assert reader.stdout is not None
        seen = [int(line) for line in reader.stdout.read().split()]
        reader.stdout.close()
        assert (len(seen), reader.returncode) == (12, 0)
        assert seen == sorted(seen)
        assert 10 <= seen[0] <= seen[-1] <= sent
        assert await rows(client, "SELECT count(*), count(DISTINCT event_id) FROM call") == [[sent, sent]]
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("read_only", [True, False])
async def test_whoever_holds_the_file_costs_only_freshness(place: Place, client: Bus, read_only: bool) -> None:
    process = await started(place, client)
    try:
        await send(client, calls(10))
        await client.ask(Query(sql="SELECT 1"), timeout=20)
        with held_by_another_process(place.state / "analytics.duckdb", read_only=read_only):
            for _ in range(20):
                await send(client, calls(100))
            await when(client, lambda health: (health.store, health.pending) == ("held", 2_000))
        # Nobody asks: the actor comes back to it by itself.
        await when(client, lambda health: (health.store, health.pending) == ("ready", 0))
        found = await everything(client)
        assert (len(found), set(found.values())) == (2_010, {1})
    finally:
        process.terminate()
        process.wait()


def _truncated(file: Path) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 2 // 3])


def _overwritten(file: Path) -> None:
    """A page that a power failure left half written."""
    data = bytearray(file.read_bytes())
    noise = random.Random(1)
    for offset in range(4096, len(data), 65_536):
        data[offset : offset + 2_048] = noise.randbytes(2_048)
    file.write_bytes(bytes(data))


def _lost(file: Path) -> None:
    file.unlink()


def _torn_log(file: Path) -> None:
    """The write-ahead log of a writer that was killed, cut in the middle."""
    log = file.with_name(file.name + ".wal")
    code = (
        "import duckdb, os, sys; store = duckdb.connect(sys.argv[1]); store.execute('CREATE TABLE t AS SELECT 1'); "
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=False)
    assert log.exists()
    log.write_bytes(log.read_bytes()[:-37])


@pytest.mark.parametrize("damage", [_truncated, _overwritten, _lost, _torn_log])
async def test_killed_and_its_file_torn_it_has_every_acknowledged_event_once(
    place: Place, client: Bus, damage: Callable[[Path], None]
) -> None:
    file = place.state / "analytics.duckdb"
    acknowledged: set[str] = set()

    async def load(batches: int) -> None:
        for _ in range(batches):
            batch = calls(100)
            await send(client, batch)
            acknowledged.update(event.event_id for event in batch)

    process = await started(place, client)
    await load(5)
    await client.ask(Query(sql="SELECT 1"), timeout=20)
    await load(5)
    # A load is under way while it dies.
    asking = asyncio.create_task(client.ask(Query(sql="SELECT count(*) FROM call"), timeout=2))
    await asyncio.sleep(0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    asking.cancel()
    await asyncio.wait([asking])
    damage(file)
    process = await started(place, client)
    try:
        await load(3)
        found = await everything(client)
        assert acknowledged == found.keys()
        assert set(found.values()) == {1}
        assert len(acknowledged) == 1_300
    finally:
        process.terminate()
        process.wait()
    aside = list(place.state.glob("analytics.duckdb.damaged-*"))
    with duckdb.connect(file, read_only=True) as connection:
        faults = connection.execute("SELECT what FROM fault").fetchall()
    assert bool(aside) == (("store_set_aside",) in faults)
