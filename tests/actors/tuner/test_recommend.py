"""What is recommended, and above all what is not."""

from __future__ import annotations

from typing import Any

import pytest

from actors.tuner.messages import Change, Recommendation
from actors.tuner.observe import follow_ups, observe, pin
from actors.tuner.recommend import FollowUps, Observed, recommend
from actors.tuner.store import Tool
from actors.tuner.thresholds import Tally
from config.load import interpret
from config.place import Place
from config.policy import ToolPolicy
from config.schema import Settings
from config.schema_surfacing import SurfacingSettings

TOOL = Tool("fs", "read")
ENTRY = ("surfacing", "context_tools", "fs__read")
BUDGET = ("upstream_servers", "fs", "tool_overrides", "read")
OFF = SurfacingSettings(auto_tune_enabled=False)


def given(**known: Any) -> Observed:
    usual: dict[str, Any] = {"tool": TOOL, "threshold": 0.35, "entry": ENTRY, "budget": BUDGET}
    return Observed(**(usual | known))


def recommended(settings: SurfacingSettings = OFF, **known: Any) -> tuple[Recommendation, ...]:
    return recommend([given(**known)], settings)


def settings_of(document: dict[str, Any], place: Place) -> Settings:
    return interpret(document, {}, place.config_file).settings


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"ratings": Tally(0, 4, 4)},  # too few to say anything
        {"ratings": Tally(3, 2, 5)},  # neither mostly negative nor mostly helpful
        {"reports": {"missing_field": 2}},
        {"follow_ups": FollowUps(4, 1.0, 40_000, 80_000)},  # too few responses
        {"follow_ups": FollowUps(50, 0.2, 40_000, 80_000)},  # rarely read on
        {"follow_ups": FollowUps(50, 0.9, 15_000, 80_000)},  # all of it fits the budget by now
        {"follow_ups": FollowUps(50, 0.9, 40_000, 80_000), "policy": ToolPolicy(strategy="progressive")},
        {"follow_ups": FollowUps(50, 0.9, 40_000, 80_000), "budget": ()},
    ],
)
def test_nothing_where_nothing_is_to_be_gained(known: dict[str, Any]) -> None:
    assert recommended(**known) == ()


def test_mostly_negative_ratings_raise_the_threshold() -> None:
    [found] = recommended(ratings=Tally(1, 4, 5))
    assert (found.about, found.min_score, found.changes) == ("surfacing", 0.37, ())
    assert found.what == "raise min_score 0.35 → 0.37"
    assert "4 of 5 ratings of fs__read negative (80%); auto-tuning is off" in found.why


def test_mostly_helpful_ratings_lower_it_and_what_happens_by_itself_is_said() -> None:
    [found] = recommended(SurfacingSettings(), ratings=Tally(9, 0, 10))
    assert found.min_score == 0.33
    assert "happens by itself after 10 more ratings" in found.why


def test_a_pinned_threshold_is_a_change_of_the_configuration() -> None:
    [found] = recommended(ratings=Tally(0, 5, 5), pin=(*ENTRY, "min_score"))
    assert found.min_score is None
    assert found.changes == (Change(path=(*ENTRY, "min_score"), value=0.37),)


def test_at_the_ceiling_surfacing_is_to_be_stopped_for_the_tool() -> None:
    [found] = recommended(ratings=Tally(0, 5, 5), threshold=0.9)
    assert found.changes == (Change(path=(*ENTRY, "enabled"), value=False),)
    assert recommended(ratings=Tally(9, 0, 10), threshold=0.1) == ()


def test_a_budget_that_is_regularly_read_beyond_grows_to_what_was_read() -> None:
    [found] = recommended(follow_ups=FollowUps(10, 0.8, 30_200, 90_000))
    assert found.about == "budget"
    assert found.changes == (
        Change(path=(*BUDGET, "max_result_chars"), value=31_000),
        Change(path=(*BUDGET, "max_result_tokens"), value=7_750),
    )
    assert "80% of 10 shortened responses were read on" in found.why


def test_a_budget_never_grows_more_than_threefold_and_leaves_wide_tokens_alone() -> None:
    policy = ToolPolicy(max_chars=5_000, max_tokens=90_000)
    [found] = recommended(follow_ups=FollowUps(10, 0.8, 300_000, 900_000), policy=policy)
    assert found.changes == (Change(path=(*BUDGET, "max_result_chars"), value=15_000),)


def test_reports_of_lost_information_double_it() -> None:
    [found] = recommended(reports={"other": 1, "missing_field": 2})
    assert found.changes[0] == Change(path=(*BUDGET, "max_result_chars"), value=32_000)
    assert found.why == "3 reports of lost information (missing_field 2, other 1)"


def test_tools_are_observed_under_the_names_that_the_configuration_gives_them(place: Place) -> None:
    settings = settings_of(
        {
            "upstream_servers": {"fs": {"prefix": "f", "command": "x", "max_result_chars": 9_000}},
            "surfacing": {"context_tools": {"f__read": {"min_score": 0.5}, "write": {}}, "min_score": 0.4},
        },
        place,
    )
    assert pin(TOOL, settings) == 0.5
    assert pin(Tool("fs", "write"), settings) is None
    known: dict[str, Any] = {"ratings": None, "reports": None, "follow_ups": None}
    pinned = observe(TOOL, settings, tuned=0.6, **known)
    assert (pinned.threshold, pinned.pin[-2:], pinned.policy.max_chars) == (0.5, ("f__read", "min_score"), 9_000)
    unpinned = observe(Tool("fs", "write"), settings, tuned=0.6, **known)
    assert (unpinned.threshold, unpinned.pin, unpinned.entry[-1]) == (0.6, (), "write")
    foreign = observe(Tool("builtin", "Read"), settings, tuned=None, **known)
    assert (foreign.threshold, foreign.entry[-1], foreign.budget) == (0.4, "builtin__Read", ())


def test_the_longest_server_name_owns_a_key_and_unknown_servers_have_no_tools() -> None:
    row = {"responses": 1, "follow_up_rate": None, "mean_served_chars": 2.0, "mean_total_chars": 3.0}
    rows = [row | {"tool": "a__b__read"}, row | {"tool": "a__list"}, row | {"tool": "gone__read"}]
    assert follow_ups(rows, ["a", "a__b"]) == {
        Tool("a__b", "read"): FollowUps(1, 0.0, 2.0, 3.0),
        Tool("a", "list"): FollowUps(1, 0.0, 2.0, 3.0),
    }
