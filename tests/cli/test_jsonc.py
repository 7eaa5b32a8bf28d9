"""Changing one member of a JSON file with comments."""

import json
import time
from typing import Any

import pytest

from cli import jsonc

ENTRY = {"command": "/x/mms", "args": ["gateway"]}
PATH = ("mcpServers", "memtomem")
TEXTS = [
    '{"mcpServers":{}}',
    '{\r\n\t"mcpServers": {\r\n\t\t"x": {"command": "y"},\r\n\t},\r\n}',
    '{\n  // c }\n  "mcpServers": {\n    // none\n  }\n}\n',
    '\ufeff{"mcpServers": {"z": {"a": "// no \\" comment, }"}}, }',
    '{"mcpServers":{"a":[1,{"b":2}],"c":"d"}, "z": 1e5, "id": 9007199254740993}',
    '{\n    /* , */ "a": 1.10,\n    "mcpServers": {\n        "x": {} // last\n    }\n}',
]
BARE = ["", "\n", "{}", "{\n}\n", '{"a":1}', '{\n  "a": 1\n}\n', "{ /* x */ }"]


@pytest.mark.parametrize("text", TEXTS + BARE)
def test_put_adds_one_member_and_nothing_else(text: str) -> None:
    wanted: dict[str, Any] = jsonc.parse(text)
    wanted.setdefault("mcpServers", {})["memtomem"] = ENTRY
    changed = jsonc.put(text, PATH, ENTRY)
    assert jsonc.parse(changed) == wanted
    assert jsonc.put(changed, PATH, ENTRY) == changed


@pytest.mark.parametrize("text", TEXTS)
def test_remove_brings_back_every_byte(text: str) -> None:
    assert jsonc.remove(jsonc.put(text, PATH, ENTRY), PATH) == text


@pytest.mark.parametrize("text", TEXTS + BARE)
def test_remove_without_such_a_member_changes_nothing(text: str) -> None:
    assert jsonc.remove(text, PATH) == text


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_remove_takes_its_own_comma(name: str) -> None:
    text = '{"s": {"a": {"x": [1, 2]}, "b": "}", "c": null}, "t": 1}'
    wanted = jsonc.parse(text)
    del wanted["s"][name]
    assert jsonc.parse(jsonc.remove(text, ("s", name))) == wanted


def test_put_replaces_a_value() -> None:
    text = '{\n  "s": {"a": 1, // one\n  "b": 2}\n}'
    assert jsonc.put(text, ("s", "a"), 5) == text.replace("1,", "5,")


def test_put_takes_null_for_missing() -> None:
    assert jsonc.parse(jsonc.put('{"s": null, "t": 1}', ("s", "a"), 5)) == {"s": {"a": 5}, "t": 1}
    assert jsonc.parse(jsonc.put('{"s": {"l": null}}', ("s", "l", 0), 5)) == {"s": {"l": [5]}}


def test_a_comment_is_not_nothing() -> None:
    text = '{"a": {}, "b": { // mine\n }, "c": [ ], "d": 1, "e": [0]}'
    assert [name for name in "abcdef" if jsonc.is_empty(text, (name,))] == ["a", "c"]


@pytest.mark.parametrize("text", ["[]", "{", '{"mcpServers": ', "nonsense", '{"a" 1}', "[" * 100_000])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        jsonc.put(text, PATH, ENTRY)
    with pytest.raises(ValueError):
        jsonc.remove(text, PATH)


def test_something_else_on_the_way_is_refused() -> None:
    with pytest.raises(ValueError, match="mcpServers"):
        jsonc.put('{"mcpServers": 5}', PATH, ENTRY)


LISTS = [
    '{"l": []}',
    '{\n  "l": [\n    // none\n  ]\n}\n',
    '{"l": [{"a": "]"}, 2,], "z": 1e5}',
    '{\r\n\t"l": [\r\n\t\t1, // one\r\n\t\t{"x": [1, 2]} /* two */\r\n\t]\r\n}',
]


@pytest.mark.parametrize("text", LISTS)
def test_an_element_is_appended_replaced_and_removed(text: str) -> None:
    before: dict[str, Any] = jsonc.parse(text)
    end = len(before["l"])
    longer = jsonc.put(text, ("l", end), ENTRY)
    assert jsonc.parse(longer) == {**before, "l": [*before["l"], ENTRY]}
    deep = jsonc.put(longer, ("l", end, "args", 1), "x")
    assert jsonc.parse(deep)["l"][end]["args"] == ["gateway", "x"]
    assert jsonc.remove(deep, ("l", end, "args", 1)) == longer
    assert jsonc.put(longer, ("l", end), ENTRY) == longer
    if end or "//" not in text:
        assert jsonc.remove(longer, ("l", end)) == text


@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_element_takes_its_own_comma(at: int) -> None:
    text = '{"l": [{"a": [1, 2]}, "]", null], "t": 1}'
    wanted = jsonc.parse(text)
    del wanted["l"][at]
    assert jsonc.parse(jsonc.remove(text, ("l", at))) == wanted


def test_what_is_no_list_or_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="list"):
        jsonc.put('{"l": {}}', ("l", 0), 1)
    with pytest.raises(ValueError, match="object"):
        jsonc.put('{"l": []}', ("l", "a"), 1)
    with pytest.raises(ValueError, match="position"):
        jsonc.put('{"l": [1]}', ("l", 2), 1)
    assert jsonc.remove('{"l": [1]}', ("l", 1)) == '{"l": [1]}'
    assert jsonc.parse(jsonc.put("", ("l", 0, "a", 0), 1)) == {"l": [{"a": [1]}]}


def test_of_a_name_that_is_there_twice_none_stays() -> None:
    text = '{"s": {"gw": 1, "other": 2, /* again */ "gw": 3}, "s2": 0}'
    assert jsonc.parse(jsonc.remove(text, ("s", "gw"))) == {"s": {"other": 2}, "s2": 0}
    twice = '{"s": {"gw": 1}, "s": {"gw": 2, "x": 3}}'
    assert jsonc.parse(jsonc.remove(twice, ("s", "gw"))) == {"s": {"x": 3}}


def test_a_long_list_is_read_once() -> None:
    """Not once for each of its elements."""

    def seconds(count: int) -> float:
        text = json.dumps({"l": ["x" * 50] * count})
        began = time.process_time()
        jsonc.put(text, ("l", count), "y")
        return time.process_time() - began

    seconds(100)
    assert seconds(64_000) < 8 * max(seconds(16_000), 0.01)
