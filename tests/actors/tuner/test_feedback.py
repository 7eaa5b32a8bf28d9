"""What follows from ratings, over a real store."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from actors.tuner.feedback import Outcome, rate, tuning
from actors.tuner.store import FeedbackStore, Tool
from actors.tuner.thresholds import Step
from bus.errors import NewerState, StateError
from config.schema_surfacing import SurfacingSettings

READ, LOG = Tool("fs", "read"), Tool("git", "log")
SETTINGS = SurfacingSettings()
_events = itertools.count()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "feedback.db"


@pytest.fixture
def store(path: Path) -> Iterator[FeedbackStore]:
    found = FeedbackStore(path)
    yield found
    found.close()


def give(
    store: FeedbackStore,
    rating: str,
    count: int = 1,
    tool: Tool = READ,
    settings: SurfacingSettings = SETTINGS,
    pinned: tuple[Tool, ...] = (),
) -> list[Step]:
    """`count` ratings, each of a memory and an event of its own."""
    steps: list[Step] = []
    for _ in range(count):
        number = next(_events)
        outcome = store.run(
            lambda s, n=number: rate(s, f"s{n}", tool, {f"m{n}": rating}, settings, lambda which: which in pinned)  # type: ignore[misc]
        )
        steps += outcome.steps
    return steps


def event(store: FeedbackStore, surfacing_id: str, **ratings: str) -> Outcome:
    return store.run(lambda s: rate(s, surfacing_id, READ, ratings, SETTINGS, lambda _: False))


def test_nothing_moves_before_enough_ratings(store: FeedbackStore) -> None:
    assert give(store, "not_relevant", 19) == []
    (taken,) = give(store, "not_relevant")
    assert (taken.tool, taken.old, taken.new) == ("fs__read", 0.35, 0.37)
    assert "20 of 20" in taken.reason


def test_a_step_needs_as_many_new_ratings_again(store: FeedbackStore) -> None:
    give(store, "not_relevant", 20)
    assert give(store, "not_relevant", 19) == []
    assert [taken.new for taken in give(store, "not_relevant")] == [0.39]
    assert give(store, "helpful", 19) == []
    assert [taken.new for taken in give(store, "helpful")] == [0.37]


def test_a_block_without_a_step_is_judged_once(store: FeedbackStore) -> None:
    assert give(store, "partially_helpful", 20) == []
    assert [taken.new for taken in give(store, "already_known", 20)] == [0.37]


def test_a_rating_that_is_changed_before_its_block_is_judged_counts_as_changed(store: FeedbackStore) -> None:
    for number in range(19):
        event(store, f"e{number}", m="not_relevant")
    for number in range(19):
        event(store, f"e{number}", m="helpful")
    outcome = event(store, "e19", m="helpful")
    assert [taken.new for taken in outcome.steps] == [0.33]


def test_cold_tools_follow_the_ratio_over_all_tools(store: FeedbackStore) -> None:
    give(store, "not_relevant", 12, READ)
    steps = give(store, "not_relevant", 8, LOG)
    assert [(taken.tool, taken.new) for taken in steps] == [("fs__read", 0.37), ("git__log", 0.37)]
    assert all("all tools" in taken.reason for taken in steps)


def test_a_warm_tool_answers_to_its_own_ratings_only(store: FeedbackStore) -> None:
    give(store, "helpful", 20, READ)
    steps = give(store, "not_relevant", 19, LOG)
    assert steps == []
    steps = give(store, "not_relevant", 1, LOG)
    assert [(taken.tool, taken.new) for taken in steps] == [("git__log", 0.37)]
    assert store.run(FeedbackStore.thresholds) == {"fs__read": 0.33, "git__log": 0.37}


def test_a_tool_that_moved_with_all_others_waits_for_a_block_of_its_own(store: FeedbackStore) -> None:
    give(store, "not_relevant", 10, READ)
    assert len(give(store, "not_relevant", 10, LOG)) == 2
    assert give(store, "not_relevant", 10, READ) == [], "twenty in all, but only ten since its step"
    assert [(taken.tool, taken.new) for taken in give(store, "not_relevant", 10, READ)] == [("fs__read", 0.39)]


def test_a_pinned_tool_is_never_tuned(store: FeedbackStore) -> None:
    assert give(store, "not_relevant", 45, READ, pinned=(READ,)) == []
    steps = give(store, "not_relevant", 15, LOG, pinned=(READ,))
    assert [taken.tool for taken in steps] == ["git__log"]
    assert store.run(FeedbackStore.thresholds).keys() == {"git__log"}


def test_tuning_can_be_switched_off(store: FeedbackStore) -> None:
    assert give(store, "not_relevant", 50, settings=SurfacingSettings(auto_tune_enabled=False)) == []


def test_thresholds_survive_a_restart(store: FeedbackStore, path: Path) -> None:
    give(store, "not_relevant", 30)
    store.close()
    again = FeedbackStore(path)
    assert again.run(FeedbackStore.thresholds) == {"fs__read": 0.37}
    assert give(again, "not_relevant", 9) == []
    assert [taken.new for taken in give(again, "not_relevant")] == [0.39]
    again.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ratings=strategies.lists(
        strategies.tuples(
            strategies.sampled_from(["helpful", "partially_helpful", "not_relevant", "already_known"]),
            strategies.sampled_from([READ, LOG, Tool("a", "b")]),
        ),
        max_size=60,
    )
)
def test_between_two_steps_of_a_tool_lie_enough_ratings(tmp_path: Path, ratings: list[tuple[str, Tool]]) -> None:
    path = tmp_path / f"{next(_events)}.db"
    store = FeedbackStore(path)
    rules = SurfacingSettings(auto_tune_min_samples=4)
    last: dict[str, int] = {}
    for number, (rating, tool) in enumerate(ratings):
        for taken in give(store, rating, tool=tool, settings=rules):
            assert number - last.get(taken.tool, -4) >= 4
            assert 0.10 <= taken.new <= 0.90
            last[taken.tool] = number
    store.close()


def test_the_same_rating_again_changes_nothing(store: FeedbackStore) -> None:
    assert event(store, "e1", m1="helpful", m2="not_relevant").changed == ["m1", "m2"]
    assert event(store, "e1", m1="helpful", m2="not_relevant") == Outcome([], (), [])
    assert event(store, "e1", m1="helpful", m2="already_known").changed == ["m2"]


def test_a_memory_is_boosted_once_per_event(store: FeedbackStore) -> None:
    assert event(store, "e1", m1="helpful", m2="not_relevant").boosts == ("m1",)
    assert event(store, "e1", m1="not_relevant").boosts == ()
    assert event(store, "e1", m1="helpful").boosts == ()
    assert event(store, "e1", m2="helpful").boosts == ("m2",)
    assert event(store, "e2", m1="helpful").boosts == ("m1",)


def test_a_memory_is_demoted_by_negative_ratings_in_different_events(store: FeedbackStore) -> None:
    for _ in range(3):
        event(store, "e1", m1="not_relevant")
        event(store, "e1", m1="already_known")
    event(store, "e2", m1="already_known")
    assert store.run(lambda s: tuning(s, SETTINGS)).demoted == ()
    event(store, "e3", m1="not_relevant", m2="not_relevant")
    assert store.run(lambda s: tuning(s, SETTINGS)).demoted == ("m1",)
    event(store, "e3", m1="helpful")
    assert store.run(lambda s: tuning(s, SETTINGS)).demoted == ()


def test_demotion_follows_its_settings(store: FeedbackStore) -> None:
    event(store, "e1", m1="not_relevant")
    one = SurfacingSettings(feedback_demotion_negative_threshold=1)
    assert store.run(lambda s: tuning(s, one)).demoted == ("m1",)
    off = SurfacingSettings(feedback_demotion_negative_threshold=1, feedback_demotion_enabled=False)
    assert store.run(lambda s: tuning(s, off)).demoted == ()


def test_invalidation_counts_negative_ratings_per_memory(store: FeedbackStore) -> None:
    event(store, "e1", m1="not_relevant", m2="helpful")
    assert store.run(lambda s: tuning(s, SETTINGS)).invalidated == {"m1": 1}
    event(store, "e2", m1="already_known", m2="partially_helpful")
    assert store.run(lambda s: tuning(s, SETTINGS)).invalidated == {"m1": 2}


def test_old_and_surplus_rows_are_pruned(path: Path) -> None:
    store = FeedbackStore(path, rating_days=10)
    for number in range(5):
        event(store, f"e{number}", m="helpful")
        store.run(lambda s: s.report("fs", "read", "other", "text", ""))
    store.run(lambda s: s.prune(max_ratings=3, max_reports=2))
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT surfacing_id FROM rating ORDER BY number").fetchall() == [
            ("e2",),
            ("e3",),
            ("e4",),
        ]
        assert connection.execute("SELECT count(*) FROM report").fetchone() == (2,)
    store.run(lambda s: s.prune(datetime.now(UTC) + timedelta(days=11)))
    assert store.run(FeedbackStore.rated_tools) == {}
    store.close()


def test_the_file_is_private(store: FeedbackStore, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_newer_file_is_left_alone(store: FeedbackStore, path: Path) -> None:
    event(store, "e1", m1="helpful")
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NewerState, match="99"):
        FeedbackStore(path)
    assert path.read_bytes() == before


def test_a_file_of_the_first_version_keeps_its_rows(store: FeedbackStore, path: Path) -> None:
    give(store, "helpful", 3)
    store.run(lambda s: s.report("fs", "read", "other", "the end", "t1"))
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE answered_reports")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    again = FeedbackStore(path)
    long_ago = datetime.now(UTC) - timedelta(days=1)
    assert sum(again.run(FeedbackStore.rated_tools).values()) == 3
    assert again.run(lambda s: s.open_reports(long_ago)) == {Tool("fs", "read"): {"other": 1}}
    again.run(lambda s: s.answer_reports(Tool("fs", "read")))
    assert again.run(lambda s: s.open_reports(long_ago)) == {}
    again.close()


def test_a_corrupt_file_is_set_aside_at_start(store: FeedbackStore, path: Path) -> None:
    store.close()
    path.write_bytes(b"no database at all" * 100)
    again = FeedbackStore(path)
    assert Path(again.set_aside).read_bytes() == b"no database at all" * 100
    assert give(again, "helpful") == []
    again.close()


def test_a_file_that_turns_corrupt_is_replaced_and_the_rating_kept(store: FeedbackStore, path: Path) -> None:
    give(store, "helpful", 200)
    store._database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    store._database.connection.execute("PRAGMA cache_size = 0")
    store._database.connection.execute("PRAGMA shrink_memory")
    outcome = event(store, "after", m1="helpful")
    assert outcome.changed == ["m1"]
    assert store.set_aside
    assert store.run(FeedbackStore.rated_tools) == {READ: 1}


def test_a_store_that_cannot_be_opened_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"feedback\.db"):
        FeedbackStore(tmp_path / "missing" / "feedback.db")


def test_a_failure_in_the_middle_stores_nothing(store: FeedbackStore) -> None:
    def half(store: FeedbackStore) -> None:
        store.rate("e1", READ, {"m1": "helpful"})
        raise StateError("stop")

    with pytest.raises(StateError, match="stop"):
        store.run(half)
    assert store.run(FeedbackStore.rated_tools) == {}


def test_what_was_stored_survives_a_kill(path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from actors.tuner.store import FeedbackStore, Tool
store = FeedbackStore(Path(sys.argv[1]))
for number in range(40):
    store.run(lambda s: s.rate(f"e{number}", Tool("fs", "read"), {"m": "helpful"}))
os.kill(os.getpid(), 9)
"""
    killed = subprocess.run([sys.executable, "-c", code, path])
    assert killed.returncode == -9
    store = FeedbackStore(path)
    assert store.run(FeedbackStore.rated_tools) == {READ: 40}
    store.close()


def test_a_cold_tool_that_nobody_rates_any_more_does_not_drift(store: FeedbackStore) -> None:
    give(store, "not_relevant", 10, LOG)
    give(store, "not_relevant", 100, READ)
    assert store.run(FeedbackStore.thresholds)["git__log"] == 0.37
