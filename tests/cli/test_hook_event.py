"""Events of hosts taken apart, and the answers to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.hook_event import LONGEST_ARGUMENTS, Event, answer, read_event, shell_output, wants
from tests.fixtures import host_events as events


def read(event: dict[str, Any], host: str = "") -> Event:
    found = read_event(events.encoded(event), host, "/home/u")
    assert found is not None
    return found


def arguments(event: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(read(event).arguments)
    return found


@pytest.mark.parametrize(
    ("event", "chars"),
    [
        (events.read("a.py", "é" * 700), 700),
        (events.bash("make", "o" * 500, "e" * 20), 520),
        (events.bash("cat x.png", "A" * 500, isImage=True), 0),
        (events.grep("x", "c" * 300), 300),
        (events.glob("**/*.py", ["a.py", "bc.py"]), 9),
        (events.codex("ls", "o" * 40), 40),
        (events.claude("Read", {}, {"type": "image", "file": {"base64": "A" * 9000, "type": "png"}}), 0),
        (events.claude("Task", {}, [{"type": "text", "text": "t" * 30}]), 30),
        (events.claude("Read", {}, None), 0),
    ],
)
def test_the_length_of_an_answer_is_that_of_its_texts(event: dict[str, Any], chars: int) -> None:
    assert read(event).response_chars == chars


def test_the_host_is_told_by_its_event_unless_the_command_line_names_it() -> None:
    assert read(events.read("a.py")).host == "claude"
    assert read(events.codex("ls", "")).host == "codex"
    assert read(events.read("a.py"), "codex").host == "codex"
    assert read_event(events.encoded(events.read("a.py")), "cursor") is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"{}",
        b"[" * 100_000,
        events.encoded({**events.read("a.py"), "hook_event_name": "PreToolUse"}),
        events.encoded({**events.read("a.py"), "tool_name": 5}),
        events.encoded({**events.read("a.py"), "tool_name": "x" * 1000}),
        events.encoded(events.read("a.py"))[:-5],
    ],
)
def test_what_is_no_event_is_left_alone(data: bytes) -> None:
    assert read_event(data) is None


def test_a_call_without_a_path_of_its_own_is_about_the_project() -> None:
    assert arguments(events.grep("retry", ""))["cwd"] == events.PROJECT
    assert arguments(events.bash("make", ""))["cwd"] == events.PROJECT
    assert "cwd" not in arguments(events.read("a.py"))
    for nowhere in ("/", "/tmp", "/home/u", "/home/u/"):
        assert "cwd" not in arguments({**events.grep("retry", ""), "cwd": nowhere})


def test_odd_members_do_no_harm() -> None:
    event = {**events.read("a.py"), "session_id": None, "tool_input": "text", "cwd": 5}
    found = read(event)
    assert (found.session, found.arguments) == ("", b"{}")
    lone = read({**events.bash("echo \ud800", "\udfff"), "session_id": "\ud800"})
    assert lone.session == "?"
    json.loads(lone.arguments.decode())
    assert read(events.bash("x" * LONGEST_ARGUMENTS, "")).arguments == b"{}"


@pytest.mark.parametrize(
    ("patterns", "tool", "wanted"),
    [
        (("Read", "Bash"), "Read", True),
        (("Read",), "Write", False),
        (("*",), "WebFetch", True),
        (("*",), "mcp__memtomem__fs__read", False),
        (("mcp__github__*",), "mcp__github__get_file", True),
        ((), "Read", False),
    ],
)
def test_which_tools_get_memories(patterns: tuple[str, ...], tool: str, wanted: bool) -> None:
    assert wants(patterns, tool) is wanted


def test_only_text_of_a_shell_that_the_host_lets_replace_is_shortened() -> None:
    assert shell_output(read(events.bash("make", "o" * 50, "e")), 40) == ("o" * 50, "e")
    for other in (
        events.bash("make", "o" * 40),
        events.bash("make", "o" * 50, isImage=True),
        events.bash("make", "o" * 50, persistedOutputPath="/x/tool-results/1.txt"),
        {**events.bash("make", ""), "tool_response": {"stdout": None, "stderr": "e" * 50}},
        events.read("a.py"),
        events.codex("make", "o" * 50),
        {**events.bash("make", ""), "tool_response": "o" * 50},
    ):
        assert shell_output(read(other), 40) is None


def test_an_answer_has_what_the_host_knows_and_nothing_else() -> None:
    event = read(events.bash("make", "o", "e", gitOperation={"kind": "commit"}))
    assert answer(event, None, None) == b""
    assert json.loads(answer(event, "<m>", None)) == {
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "<m>"}
    }
    shown = json.loads(answer(event, None, ("new", "")))["hookSpecificOutput"]
    assert shown == {
        "hookEventName": "PostToolUse",
        "updatedToolOutput": {
            "stdout": "new",
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "noOutputExpected": False,
            "gitOperation": {"kind": "commit"},
        },
    }
    assert answer(event, "\ud800", None).decode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = st.sampled_from(sorted(events.codex("ls", "")))


@given(st.dictionaries(MEMBERS, JSON), st.sampled_from(["claude", "codex"]), st.sampled_from(["Bash", "Read"]))
def test_whatever_a_host_writes_is_answered_or_left_alone(odd: dict[str, Any], host: str, tool: str) -> None:
    data = json.dumps({"tool_name": tool, "tool_input": {}, "tool_response": {}, **odd}).encode()
    event = read_event(data, host)
    if event is None:
        return
    assert isinstance(json.loads(event.arguments), dict)
    assert event.response_chars >= 0
    output = shell_output(event, 0)
    assert output is None or (event.host, event.tool) == ("claude", "Bash")
    json.loads(answer(event, "<m>", output))
