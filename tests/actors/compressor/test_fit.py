"""Nested JSON in a given room: trees, documents without lists, texts and documents inside of strings."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from actors.compressor import jsontext
from actors.compressor.budget import Budget
from actors.compressor.detect import Kind
from actors.compressor.jsontext import Node
from actors.compressor.messages import Policy
from actors.compressor.strategies.embedded import embedded
from actors.compressor.strategies.fit import Fit
from actors.compressor.strategies.known import Known
from actors.compressor.strategies.projection import Projection
from actors.compressor.strategies.rungs import PRUNING
from actors.compressor.strategies.series import far
from actors.compressor.strategies.task import Draft, Task
from tests.actors.compressor.texts import WORDS, shortened, without_note


def folder(name: str, depth: int, chosen: random.Random) -> dict[str, object]:
    inside = [folder(f"{chosen.choice(WORDS)}_{depth}_{n}", depth - 1, chosen) for n in range(4)] if depth else []
    files = [
        {"name": f"{chosen.choice(WORDS)}{n}.py", "type": "file", "mode": "0644", "owner": "root"} for n in range(5)
    ]
    return {"name": name, "type": "directory", "mode": "0755", "owner": "root", "children": [*inside, *files]}


def names(node: dict[str, object]) -> list[str]:
    children = node.get("children", [])
    assert isinstance(children, list)
    return [str(node["name"]), *(name for child in children for name in names(child))]


def test_of_a_tree_every_thing_is_named_where_that_fits() -> None:
    tree = folder("root", 3, random.Random(1))
    out = shortened(json.dumps(tree, indent=2))
    body = json.loads(without_note(out))
    assert set(names(tree)) <= set(json.dumps(body).replace('"', " ").replace(",", " ").replace("]", " ").split())
    assert body["name"] == "root"


def test_of_a_larger_tree_the_outer_things_are_named_and_the_others_counted() -> None:
    tree = [folder(f"top_{number}", 4, random.Random(number)) for number in range(4)]
    out = shortened(json.dumps(tree))
    assert jsontext.parse(without_note(out)) is not None
    assert all(f'"top_{number}"' in out for number in range(4))
    assert all(str(child["name"]) in out for top in tree for child in top["children"])  # type: ignore[attr-defined]
    assert "items" in out


def package(depth: int, chosen: random.Random) -> dict[str, object]:
    own: dict[str, object] = {
        "version": f"{depth}.{chosen.randint(0, 99)}.0",
        "resolved": f"https://registry.example/{chosen.getrandbits(200):x}",
        "description": f"{' '.join(chosen.choice(WORDS) for _ in range(5))}",
        "keywords": [chosen.choice(WORDS) for _ in range(30)],
    }
    if depth:
        own["dependencies"] = {f"{chosen.choice(WORDS)}-{depth}{n}": package(depth - 1, chosen) for n in range(3)}
    return own


def test_a_tree_of_keyed_things_says_what_they_are() -> None:
    tree = package(4, random.Random(3))
    out = shortened(json.dumps(tree))
    body = json.loads(without_note(out))
    first = next(iter(tree["dependencies"]))  # type: ignore[call-overload]
    assert body["dependencies"][first]["description"] == tree["dependencies"][first]["description"]  # type: ignore[index]
    assert "registry.example" not in out


def test_what_a_query_asks_for_is_drawn_with_all_around_it() -> None:
    tree = [folder(f"top_{number}", 4, random.Random(number)) for number in range(4)]
    inner = tree[2]
    for _ in range(4):
        inner = inner["children"][1]  # type: ignore[index]
    inner["children"].append({"name": "needle_in_the_hay.txt", "type": "file", "mode": "0600", "owner": "root"})  # type: ignore[attr-defined]
    assert "needle_in_the_hay" in shortened(json.dumps(tree), query="needle_in_the_hay")
    assert "needle_in_the_hay" not in shortened(json.dumps(tree))


def test_the_names_of_a_large_schema_come_before_the_inside_of_any() -> None:
    kinds = {
        f"{a}{b}Options": {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: {"$ref": f"#/definitions/{name}"} for name in WORDS},
            "required": WORDS[:4],
        }
        for a in WORDS
        for b in WORDS
    }
    out = shortened(json.dumps({"$id": "x", "definitions": kinds, "properties": {"one": {"$ref": "#/definitions/x"}}}))
    assert all(name in out for name in kinds)


def test_parts_of_an_event_all_have_a_say() -> None:
    event = {
        "id": "1",
        "title": "IntegrityError: duplicate key",
        "entries": [
            {"type": "exception", "data": {"values": [{"type": "IntegrityError", "frames": [
                {"filename": f"app/{name}_{n}.py", "line": n, "vars": {"self": "<Service>", "x": name * 40}}
                for n in range(4) for name in WORDS
            ]}]}},
            {"type": "breadcrumbs", "data": {"values": [
                {"category": "query", "message": f"{name} took {n} ms", "data": {"method": "GET"}}
                for n in range(3) for name in WORDS
            ]}},
            {"type": "request", "data": {"method": "POST", "url": "https://pay.example/settle"}},
        ],
    }  # fmt: skip
    out = shortened(json.dumps(event, indent=2))
    assert all(f"app/{name}_3.py" in out for name in WORDS)
    assert all(f"{name} took 2 ms" in out for name in WORDS)
    assert "https://pay.example/settle" in out


@pytest.mark.parametrize(
    "wrap",
    [
        lambda log: {"results": [{"tool": "run", "output": log}, {"tool": "ls", "output": "a"}]},
        lambda log: {"steps": {"build": {"log": log, "ok": False}, "lint": {"log": "fine"}}},
    ],
)
def test_a_log_anywhere_in_a_document_is_shortened_as_a_log(wrap: Callable[[str], object]) -> None:
    lines = [f"2026-10-01 00:00:{n % 60:02d} INFO worker {random.Random(n).choice(WORDS)} {n}" for n in range(400)]
    lines[200] = "2026-10-01 00:03:20 ERROR payment declined for order 8812"
    out = shortened(json.dumps(wrap("\n".join(lines))))
    assert "payment declined for order 8812" in out
    assert jsontext.parse(without_note(out)) is not None


def test_values_far_from_the_others_are_shown_in_long_series() -> None:
    plain = [random.Random(n).random() for n in range(900)]
    plain[500] = 98.75
    pairs = [[1_760_000_000 + n, f"{random.Random(n).random():.3f}"] for n in range(900)]
    pairs[333] = [1_760_000_333, "77.125"]
    out = shortened(json.dumps({"plain": plain, "pairs": pairs}))
    assert "98.75" in out
    assert "77.125" in out
    items = Node(json.dumps(pairs).replace(" ", "").encode()).items
    assert far(items) == [333]
    assert far(items[:333]) == []
    assert far(Node(json.dumps(["a", "b"] * 10).encode()).items) == []


def test_the_line_that_names_a_failure_is_shown_in_a_list_of_lines() -> None:
    lines = [
        f"2026-10-01 worker {random.Random(n).choice(WORDS)} {n} did what it had to do and went on" for n in range(900)
    ]
    lines[444] = "2026-10-01 FATAL disk full on vol-9"
    assert "disk full on vol-9" in shortened(json.dumps({"lines": lines}))
    assert "disk full on vol-9" in shortened(json.dumps(lines))


@pytest.mark.parametrize("room", [30, 60, 120, 400, 1_000, 4_000])
def test_a_value_keeps_to_its_room_and_stays_json(room: int) -> None:
    document = {
        "name": "thing",
        "empty": None,
        "url": "https://host.example/" + "x" * 90,
        "numbers": list(range(300)),
        "text": "a sentence of words " * 40,
        "json": json.dumps({"inner": "value", "more": ["x" * 30] * 9}),
        "parts": {f"part_{n}": {"title": f"part {n}", "body": "words and words " * 9} for n in range(30)},
    }
    fit = Fit(lambda node, room: None)
    raw = json.dumps(document, separators=(",", ":")).encode()
    out = fit.render(Node(raw), room)
    assert len(out) <= room
    shown = json.loads(out)
    if room >= 120:
        assert shown["name"] == "thing"
    if room >= 4_000:
        assert all(f"part_{n}" in out for n in range(30))


def test_more_room_never_names_less() -> None:
    parts = {f"part_{n}": {"title": f"part {n}", "body": "words and words " * 9} for n in range(60)}
    node = Node(json.dumps(parts, separators=(",", ":")).encode())
    fit = Fit(lambda node, room: None)
    shown = [fit.render(node, room) for room in range(100, 6_000, 150)]
    counts = [sum(f'"part_{n}"' in out for n in range(60)) for out in shown]
    assert counts == sorted(counts)


def test_deep_nesting_ends_in_a_count() -> None:
    deep = '{"a":' * 120 + '"' + "x" * 90_000 + '"' + "}" * 120
    assert jsontext.parse(without_note(shortened(deep))) is not None


def test_a_number_that_is_asked_for_is_not_found_in_two_others() -> None:
    numbers = Node(json.dumps([*range(110, 510)], separators=(",", ":")).encode())
    out = Projection(PRUNING[0], "331", Known(), 1e9).render(numbers)
    assert [item for item in json.loads(out) if isinstance(item, int)] == [110, 111, 331, 509]


def test_an_answer_in_a_record_that_is_given_up_leaves_the_others_as_they_are() -> None:
    lines = [f"{'plain words ' * 9}{at}" for at in range(60)]
    lines[30] = "needle " + "x y " * 900
    records = [{"name": f"thing {at}", "lines": lines if at == 0 else ["z"]} for at in range(30)]
    projection = Projection(replace(PRUNING[0], cap=900), "needle", Known(), 1e9)
    projection.render(Node(json.dumps({"all": records[:3]}, separators=(",", ":")).encode()))
    assert not projection.asked


def test_texts_in_texts_are_shortened_in_place_down_to_some_depth_only() -> None:
    text = "words of a long text " * 400
    data = json.dumps({"content": text}, separators=(",", ":")).encode()
    room = Budget(3_000, 900)
    task = Task(data.decode(), data.decode(), Kind.JSON, room, room, "", Policy(), "key", document=data)

    def short(within: Task) -> Draft:
        return Draft(within.text[:900])

    made = embedded(task, data, short)
    assert made is not None
    assert json.loads(made.text) == {"content": text[:900]}
    assert embedded(replace(task, depth=20), data, short) is None
