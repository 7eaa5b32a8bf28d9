"""What `stm_admin` takes, and how it refuses: by name and type, never by value."""

from __future__ import annotations

from typing import Any

import pytest

from actors.surfacer.messages import SurfacerHealth
from bus.errors import Refused
from gateway.admin_arguments import ACTIONS, help_text, read
from gateway.admin_text import verdict

SECRET = "hunter2-correct-horse"


def test_defaults_are_filled_in_and_null_is_left_out() -> None:
    assert read("surfacing_stats", None) == {"tool": None, "since": None, "limit": 10}
    assert read("surfacing_stats", {"tool": None, "limit": 0})["limit"] == 0
    assert read("tuning_recommendations", {"since_hours": 1, "tool": ""}) == {"since_hours": 1, "tool": ""}
    assert read("proxy_stats", {}) == {}


@pytest.mark.parametrize(
    ("action", "params", "told"),
    [
        (SECRET, None, "unknown action"),
        ("proxy_stats", {"tool": SECRET}, "'tool'"),
        ("compression_stats", {"tools": SECRET}, "compression_stats takes tool"),
        ("compression_stats", {"tool": [SECRET]}, "params.tool must be a string, not an array"),
        ("surfacing_stats", {"limit": SECRET}, "params.limit must be an integer, not a string"),
        ("surfacing_stats", {"limit": True}, "params.limit must be an integer, not a boolean"),
        ("surfacing_stats", {"limit": 1.5}, "params.limit must be an integer, not a number"),
        ("surfacing_stats", {"limit": None}, "params.limit must be an integer, not null"),
        ("surfacing_stats", {"limit": -1}, "params.limit must be from 0 to 10000"),
        ("surfacing_stats", {"since": SECRET}, "params.since must be an ISO-8601 time"),
        ("tuning_recommendations", {"since_hours": {SECRET: 1}}, "params.since_hours must be a number, not an object"),
        ("help", {"action": SECRET}, None),
    ],
)
def test_a_refusal_names_argument_and_type_and_not_the_value(action: str, params: Any, told: str | None) -> None:
    with pytest.raises(Refused) as refusal:
        checked = read(action, params)
        help_text(checked["action"])
    assert (told or "unknown action") in refusal.value.message
    assert SECRET not in refusal.value.message


def test_help_documents_every_action_and_parameter() -> None:
    text = help_text(None)
    for name, action in ACTIONS.items():
        assert f"\n{name}: " in text
        assert help_text(name) in text
        for parameter in action.parameters:
            assert f"  {parameter.name} (" in help_text(name)


@pytest.mark.parametrize(
    ("attempts", "faults", "expected"),
    [(9, 9, "insufficient data"), (10, 0, "HEALTHY"), (100, 24, "HEALTHY"), (100, 25, "DEGRADED"), (100, 75, "FAULTY")],
)
def test_the_verdict_follows_the_share_of_faults(attempts: int, faults: int, expected: str) -> None:
    assert verdict(SurfacerHealth(attempts=attempts, faults=faults)).startswith(expected)
