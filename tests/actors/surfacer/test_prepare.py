"""Searches that go ahead of their call, and calls that do not wait for them to the end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actors.surfacer.messages import GetSurfacerHealth, Prepare, Surface, Surfaced
from bus.client import Bus
from bus.message import Blob
from config.place import Place
from tests.actors.surfacer.conftest import configure, running, surface
from tests.eventually import eventually, until
from tests.fixtures.scripted_ltm import ScriptedLtm

AUTH = {"path": "src/auth/handler.py"}
IMPATIENT = 1


async def prepare(bus: Bus, arguments: dict[str, Any] | None = None, *, id_: str = "p1", **fields: Any) -> None:
    call = {"server": "fs", "tool": "read_file", "session": "s1", **fields}
    call.setdefault("advertised", f"{call['server']}__{call['tool']}")
    await bus.ask(Prepare(id=id_, arguments=Blob.of(json.dumps(arguments or {})), **call), timeout=10)


async def follow(bus: Bus, arguments: dict[str, Any], **fields: Any) -> Surfaced:
    return await surface(bus, arguments, prepared="p1", **fields)


async def test_the_call_finds_what_was_searched_ahead_of_it(home: Place, ltm: ScriptedLtm) -> None:
    configure(home, cache_ttl_seconds=0, max_surfacings_per_minute=1)
    async with running(home) as bus:
        await prepare(bus, AUTH)
        assert len(ltm.calls("mem_search")) == 1
        ltm.tell(behaviour="hang")
        assert (await follow(bus, AUTH)).block is not None
        assert len(ltm.calls("mem_search")) == 1
        assert (await surface(bus, {"query": "pgbouncer prepared statements"})).reason == "gate_rate_limit"


async def test_another_question_is_not_answered_by_it(home: Place, ltm: ScriptedLtm) -> None:
    async with running(home) as bus:
        await prepare(bus, AUTH)
        assert (await follow(bus, {"query": "pgbouncer prepared statements mode"})).block is not None
        assert len(ltm.calls("mem_search")) == 2


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        (AUTH, {"tool": "write_file"}),
        (AUTH, {"declared_writer": True}),
        ({"id": 7}, {"tool": "get"}),
        ({"query": "why is ghp_0123456789abcdefghijklmnopqrstuvwxyz refused"}, {}),
    ],
    ids=["writer by name", "writer by annotation", "no query", "credential"],
)
async def test_where_a_gate_says_no_nothing_is_searched(
    home: Place, ltm: ScriptedLtm, arguments: dict[str, Any], fields: dict[str, Any]
) -> None:
    async with running(home) as bus:
        await prepare(bus, arguments, **fields)
        assert ltm.calls("mem_search") == []


async def test_a_search_ends_with_the_call_that_it_was_for(home: Place, ltm: ScriptedLtm) -> None:
    ltm.tell(behaviour="hang")
    async with running(home) as bus:
        ahead = asyncio.create_task(prepare(bus, AUTH))
        await eventually(lambda: ltm.calls("mem_search"))
        ahead.cancel()
        await asyncio.gather(ahead, return_exceptions=True)
        ltm.tell(behaviour="ok")
        assert (await surface(bus, AUTH)).block is not None
        health = await bus.ask(GetSurfacerHealth(), timeout=5)
        assert (health.attempts, health.faults) == (1, 0)


async def test_nobody_waits_for_a_slow_search_but_its_result_is_kept(home: Place, ltm: ScriptedLtm) -> None:
    hold = home.home / "hold"
    hold.touch()
    ltm.tell(hold=str(hold))
    async with running(home) as bus:
        assert (await surface(bus, AUTH, patience_ms=IMPATIENT)).reason == "timeout"
        hold.unlink()

        async def searched() -> bool:
            return (await bus.ask(GetSurfacerHealth(), timeout=5)).attempts == 1

        await until(searched)
        assert (await surface(bus, AUTH, session="s2", patience_ms=IMPATIENT)).block is not None
        assert len(ltm.calls("mem_search")) == 1


async def test_a_hung_memory_server_opens_the_breaker_though_nobody_waits_for_it(home: Place, ltm: ScriptedLtm) -> None:
    configure(home, timeout_seconds=0.2, circuit_max_failures=2, circuit_reset_seconds=3600)
    ltm.tell(behaviour="hang")
    async with running(home) as bus:
        for arguments in (AUTH, {"path": "lib/parser/grammar_rules.py"}):
            assert (await surface(bus, arguments, patience_ms=IMPATIENT)).reason == "timeout"

        async def opened() -> bool:
            return (await bus.ask(GetSurfacerHealth(), timeout=5)).breaker == "open"

        await until(opened)
        assert (await surface(bus, {"path": "lib/lexer/unicode_table.py"})).reason == "circuit_open"


async def test_the_same_question_is_searched_once_at_a_time(home: Place, ltm: ScriptedLtm) -> None:
    hold = home.home / "hold"
    hold.touch()
    ltm.tell(hold=str(hold))
    async with running(home) as bus:
        calls = [asyncio.create_task(surface(bus, AUTH, session=f"s{number}")) for number in range(5)]
        await eventually(lambda: ltm.calls("mem_search"))
        hold.unlink()
        found = await asyncio.gather(*calls)
        assert len(ltm.calls("mem_search")) == 1
        assert sum(one.block is not None for one in found) == 1, "the others had it from the first: once in seven days"


async def test_a_further_page_meets_no_cooldown(home: Place) -> None:
    configure(home, max_results=1)
    async with running(home) as bus:
        assert (await surface(bus, AUTH)).block is not None
        assert (await surface(bus, AUTH)).reason == "gate_cooldown"
        assert (await surface(bus, AUTH, continues=True)).reason == "no_results_dedup"


def test_a_preparation_asks_for_nothing_that_a_call_does_not_know_before_its_answer() -> None:
    assert {"response_chars", "is_error"}.isdisjoint(Prepare.__struct_fields__)
    assert set(Prepare.__struct_fields__) - {"id"} <= set(Surface.__struct_fields__)
