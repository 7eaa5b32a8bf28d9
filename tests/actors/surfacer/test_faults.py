"""What a faulty memory server, store or process costs: memories, and nothing else."""

from __future__ import annotations

import sqlite3

import psutil
import pytest

from actors.surfacer.messages import GetSurfacerHealth
from actors.telemetry.messages import FaultEvent
from bus.client import Bus
from bus.endpoint import Runtime
from config.place import Place
from tests.actors.process import start_process
from tests.actors.surfacer.conftest import (
    Recorder,
    configure,
    is_ready,
    running,
    surface,
)
from tests.eventually import eventually, until
from tests.fixtures.scripted_ltm import ScriptedLtm


async def test_a_hanging_memory_server_costs_the_time_out_and_opens_the_breaker(
    home: Place, ltm: ScriptedLtm, recorder: Recorder
) -> None:
    configure(home, timeout_seconds=0.1, circuit_max_failures=2, circuit_reset_seconds=3600)
    ltm.tell(behaviour="hang")
    async with running(home) as bus:
        assert (await surface(bus, {"path": "src/auth/handler.py"})).reason == "timeout"
        assert (await surface(bus, {"path": "lib/parser/grammar_rules.py"})).reason == "timeout"
        assert (await surface(bus, {"path": "lib/lexer/unicode_table.py"})).reason == "circuit_open"
        health = await bus.ask(GetSurfacerHealth(), timeout=5)
        assert (health.breaker, health.attempts, health.faults) == ("open", 2, 2)
        await eventually(lambda: any(isinstance(e, FaultEvent) and e.what == "breaker_open" for e in recorder.received))


async def test_half_open_lets_one_probe_decide(home: Place, ltm: ScriptedLtm) -> None:
    configure(home, circuit_max_failures=1, circuit_reset_seconds=0.05, cooldown_seconds=0)
    ltm.tell(behaviour="error")
    async with running(home) as bus:
        assert (await surface(bus, {"path": "src/auth/handler.py"})).reason == "ltm_unavailable"
        ltm.tell(behaviour="ok")

        async def healed() -> bool:
            return (await surface(bus, {"path": "src/auth/handler.py"})).block is not None

        await until(healed)
        assert (await bus.ask(GetSurfacerHealth(), timeout=5)).breaker == "closed"


@pytest.mark.parametrize("behaviour", ["error", "garbage", "rpc_error"])
async def test_a_faulty_answer_costs_the_memories_only(home: Place, ltm: ScriptedLtm, behaviour: str) -> None:
    ltm.tell(behaviour=behaviour)
    async with running(home) as bus:
        assert (await surface(bus, {"path": "src/auth/handler.py"})).reason == "ltm_unavailable"
        assert (await bus.ask(GetSurfacerHealth(), timeout=5)).faults == 1


async def test_a_crashed_memory_server_comes_back(home: Place, ltm: ScriptedLtm) -> None:
    configure(home, cooldown_seconds=0)
    ltm.tell(behaviour="crash")
    async with running(home) as bus:
        assert (await surface(bus, {"path": "src/auth/handler.py"})).reason == "ltm_unavailable"
        ltm.tell(behaviour="ok")

        async def shown() -> bool:
            return (await surface(bus, {"path": "src/auth/handler.py"})).block is not None

        await until(shown)


async def test_a_corrupt_store_is_set_aside_and_reported(home: Place, recorder: Recorder) -> None:
    (home.state / "surfacing.db").write_bytes(b"not a database" * 100)
    async with running(home) as bus:
        assert (await surface(bus, {"path": "src/auth/handler.py"})).block is not None
        await eventually(
            lambda: any(isinstance(e, FaultEvent) and e.what == "store_set_aside" for e in recorder.received)
        )
    assert len(list(home.state.glob("surfacing.db.damaged-*"))) == 1


async def test_a_corrupt_index_is_set_aside_and_reported_for_its_server(place: Place, recorder: Recorder) -> None:
    """The embedded LTM, which no test of this file but this one has."""
    (place.state / "embedded.db").write_bytes(b"not a database" * 100)
    async with running(place):
        await eventually(
            lambda: any(isinstance(e, FaultEvent) and "embedded.db.damaged-" in e.detail for e in recorder.received)
        )
    assert len(list(place.state.glob("embedded.db.damaged-*"))) == 1


async def test_a_killed_surfacer_remembers_what_it_has_shown_and_leaves_no_child(home: Place) -> None:
    configure(home, cooldown_seconds=0)
    call = {"path": "src/auth/handler.py"}
    children: set[int] = set()
    bus = Bus(Runtime(home.runtime), "test")
    for reason in ("", "no_results_dedup"):
        process = start_process(home, "surfacer")
        await until(lambda: is_ready(bus))
        assert (await surface(bus, call)).reason == reason
        children |= {child.pid for child in psutil.Process(process.pid).children()}
        process.kill()
        process.wait()
    bus.close()
    await eventually(lambda: not any(psutil.pid_exists(pid) for pid in children))


async def test_a_store_that_cannot_be_written_costs_the_memories_only(home: Place, recorder: Recorder) -> None:
    async with running(home) as bus:
        with sqlite3.connect(home.state / "surfacing.db") as other:
            other.execute("DROP TABLE shown")
        assert (await surface(bus, {"path": "src/auth/handler.py"})).reason == "empty_render"
        await eventually(lambda: any(isinstance(e, FaultEvent) and e.what == "store_failed" for e in recorder.received))
