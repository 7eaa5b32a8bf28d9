"""The static gate, one reason per call, in the specification's order."""

from __future__ import annotations

from typing import Any

import pytest

from config.schema_surfacing import ContextToolSettings, SurfacingSettings
from config.surfacing_gate import is_writer, static_reason

SETTINGS = SurfacingSettings(
    exclude_tools=("secret_*", "gh__list_*", "github__audit"),
    context_tools={"quiet": ContextToolSettings(enabled=False), "github__hush": ContextToolSettings(enabled=False)},
)


def reason(settings: SurfacingSettings = SETTINGS, tool: str = "get_issue", **fields: Any) -> str:
    call = {
        "server": "github",
        "tool": tool,
        "advertised": f"gh__{tool}",
        "declared_writer": False,
        "upstream_enabled": True,
        "response_chars": 5000,
        "has_context_query": False,
        **fields,
    }
    return static_reason(settings, **call)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ""),
        ({"response_chars": 4999}, "response_too_short"),
        ({"response_chars": 0, "has_context_query": True}, ""),
        ({"declared_writer": True, "has_context_query": True}, "gate_write_tool"),
        ({"tool": "create_issue", "response_chars": 1}, "gate_write_tool"),
        ({"tool": "quiet", "declared_writer": True}, "gate_tool_disabled"),
        ({"tool": "hush"}, "gate_tool_disabled"),
        ({"tool": "secret_read"}, "gate_excluded_tool"),
        ({"tool": "list_issues"}, "gate_excluded_tool"),
        ({"tool": "audit"}, "gate_excluded_tool"),
        ({"tool": "secret_read", "upstream_enabled": False}, "upstream_disabled"),
    ],
)
def test_the_first_reason_counts(fields: dict[str, Any], expected: str) -> None:
    assert reason(**fields) == expected


def test_off_is_off() -> None:
    assert reason(SurfacingSettings(enabled=False)) == "disabled"
    assert reason(SurfacingSettings(enabled=False), upstream_enabled=False) == "upstream_disabled"


WRITERS = "write_file Write MultiEdit edit_file move_file updateIssue merge_pull_request add-comment git_commit git_add"
READERS = (
    "Read read_file Grep Bash list_issues get_update_status search fetch git_log git_show commit_history lock_status"
)


@pytest.mark.parametrize("tool", WRITERS.split())
def test_writers_by_name(tool: str) -> None:
    assert is_writer(SETTINGS, server="git", tool=tool)


@pytest.mark.parametrize("tool", READERS.split())
def test_readers(tool: str) -> None:
    assert not is_writer(SETTINGS, server="git", tool=tool)
