"""When a tool is withheld as unhealthy, and how it comes back: with a clock in hand."""

from __future__ import annotations

import msgspec
import pytest

from actors.upstream.messages import (
    CallResult,
    ResponseTooLarge,
    UpstreamDied,
    UpstreamError,
    UpstreamInvalid,
    UpstreamResting,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from actors.upstream.rules import rules_of
from actors.upstream.tool_health import FIRST_PROBE_SECONDS, ToolHealth, has_failed
from bus.message import Blob
from config.schema import Settings
from config.schema_proxy import ExposureSettings, ProxySettings
from config.schema_upstream import ToolSettings, UpstreamSettings
from tests.bus.test_breaker import Clock

HOUR = 3600


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> ToolHealth:
    return ToolHealth(ExposureSettings(), clock)


def fail(health: ToolHealth, times: int) -> list[bool]:
    return [health.count("s", "t", failed=True) for _ in range(times)]


def test_five_failures_and_nothing_else_withhold_a_tool(health: ToolHealth) -> None:
    assert fail(health, 5) == [False] * 4 + [True]
    assert health.why("s", "t").startswith("5 of 5 calls failed in 24 h; it comes back by itself")
    assert health.why("s", "other") == ""
    assert fail(health, 1) == [False]  # no news


def test_one_answer_in_twenty_is_the_border(health: ToolHealth) -> None:
    health.count("s", "t", failed=False)
    assert fail(health, 18) == [False] * 18
    assert fail(health, 1) == [True]


def test_what_is_older_than_the_window_counts_no_more(health: ToolHealth, clock: Clock) -> None:
    for _ in range(10):
        health.count("s", "t", failed=False)
    clock.now += 25 * HOUR
    assert fail(health, 5)[-1]
    clock.now += 25 * HOUR
    assert fail(health, 1) == [False]
    assert health.why("s", "t").startswith("1 of 1 calls")


def test_it_comes_back_after_a_probe_that_went_well_and_waits_longer_the_next_time(
    health: ToolHealth, clock: Clock
) -> None:
    fail(health, 5)
    assert health.due() == set()
    clock.now += FIRST_PROBE_SECONDS
    assert health.due() == {"s"}
    assert not health.probed("s", well=False)
    assert health.due() == set()
    clock.now += 2 * FIRST_PROBE_SECONDS
    assert health.probed("s", well=True)
    assert health.why("s", "t") == ""
    assert fail(health, 5)[-1]
    clock.now += 2 * FIRST_PROBE_SECONDS
    assert health.due() == set()
    clock.now += 2 * FIRST_PROBE_SECONDS
    assert health.due() == {"s"}


def test_another_connection_begins_anew(health: ToolHealth) -> None:
    fail(health, 5)
    health.forget("other")
    assert health.why("s", "t")
    health.forget("s")
    assert not health.why("s", "t")
    fail(health, 5)
    health.keep({"other"})
    assert not health.why("s", "t")


@pytest.mark.parametrize(
    "outcome, failed",
    [
        (CallResult(result=Blob(b'{"isError":true,"content":[]}')), False),
        (CallResult(error=Blob(b'{"code":-32602,"message":"path is missing"}')), False),
        (CallResult(error=Blob(b'{"code":-32603,"message":"internal"}')), True),
        (CallResult(error=Blob(b'{"code":-32050,"message":"custom"}')), True),
        (UpstreamTimeout(""), True),
        (UpstreamDied(""), True),
        (UpstreamInvalid(""), True),
        (ResponseTooLarge(""), None),
        (UpstreamUnavailable(""), None),
        (UpstreamResting(""), None),
    ],
)
def test_whose_fault_a_failure_is(outcome: CallResult | UpstreamError, failed: bool | None) -> None:
    assert has_failed(outcome) is failed


@pytest.mark.parametrize("profile, unhealthy, excluded", [("strict", True, "strict"), ("review", False, "")])
def test_profiles(profile: str, unhealthy: bool, excluded: str, health: ToolHealth) -> None:
    fail(health, 5)
    exposure = msgspec.convert({"profile": profile}, ExposureSettings)
    tool = ToolSettings(expose_in_profiles=("review",))
    server = UpstreamSettings(prefix="s", tool_overrides={"t": tool})
    settings = Settings(proxy=ProxySettings(exposure=exposure, upstream_servers={"s": server}))
    rules = rules_of(settings, health, None, "s", "t")
    assert (rules.withheld_for is not None, rules.excluded_by) == (unhealthy, excluded)
    assert rules_of(settings, health, None, "s", "other").excluded_by == ""


def test_a_death_is_blamed_on_a_call_that_was_alone(health: ToolHealth) -> None:
    for _ in range(6):
        first, second = health.begin("s"), health.begin("s")
        elsewhere = health.begin("other")
        assert not health.end("s", "a", first, UpstreamDied(""))
        assert not health.end("s", "b", second, UpstreamDied(""))
        assert not health.end("other", "c", elsewhere, None)
    verdicts = [health.end("s", "a", health.begin("s"), UpstreamDied("")) for _ in range(5)]
    assert verdicts == [False] * 4 + [True]
