"""Searches and the breaker that judges them."""

from __future__ import annotations

import msgspec

from actors.surfacer.searching import Searches
from config.place import Place
from tests.actors.surfacer.test_ltm import connected, settings_of
from tests.fixtures.scripted_ltm import ScriptedLtm

QUESTION = "how does the auth handler rotate tokens"


async def test_of_two_searches_that_begin_in_one_turn_one_is_the_probe(place: Place, ltm: ScriptedLtm) -> None:
    now = 1_000.0
    settings = msgspec.structs.replace(settings_of(ltm), circuit_max_failures=1, circuit_reset_seconds=60)
    searches = Searches(settings, on_breaker_open=lambda: None, clock=lambda: now)
    async with connected(place, settings) as searches.ltm:
        searches.breaker.failed(probe=False)
        assert searches.refusal() == "circuit_open"
        now += 60
        assert searches.refusal() == ""
        taken_back = searches.begin(("a", ""), QUESTION)
        assert searches.refusal() == "circuit_open"
        taken_back.task.cancel()  # before its first step
        await searches.close()
        assert searches.refusal() == ""

        probe = searches.begin(("a", ""), QUESTION)
        assert searches.refusal() == "circuit_open"
        await probe.result(None)
        assert (searches.refusal(), searches.breaker.state, searches.attempts) == ("", "closed", 1)
        assert len(ltm.calls("mem_search")) == 1
