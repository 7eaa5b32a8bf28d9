"""The recorded ranking: deterministic, and it knows names, humps and scripts without spaces."""

from __future__ import annotations

from gateway.ranking import ToolIndex, words

TOOLS = (
    ("fs__read_file", "fs__read_file Read the contents of a file."),
    ("fs__writeFile", "fs__writeFile Write a file."),
    ("git__log", "git__log Show the commits."),
    ("notes__search", "notes__search 회의록을 검색합니다"),
)


def test_words_of_names_and_scripts() -> None:
    assert words("getUserName read_file HTTP-2") == ["get", "user", "name", "read", "file", "http", "2"]
    assert words("회의록을") == ["회의", "의록", "록을"]


def test_the_tool_that_holds_the_rare_word_is_first() -> None:
    index = ToolIndex(TOOLS)
    assert next(name for name, _ in index.rank("read the file", 10)) == "fs__read_file"
    assert [name for name, _ in index.rank("회의록", 10)] == ["notes__search"]
    assert index.rank("nothing fits", 10) == []


def test_ties_go_by_name_whatever_the_order_of_the_catalogue() -> None:
    same = [(name, "delete a thing") for name in ("b", "a", "c")]
    assert [name for name, _ in ToolIndex(same).rank("delete", 2)] == ["a", "b"]
    assert ToolIndex(same).rank("delete thing", 3) == ToolIndex(reversed(same)).rank("thing delete", 3)
    assert ToolIndex(()).rank("anything", 5) == []
