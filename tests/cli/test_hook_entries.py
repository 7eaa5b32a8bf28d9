"""Our entry in a host's file of hooks: written, updated and taken out, everything else left byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from cli import jsonc
from cli.hook_entries import Entry, Occupied, command_line, entries, installed, uninstalled

COMMAND = "/opt/venv/bin/mms hook --host claude"
OTHER = {"matcher": "Read|Grep|Glob|Bash", "hooks": [{"type": "command", "command": "prettier --write"}]}
TEXTS = [
    "",
    "{}",
    '{"model": "opus", "n": 1.10, "id": 9007199254740993}',
    '{\n\t"hooks": {\n\t\t"PreToolUse": [{"matcher": "Bash", "hooks": []}]\n\t}\n}\n',
    '{\n  // mine\n  "hooks": {\n    "PostToolUse": [\n      // the formatter\n'
    '      {"matcher": "Read|Grep|Glob|Bash", "hooks": [{"type": "command", "command": "prettier --write"}]}, // end\n'
    "    ]\n  },\n}\n",
    '{"hooks": {"PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "x \\" }]"}]}]}}\r\n',
]


def install(text: str, command: str = COMMAND, matcher: str = "Read|Bash", **how: Any) -> str:
    return installed(text, command, matcher, **{"stated": False, "replace": False, **how})


def document(*commands: str | dict[str, Any], matcher: str = "Bash") -> str:
    hooks = [one if isinstance(one, dict) else {"type": "command", "command": one} for one in commands]
    return jsonc.put("", ("hooks", "PostToolUse", 0), {"matcher": matcher, "hooks": hooks})


def found(text: str) -> list[Entry]:
    return entries(jsonc.parse(text))


@pytest.mark.parametrize("text", TEXTS)
def test_one_entry_is_added_and_nothing_else_changes(text: str) -> None:
    changed = install(text)
    [entry] = found(changed)
    assert (entry.kind, entry.matcher, entry.program) == ("ours", "Read|Bash", "/opt/venv/bin/mms")
    assert install(changed) == changed
    without = jsonc.parse(changed)
    without["hooks"]["PostToolUse"].pop()
    before = jsonc.parse(text)
    before.setdefault("hooks", {}).setdefault("PostToolUse", [])
    assert without == before


@pytest.mark.parametrize("text", TEXTS[2:])
def test_taking_it_out_brings_back_every_byte(text: str) -> None:
    assert uninstalled(install(text)) == text
    assert uninstalled(text) == text


EMPTY = [
    "",
    '{"hooks": {}}',
    '{"hooks": {"PostToolUse": []}, "n": 1}',
    '{\r\n\t"hooks": {\r\n\t}\r\n}\r\n',
    '{\n  "hooks": null\n}\n',
    '\ufeff{"hooks": {"PostToolUse": null}}',
    "{ /* nothing */ }",
]


@pytest.mark.parametrize("text", TEXTS + EMPTY)
def test_the_file_before_comes_back_byte_for_byte(text: str) -> None:
    changed = install(text)
    assert len(found(changed)) == 1
    assert uninstalled(changed, text) == text
    for other in (None, "{", '{"model": "other"}', changed):
        assert found(uninstalled(changed, other)) == []
    edited = jsonc.put(changed, ("later",), 1)
    assert jsonc.parse(uninstalled(edited, text))["later"] == 1


def test_a_comment_keeps_what_would_be_empty() -> None:
    for text in ('{"hooks": {\n  // mine\n}}', '{\n  "hooks": {\n    "PostToolUse": [\n      // mine\n    ]\n  }\n}\n'):
        assert uninstalled(install(text)) == text


def test_what_it_leaves_empty_goes_with_it() -> None:
    assert jsonc.parse(uninstalled(install(""))) == {}
    assert jsonc.parse(uninstalled(install('{"hooks": {"Stop": []}}'))) == {"hooks": {"Stop": []}}


def test_an_entry_of_ours_is_brought_up_to_date_where_it_stands() -> None:
    old = {"type": "command", "command": "/old/bin/mms hook --host claude", "timeout": 5, "statusMessage": "…"}
    text = document("first", old, "last", matcher="Glob")
    changed = jsonc.parse(install(text))
    [group] = changed["hooks"]["PostToolUse"]
    assert group["matcher"] == "Glob"
    assert [one["command"] for one in group["hooks"]] == ["first", COMMAND, "last"]
    assert group["hooks"][1] == {**old, "command": COMMAND}


def test_a_stated_matcher_moves_it_away_from_its_neighbours() -> None:
    text = document("first", COMMAND, matcher="Glob")
    groups = jsonc.parse(install(text, matcher="Read", stated=True))["hooks"]["PostToolUse"]
    assert [group["matcher"] for group in groups] == ["Glob", "Read"]
    assert [len(group["hooks"]) for group in groups] == [1, 1]


def test_doubles_of_ours_are_taken_out() -> None:
    text = install(document(COMMAND, "/a/mms hook"))
    assert [entry.command for entry in found(text)] == [COMMAND]


@pytest.mark.parametrize(
    "theirs",
    [
        "mms hook --host claude",
        "memtomem-stm hook",
        "/usr/bin/memtomem-stm hook --host claude",
        "uv run --directory /src mms hook --no-daemon",
        "/usr/bin/python3.12 -m memtomem_stm.cli hook",
        {"type": "command", "command": "mms", "args": ["hook"]},
    ],
)
def test_a_namesake_is_replaced_only_when_asked(theirs: Any) -> None:
    text = document("first", theirs)
    assert [entry.kind for entry in found(text)] == ["namesake"]
    assert uninstalled(text) == text
    with pytest.raises(Occupied):
        install(text)
    changed = install(text, replace=True)
    assert [entry.command for entry in found(changed)] == [COMMAND]
    assert jsonc.parse(changed)["hooks"]["PostToolUse"][0]["hooks"] == [{"type": "command", "command": "first"}]


@pytest.mark.parametrize("command", ["prettier", "echo mms hook", "mms call x", "mms 'hook", "hook mms", ""])
def test_other_commands_are_none_of_ours(command: str) -> None:
    assert found(document(command)) == []


def test_a_command_is_quoted_for_the_shell() -> None:
    line = command_line("/opt/my tools/mms", "codex", {"MEMTOMEM_STM_HOME": "/home/u/it's"})
    [entry] = found(document(line))
    assert (entry.kind, entry.program) == ("ours", "/opt/my tools/mms")
    assert entry.command == "env MEMTOMEM_STM_HOME=/home/u/it's /opt/my tools/mms hook --host codex"


@pytest.mark.parametrize("text", ["[]", "{", '{"hooks": 5}', '{"hooks": {"PostToolUse": {}}}'])
def test_what_is_no_file_of_hooks_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        install(text)
