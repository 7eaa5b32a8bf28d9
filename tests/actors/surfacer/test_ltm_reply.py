"""What an LTM may answer."""

from __future__ import annotations

import json

import pytest

from actors.surfacer.ltm_reply import (
    MOST_ROWS,
    LtmFault,
    read_abilities,
    read_compose,
    read_scratch,
    read_search,
    read_tools,
    text_of,
)
from actors.surfacer.memory import is_own_id


def result(text: str, **more: object) -> bytes:
    return json.dumps({"content": [{"type": "text", "text": text}], **more}).encode()


def test_structured_results() -> None:
    rows = [
        {
            "rank": 1,
            "score": 0.0164,
            "source": "/n/a.md",
            "hierarchy": "A > B",
            "namespace": "x",
            "chunk_id": "c-1",
            "content": "one",
        },
        {"content": "two", "hierarchy": ["A", "C"], "score": None},
        {"no": "content"},
        "odd",
    ]
    found = read_search(json.dumps({"results": rows, "score_scale": "rrf"}))
    assert found.scale == "rrf"
    assert [(m.text, m.hierarchy, m.score, m.rank) for m in found.memories] == [
        ("one", "A > B", 0.0164, 0),
        ("two", "A > C", 0.0, 1),
    ]
    assert found.memories[0].id == "c-1"
    assert not is_own_id(found.memories[1].id)


@pytest.mark.parametrize("rest", ["The note itself.", "", "---\n\nA rule across the page."])
def test_the_properties_of_a_file_are_no_part_of_a_memory(rest: str) -> None:
    head = "---\ntitle: A\ntags:\n  - b\nnamespace: default\n---\n\n"
    found = read_search(json.dumps({"results": [{"content": head + rest, "source": "a"}, {"content": rest}]}))
    assert [memory.text for memory in found.memories] == [rest, rest]


def test_compact_results() -> None:
    text = (
        "Found 2 results:\n\n[1] 0.02 | /n/auth.md > Auth > Tokens\nTokens live 15 minutes.\nSecond line.\n\n"
        "[2] 0.01 | b.md\nOther"
    )
    found = read_search(text).memories
    assert [(m.source, m.hierarchy, m.text) for m in found] == [
        ("/n/auth.md", "Auth > Tokens", "Tokens live 15 minutes.\nSecond line."),
        ("b.md", "", "Other"),
    ]
    assert read_search("Found 0 results:").memories == ()


@pytest.mark.parametrize(
    "answer",
    [
        result("Error: the database is locked"),
        result("fine", isError=True),
        b'{"content": []}',
        b"[]",
        b"not json",
        b"[" * 100_000,
    ],
)
def test_faults(answer: bytes) -> None:
    with pytest.raises(LtmFault):
        text_of(answer)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "1" + "0" * 400, "true", "null", '"high"'])
def test_an_odd_score_does_not_cost_the_answer(number: str) -> None:
    for key, read in (("results", read_search), ("retrieved", read_compose)):
        rows = f'[{{"content": "one", "score": {number}}}, {{"content": "two", "score": 0.5}}]'
        found = read(f'{{"{key}": {rows}}}')
        assert [m.text for m in found.memories] == ["one", "two"]
        assert found.memories[0].score in (0.0, 1.0)
        assert found.memories[1].score == 0.5


def test_a_lone_surrogate_does_not_cost_the_answer() -> None:
    found = read_search(json.dumps({"results": [{"content": "caf\udce9 au lait"}]}))
    assert [m.text for m in found.memories] == ["caf\ufffd au lait"]


def test_each_memory_has_an_id_of_its_own() -> None:
    rows = [{"content": text, "chunk_id": "file-1", "source": "a.md"} for text in ("one", "two", "one", "two")]
    found = read_search(json.dumps({"results": rows}))
    assert [m.text for m in found.memories] == ["one", "two", "one"]
    assert len({m.id for m in found.memories}) == 3
    assert found.memories[0].id == "file-1"


def test_more_than_was_asked_for_is_not_read() -> None:
    many = [{"content": f"note {number}"} for number in range(MOST_ROWS * 50)]
    assert len(read_search(json.dumps({"results": many})).memories) == MOST_ROWS
    assert len(read_compose(json.dumps({"retrieved": many, "pinned": many})).memories) == 2 * MOST_ROWS
    lines = "".join(f"\n[{number}] 0.01 | a.md > A\nnote {number}" for number in range(MOST_ROWS * 5))
    assert len(read_search(f"Found many results:\n{lines}").memories) == MOST_ROWS
    assert len(read_scratch("\n".join(f"  key{number}: value" for number in range(MOST_ROWS * 5)))) == MOST_ROWS


@pytest.mark.parametrize("text", ['{"results": 5}', "{broken", '{"retrieved": null}'])
def test_unreadable_searches(text: str) -> None:
    with pytest.raises(LtmFault):
        read_search(text)
    with pytest.raises(LtmFault):
        read_compose(text)


def test_tool_lists() -> None:
    page = {"tools": [{"name": "a", "inputSchema": {"properties": {"q": {}}}}, {"name": "b"}], "nextCursor": "2"}
    assert read_tools(json.dumps(page).encode()) == ({"a": frozenset({"q"}), "b": None}, "2")


def test_an_odd_tool_does_not_cost_the_others() -> None:
    odd = ["x", {"name": None}, {"inputSchema": {}}, {"name": "a", "inputSchema": None}]
    page = {"tools": [*odd, {"name": "b", "inputSchema": {"properties": {"q": {}}}}], "nextCursor": 3}
    assert read_tools(json.dumps(page).encode()) == ({"a": None, "b": frozenset({"q"})}, None)


@pytest.mark.parametrize("answer", [b"{}", b'{"tools": 5}', b"[]", b'{"tools": null}'])
def test_unreadable_tool_lists(answer: bytes) -> None:
    with pytest.raises(LtmFault):
        read_tools(answer)


def test_a_result_with_structured_content_alone_is_read() -> None:
    answer = {"content": [], "structuredContent": {"results": [{"content": "one"}]}}
    assert [m.text for m in read_search(text_of(json.dumps(answer).encode())).memories] == ["one"]
    for content in ({}, {"structuredContent": [1]}):
        with pytest.raises(LtmFault):
            text_of(json.dumps({"content": [], **content}).encode())


def test_context_compose() -> None:
    answer = {
        "pinned": [{"id": "p", "content": "house rules"}],
        "retrieved": [{"id": "r", "content": "note", "score": 0.01}],
        "warnings": ["try fewer words"],
        "score_scale": "rrf",
    }
    found = read_compose(json.dumps(answer))
    assert [(m.id, m.pinned) for m in found.memories] == [("p", True), ("r", False)]
    assert found.hints == ("try fewer words",)


def test_working_memory() -> None:
    found = read_scratch("Working memory: 2 entries\n  goal: move the login to OAuth\n  branch: feat/login...")
    assert [m.text for m in found] == ["goal: move the login to OAuth", "branch: feat/login..."]
    assert read_scratch("Working memory: 0 entries") == ()


def test_abilities_say_what_may_be_sent() -> None:
    version = {
        "version": "9",
        "capabilities": {"context_compose": {"schema_version": 2}, "search_formats": ["compact"]},
    }
    tools = {"mem_search": frozenset({"query"}), "mem_do": None}
    abilities = read_abilities({"name": "x", "version": "1"}, tools, json.dumps(version))
    assert (abilities.version, abilities.compose, abilities.formats) == ("9", 2, {"compact"})
    assert abilities.accepts("mem_search", {"query": "q", "rerank": True, "namespace": None}) == {"query": "q"}
    assert abilities.accepts("mem_do", {"action": "version"}) == {"action": "version"}
    assert read_abilities({"version": "1"}, tools, "no json").version == "1"
