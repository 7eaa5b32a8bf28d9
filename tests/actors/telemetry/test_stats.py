from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from actors.telemetry.journal import Journal
from actors.telemetry.messages import (
    CompressionFeedbackEvent,
    Event,
    ExecutionEvent,
    FaultEvent,
    FeedbackEvent,
    OpportunityEvent,
    ProgressiveReadEvent,
    SelectionEvent,
    SurfacingEvent,
    TuningEvent,
)
from actors.telemetry.query import run_read_only
from actors.telemetry.stats import report
from actors.telemetry.warehouse import Warehouse
from bus.errors import Refused, StateError
from tests.actors.telemetry.events import call, lines
from tests.fixtures.store import empty_store

DAY_1, DAY_2 = "2026-11-01T10:00:00Z", "2026-11-02T10:00:00Z"


def at(second: int) -> str:
    return f"2026-11-02T10:00:{second:02d}Z"


def stored(directory: Path, *events: Event) -> Path:
    path = empty_store(directory)
    journal = Journal(directory / "events")
    journal.open()
    assert journal.append(lines(*events)) == 0
    warehouse = Warehouse(path, directory / "loading.tmp", retention_days={})
    assert warehouse.load(journal.extents).rows == len(events)
    journal.close()
    return path


CALLS = (
    call(ts=DAY_1, original_chars=1000, delivered_chars=400, original_tokens=250, delivered_tokens=100, total_ms=10.0),
    call(ts=DAY_2, original_chars=1000, delivered_chars=400, original_tokens=250, delivered_tokens=100, cached=True),
    call(ts=DAY_2, ok=False, error="timeout", total_ms=30.0, upstream_ms=29.0, session="a"),
    call(
        ts=DAY_2,
        server="git",
        tool="log",
        original_tokens=80,
        delivered_tokens=90,
        memory_tokens=30,
        surfacing="surfaced",
        strategy="truncate",
        degraded="tuner",
        session="b",
    ),
)


def test_savings_add_up(tmp_path: Path) -> None:
    found = report(stored(tmp_path, *CALLS))
    assert (found["calls"], found["live"], found["cached"], found["failed"]) == (4, 2, 1, 1)
    assert (found["original_chars"], found["delivered_chars"], found["saved_chars"]) == (2000, 800, 1200)
    assert (found["original_tokens"], found["delivered_tokens"], found["saved_tokens"]) == (580, 290, 290)
    assert (found["saved_ratio"], found["memory_tokens"]) == (0.5, 30)
    assert (found["surfaced"], found["degraded"], found["sessions"]) == (1, 1, 3)
    assert found["latency_ms"] == {"p50": 5.0, "p95": 27.0, "p99": 29.4}
    assert found["own_ms"]["p99"] < 10
    assert found["errors"] == {"timeout": 1}
    assert [row["strategy"] for row in found["strategies"]] == ["none", "truncate"]
    assert (found["first_ts"], found["last_ts"]) == ("2026-11-01T10:00:00.000000Z", "2026-11-02T10:00:00.000000Z")


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("tool", ["fs__read", "git__log"]),
        ("server", ["fs", "git"]),
        ("day", ["2026-11-02", "2026-11-01"]),
    ],
)
def test_savings_are_grouped(tmp_path: Path, by: str, keys: list[str]) -> None:
    path = stored(tmp_path, *CALLS)
    found = report(path, by=by)
    assert [row["key"] for row in found["groups"]] == keys
    for number in ("calls", "live", "cached", "failed", "saved_tokens", "saved_chars", "memory_tokens"):
        assert sum(row[number] for row in found["groups"]) == found[number]
    first = report(path, by=by, limit=1)
    assert [row["key"] for row in first["groups"]] == keys[:1]
    assert first["groups_total"] == 2


def test_period_and_tool_narrow_a_report(tmp_path: Path) -> None:
    path = stored(tmp_path, *CALLS)
    assert report(path, since="2026-11-02")["calls"] == 3
    assert report(path, since="2026-11-02T10:00:00Z")["calls"] == 3, "inclusive"
    assert report(path, since="2026-11-02T10:00:00.000001Z")["calls"] == 0
    assert report(path, since="2026-11-02T12:00:00+02:00")["calls"] == 3
    assert report(path, tool="log")["calls"] == report(path, tool="git__log")["calls"] == 1
    assert report(path, tool="nope")["calls"] == 0


@pytest.mark.parametrize("name", ["savings", "surfacing", "compression", "progressive", "tuning", "faults", "latency"])
@pytest.mark.parametrize("limit", [0, 10])
def test_an_empty_store_gives_zeros(tmp_path: Path, name: str, limit: int) -> None:
    found = report(stored(tmp_path), name, limit=limit)
    msgspec.json.encode(found)
    assert all(not value or key == "by" for key, value in found.items() if not isinstance(value, dict)), found


def test_a_period_ends_before_until_and_a_server_can_be_picked(tmp_path: Path) -> None:
    path = stored(tmp_path, *CALLS)
    assert report(path, until="2026-11-02T10:00:00Z")["calls"] == 1
    assert report(path, since="2026-11-02", until="2026-11-03")["calls"] == 3
    assert report(path, server="git")["calls"] == 1
    assert report(path, server="git", tool="read")["calls"] == 0
    for name in ("savings", "surfacing", "compression", "progressive", "tuning", "faults", "latency"):
        msgspec.json.encode(report(path, name, server="git", tool="log", since=DAY_1, until=DAY_2))
    with pytest.raises(Refused, match="until is 'then'"):
        report(path, until="then")


def test_latency_says_which_stage_and_which_upstream_is_slow(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        *(call(upstream_ms=float(ms), total_ms=ms + 5.0, compress_ms=2.0) for ms in (10, 20, 30)),
        call(cached=True, total_ms=1.0),
        call(server="slow", ok=False, error="timeout", total_ms=900.0),
        call(server="slow", upstream_ms=100.0, total_ms=101.0),
    )
    found = report(path, "latency")
    assert found["calls"] == 6
    stages = {row["stage"]: row for row in found["stages"]}
    assert list(stages) == ["upstream", "compress", "surface", "total"]
    assert (stages["upstream"]["calls"], stages["upstream"]["p50"]) == (4, 25.0)
    assert (stages["compress"]["calls"], stages["compress"]["p99"]) == (3, 2.0)
    assert (stages["surface"]["calls"], stages["surface"]["p50"]) == (0, None)
    slow, fast = found["servers"]
    assert (slow["server"], slow["calls"], slow["failed"], slow["timeouts"]) == ("slow", 2, 1, 1)
    assert (slow["waited_ms"]["p50"], slow["share"]) == (500.0, round(1000 / 1060, 4))
    assert (fast["server"], fast["calls"], fast["waited_ms"]["p50"]) == ("fs", 3, 20.0)
    assert report(path)["own_ms"]["p99"] < 10, "a call without an answer says nothing about our share"
    assert len(report(path, "latency", limit=1)["servers"]) == 1


def test_figures_stay_right_after_retention_and_rebuild(tmp_path: Path) -> None:
    """Old calls leave; what is left adds up as in a store that never had them, and again after a rebuild."""
    now = datetime.now(UTC)

    def stamp(days: int) -> str:
        return (now - timedelta(days=days)).isoformat(timespec="microseconds").replace("+00:00", "Z")

    events = [
        call(ts=stamp(days), original_tokens=days, tool=f"t{days % 3}", total_ms=float(days)) for days in range(40)
    ]
    journal = Journal(tmp_path / "events")
    journal.open()
    journal.append(lines(*events))
    path = tmp_path / "kept.duckdb"
    warehouse = Warehouse(path, tmp_path / "loading.tmp", retention_days={"call": 9.5})
    warehouse.load(journal.extents)
    assert report(path)["calls"] == 10
    (tmp_path / "fresh").mkdir()
    fresh = stored(tmp_path / "fresh", *(event for event in events if event.original_tokens < 10))
    for by in ("tool", "server", "day"):
        assert report(path, by=by) == report(fresh, by=by)
    assert report(path, "latency") == report(fresh, "latency")
    before = report(path)
    path.write_bytes(b"damaged" * 1_000)
    warehouse.set_aside()
    Warehouse(path, tmp_path / "loading.tmp", retention_days={"call": 9.5}).load(journal.extents)
    assert report(path) == before
    journal.close()


def test_surfacing_counts_what_was_shown_and_how_it_was_rated(tmp_path: Path) -> None:
    shown: dict[str, Any] = {"server": "fs", "tool": "read"}
    path = stored(
        tmp_path,
        SurfacingEvent(
            ts=at(1), surfacing_id="s1", memory_ids=["m1", "m2"], relevance=[0.9, 0.5], injected_chars=100, **shown
        ),
        SurfacingEvent(ts=at(2), surfacing_id="s2", memory_ids=["m1"], injected_chars=50, server="git", tool="log"),
        SurfacingEvent(ts=at(3), surfacing_id="s3", memory_ids=["m9"], arm="withheld", **shown),
        FeedbackEvent(ts=at(4), surfacing_id="s1", memory_id="m1", rating="not_relevant", **shown),
        FeedbackEvent(ts=at(5), surfacing_id="s1", memory_id="m1", rating="helpful", **shown),
        FeedbackEvent(ts=at(6), surfacing_id="s1", memory_id="m2", rating="already_known", **shown),
        OpportunityEvent(decision="surfaced", **shown),
        OpportunityEvent(decision="surfaced", **shown),
        OpportunityEvent(decision="no_query", **shown),
    )
    found = report(path, "surfacing")
    assert (found["events_total"], found["distinct_tools"], found["withheld"]) == (2, 2, 1)
    assert (found["memories_shown"], found["injected_chars"]) == (3, 150)
    assert (found["total_feedback"], found["helpful_ratio"]) == (2, 0.5)
    assert found["ratings"] == {"helpful": 1, "partially_helpful": 0, "not_relevant": 0, "already_known": 1}
    assert found["opportunities"] == {"total": 3, "by_decision": {"surfaced": 2, "no_query": 1}}
    by_tool = {row["tool"]: row for row in found["tools"]}
    assert (by_tool["fs__read"]["events"], by_tool["fs__read"]["feedback"]) == (1, 2)
    assert (by_tool["git__log"]["feedback"], by_tool["git__log"]["helpful_ratio"]) == (0, None)
    assert [row["surfacing_id"] for row in found["recent"]] == ["s2", "s1"]
    assert [row["ratings"] for row in found["recent"]] == [{}, {"m1": "helpful", "m2": "already_known"}]
    assert found["recent"][1]["relevance"] == [0.9, 0.5]
    assert report(path, "surfacing", limit=0)["recent"] == []
    assert report(path, "surfacing", tool="git__log")["total_feedback"] == 0
    ratings: list[Any] = msgspec.json.decode(
        run_read_only(path, "SELECT memory_id, helpful FROM memory_ratings ORDER BY 1").rows
    )
    assert ratings == [["m1", 1], ["m2", 0]]


def test_compression_reports_are_counted(tmp_path: Path) -> None:
    where: dict[str, Any] = {"server": "fs", "tool": "read"}
    path = stored(
        tmp_path,
        CompressionFeedbackEvent(ts=at(1), category="truncated", missing="line 40", **where),
        CompressionFeedbackEvent(ts=at(2), category="other", missing="the end", server="git", tool="log"),
        CompressionFeedbackEvent(ts=at(3), category="truncated", missing="line 50", **where),
    )
    found = report(path, "compression", limit=1)
    assert (found["reports_total"], found["by_category"]) == (3, {"truncated": 2, "other": 1})
    assert [(row["tool"], row["reports"]) for row in found["tools"]] == [("fs__read", 2), ("git__log", 1)]
    assert [row["missing"] for row in found["recent"]] == ["line 50"]


def read(key: str, offset: int, served: int, total: int, tool: str = "read") -> ProgressiveReadEvent:
    return ProgressiveReadEvent(
        key_digest=key,
        server="fs",
        tool=tool,
        offset=offset,
        served_chars=served,
        total_chars=total,
        follow_up=offset > 0,
        progressive=True,
    )


def test_progressive_weighs_each_response_the_same(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        read("a", 0, 100, 1000),
        read("b", 0, 100, 400, tool="list"),
        read("b", 100, 100, 400, tool="list"),
        read("b", 150, 100, 400, tool="list"),
        read("b", 150, 100, 400, tool="list"),
        FaultEvent(component="compressor", what="store_failed", count=2),
    )
    found = report(path, "progressive")
    assert (found["reads"], found["responses"], found["follow_up_rate"]) == (5, 2, 0.5)
    assert (found["mean_served_chars"], found["mean_total_chars"]) == (250.0, 700.0)
    assert found["mean_coverage"] == round((0.1 + 250 / 400) / 2, 4), "overlapping reads count once"
    assert (found["initial_payload_chars"], found["follow_up_payload_chars"]) == (200, 300)
    assert (found["store_failures"], found["unclassified_legacy_reads"]) == (2, 0)
    assert [(row["tool"], row["responses"]) for row in found["tools"]] == [("fs__list", 1), ("fs__read", 1)]
    assert report(path, "progressive", tool="list")["mean_coverage"] == 0.625


def test_tuning_shows_the_present_threshold_and_why(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        TuningEvent(ts=at(1), tool="fs__read", old=0.35, new=0.37, reason="14 of 20 negative"),
        TuningEvent(ts=at(2), tool="fs__read", old=0.37, new=0.39, reason="15 of 20 negative"),
        TuningEvent(ts=at(3), tool="git__log", old=0.35, new=0.33, reason="18 of 20 helpful"),
        FeedbackEvent(surfacing_id="s", memory_id="m", rating="not_relevant", server="fs", tool="read"),
    )
    found = report(path, "tuning")
    assert found["changes_total"] == 3
    (newest, other) = found["tools"]
    assert (newest["tool"], newest["min_score"]) == ("git__log", 0.33)
    assert (other["started_at"], other["min_score"], other["last_reason"]) == (0.35, 0.39, "15 of 20 negative")
    assert [(row["tool"], row["negative_ratio"]) for row in found["feedback"]] == [("fs__read", 1.0)]
    assert report(path, "tuning", tool="read")["changes_total"] == 2
    assert report(path, "tuning", tool="fs__read", limit=1)["recent"][0]["new"] == 0.39


def test_faults_are_summed(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        FaultEvent(ts=at(1), component="ltm", what="breaker_open", detail="first"),
        FaultEvent(ts=at(2), component="ltm", what="breaker_open", detail="second", count=4),
        FaultEvent(ts=at(3), component="upstream", what="restart"),
    )
    found = report(path, "faults")
    assert found["total"] == 6
    assert [(row["what"], row["count"], row["last_detail"]) for row in found["groups"]] == [
        ("restart", 1, ""),
        ("breaker_open", 5, "second"),
    ]
    assert found["recent"][0]["what"] == "restart"


@pytest.mark.parametrize(
    "arguments", [{"name": "waltz"}, {"since": "yesterday"}, {"by": "colour"}, {"limit": -1}, {"limit": 10**6}]
)
def test_unusable_arguments_are_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        report(stored(tmp_path), **arguments)


def test_no_store_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no analytics"):
        report(tmp_path / "analytics.duckdb")


def test_a_file_of_an_earlier_version_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = stored(tmp_path, *CALLS)
    with duckdb.connect(path) as connection:
        connection.execute("DROP VIEW latest_ratings")
    with pytest.raises(StateError, match="cannot be used"):
        report(path, "surfacing")


def test_the_latest_calls_stand_in_the_savings(tmp_path: Path) -> None:
    path = stored(tmp_path, *CALLS)
    recent = report(path, limit=2)["recent"]
    assert [row["ts"][:10] for row in recent] == ["2026-11-02", "2026-11-02"]
    assert {row["error"] for row in report(path, tool="fs__read")["recent"]} == {"", "timeout"}
    assert report(path, limit=0)["recent"] == []


def test_selections_are_compared_by_ranker(tmp_path: Path) -> None:
    events: list[Event] = []
    for number, (ranked, rank) in enumerate([(True, 1.0), (True, 3.0), (False, 0.0)]):
        common: dict[str, Any] = {"selection_id": f"s{number}", "server": "fs", "selected_tool": "fs__read"}
        events.append(
            SelectionEvent(
                **common,
                candidate_tools=["fs__read", "fs__write"],
                candidate_count=2,
                reject_reasons={"fs__x": "config_hidden"},
                candidate_features={"fs__read": {"rank": rank, "bm25": 1.5}} if ranked else None,
                args_sha256="0" * 64,
                args_chars=2,
                ranker_version="v1-bm25-tool-relevance" if ranked else "v0-passthrough",
            )
        )
        events.append(ExecutionEvent(**common, ok=number != 0, latency_ms=float(number)))
    path = stored(tmp_path, *events)
    with duckdb.connect(str(path), read_only=True) as connection:
        found = connection.execute("FROM selection_by_ranker").fetchall()
        rejected = connection.execute("SELECT DISTINCT reject_reasons['fs__x'] FROM selection").fetchall()
    assert found == [
        ("v0-passthrough", 1, 2.0, 0, None, None, 1.0, 2.0),
        ("v1-bm25-tool-relevance", 2, 2.0, 2, 0.5, 2.0, 0.5, 0.5),
    ]
    assert rejected == [("config_hidden",)]
