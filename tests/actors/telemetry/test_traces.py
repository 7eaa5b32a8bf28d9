"""One call put together from its events, and the calls of a period."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.telemetry.messages import (
    Event,
    FaultEvent,
    FeedbackEvent,
    OpportunityEvent,
    ProgressiveReadEvent,
    SurfacingEvent,
)
from actors.telemetry.traces import find_calls, trace
from bus.errors import Refused, StateError
from tests.actors.telemetry.events import call
from tests.actors.telemetry.test_stats import stored

ENDED = "2026-11-30T14:05:10.500000Z"
NAMES = {"server": "fs", "tool": "read"}
EVENTS: tuple[Event, ...] = (
    call(
        ts=ENDED,
        trace_id="aa11",
        upstream_ms=300.0,
        compress_ms=100.0,
        surface_ms=50.0,
        total_ms=500.0,
        surfacing="surfaced",
        strategy="truncate",
    ),
    OpportunityEvent(ts="2026-11-30T14:05:10.450000Z", trace_id="aa11", decision="surfaced", **NAMES),
    SurfacingEvent(ts="2026-11-30T14:05:10.460000Z", trace_id="aa11", surfacing_id="s1", memory_ids=["m1"], **NAMES),
    ProgressiveReadEvent(ts="2026-11-30T14:05:10.400000Z", trace_id="aa11", key_digest="k1", **NAMES),
    ProgressiveReadEvent(ts="2026-11-30T14:06:00Z", trace_id="other", key_digest="k1", follow_up=True, **NAMES),
    FeedbackEvent(ts="2026-11-30T14:07:00Z", surfacing_id="s1", memory_id="m1", rating="helpful", **NAMES),
    FaultEvent(ts="2026-11-30T14:05:10.100000Z", trace_id="aa11", component="upstream:fs", what="died_in_call"),
    call(ts="2026-11-30T14:04:00Z", trace_id="ab22", ok=False, error="timeout", tool="write", total_ms=90_000.0),
    call(ts="2026-11-30T13:00:00Z", trace_id="ac33", ok=False, error="busy", server="git", tool="log", total_ms=2.0),
    FaultEvent(ts="2026-11-30T12:00:00Z", trace_id="lone", component="compressor", what="store_failed"),
)


def test_a_call_is_shown_with_everything_that_belongs_to_it(tmp_path: Path) -> None:
    found = trace(stored(tmp_path, *EVENTS), "aa")
    assert (found["trace_id"], found["started"]) == ("aa11", "2026-11-30T14:05:10.000000Z")
    assert found["call"]["strategy"] == "truncate"
    assert [(row["stage"], row["offset_ms"], row["duration_ms"]) for row in found["stages"]] == [
        ("upstream", 0.0, 300.0),
        ("compress", 300.0, 100.0),
        ("surface", 400.0, 50.0),
        ("gateway", 450.0, 50.0),
    ]
    assert [(row["kind"], row["offset_ms"]) for row in found["events"]] == [
        ("fault", 100.0),
        ("progressive_reads", 400.0),
        ("opportunity", 450.0),
        ("surfacing", 460.0),
        ("progressive_reads", 50_000.0),
        ("feedback", 110_000.0),
    ]
    assert found["events"][-1]["details"]["rating"] == "helpful"


def test_stages_stand_where_they_were_measured_and_the_gateway_between_them(tmp_path: Path) -> None:
    begins = {"upstream_at_ms": 20.5, "compress_at_ms": 321.0}
    measured = call(trace_id="ba11", upstream_ms=300.0, compress_ms=100.0, total_ms=500.0, **begins)
    found = trace(stored(tmp_path, measured))
    assert [(row["stage"], row["offset_ms"], row["duration_ms"]) for row in found["stages"]] == [
        ("gateway", 0.0, 20.5),
        ("upstream", 20.5, 300.0),
        ("gateway", 320.5, 0.5),
        ("compress", 321.0, 100.0),
        ("gateway", 421.0, 79.0),
    ]


def test_stages_that_did_not_run_are_left_out(tmp_path: Path) -> None:
    found = trace(stored(tmp_path, *EVENTS), "ab22")
    assert [(row["stage"], row["duration_ms"]) for row in found["stages"]] == [("upstream", 90_000.0)]
    refused = trace(tmp_path / "analytics.duckdb", "ac33")
    assert [row["stage"] for row in refused["stages"]] == ["gateway"]


def test_the_newest_call_needs_no_id_and_events_may_lack_a_call(tmp_path: Path) -> None:
    path = stored(tmp_path, *EVENTS)
    assert trace(path)["trace_id"] == "aa11"
    alone = trace(path, "lone")
    assert (alone["call"], alone["stages"], [row["kind"] for row in alone["events"]]) == (None, [], ["fault"])


@pytest.mark.parametrize(("beginning", "said"), [("a", "aa11, ab22, ac33"), ("zz", "no event has the trace id")])
def test_an_id_must_mean_one_call(tmp_path: Path, beginning: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        trace(stored(tmp_path, *EVENTS), beginning)


def test_without_calls_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no call has been recorded"):
        trace(stored(tmp_path))
    with pytest.raises(StateError, match="no analytics"):
        trace(tmp_path / "missing.duckdb")


def test_calls_are_found_by_outcome_and_time(tmp_path: Path) -> None:
    path = stored(tmp_path, *EVENTS)
    around = {"since": "2026-11-30T14:00:00+00:00", "until": "2026-11-30T14:10:00+00:00"}
    ids = lambda found: [row["trace_id"] for row in found["calls"]]  # noqa: E731
    assert ids(find_calls(path)) == ["aa11", "ab22", "ac33"]
    assert ids(find_calls(path, failed=True)) == ["ab22", "ac33"]
    assert ids(find_calls(path, failed=True, **around)) == ["ab22"]
    assert ids(find_calls(path, server="git")) == ["ac33"]
    assert ids(find_calls(path, tool="fs__write")) == ["ab22"]
    one = find_calls(path, failed=True, limit=1)
    assert (one["found"], len(one["calls"]), one["calls"][0]["error"]) == (2, 1, "timeout")
    assert ids(find_calls(path, until="2026-11-30T14:04:00Z")) == ["ac33"], "up to, exclusive"
    with pytest.raises(Refused, match="until is 'then'"):
        find_calls(path, until="then")
