"""Schemas with the extra property, and without descriptions: everything else stays byte for byte."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.upstream.exposure import Discovered, Rules, expose
from actors.upstream.schemas import CONTEXT_QUERY, CONTEXT_QUERY_SCHEMA, with_context_query, without_descriptions
from tests.fixtures.servers.catalogues import NASTY_SCHEMA

PROPERTY = f'"{CONTEXT_QUERY}":{CONTEXT_QUERY_SCHEMA.decode()}'


@pytest.mark.parametrize(
    "before, after",
    [
        ('{"type":"object"}', '{"type":"object","properties":{%s}}'),
        ("{ }", '{ "properties":{%s}}'),
        ('{"properties": { }, "x":1.0}', '{"properties": { %s}, "x":1.0}'),
        (
            '{ "a":{"properties":{}}, "properties" : {"\\u00e9" : {"properties":{"b":{}}} } , "n": 1.50 }',
            '{ "a":{"properties":{}}, "properties" : {"\\u00e9" : {"properties":{"b":{}}} ,%s} , "n": 1.50 }',
        ),
        ('{"x":":}{,\\"","properties":{"}":{"default":"{"}}}', '{"x":":}{,\\"","properties":{"}":{"default":"{"},%s}}'),
        (
            '{"x":"properties","properties":{"a":{}},"required":["a"]}',
            '{"x":"properties","properties":{"a":{},%s},"required":["a"]}',
        ),
    ],
)
def test_the_property_is_put_in_and_no_other_byte_changes(before: str, after: str) -> None:
    made = with_context_query(before.encode()).decode()
    assert made == after.replace("%s", PROPERTY)
    json.loads(made)


def test_a_schema_with_everything_keeps_everything() -> None:
    made = with_context_query(NASTY_SCHEMA.encode()).decode()
    assert made.replace("," + PROPERTY, "") == NASTY_SCHEMA
    assert CONTEXT_QUERY in json.loads(made)["properties"]


@pytest.mark.parametrize("schema", ['{"properties":{"_context_query":{"type":"integer"}}}', '{"properties":[1]}'])
def test_a_tool_that_owns_the_name_or_has_no_room_is_left_alone(schema: str) -> None:
    assert with_context_query(schema.encode()).decode() == schema


def test_descriptions_go_and_what_is_only_called_so_stays() -> None:
    schema = {
        "type": "object",
        "description": "gone",
        "properties": {
            "description": {"type": "string", "description": "gone", "default": "description"},
            "list": {"items": {"description": "gone", "anyOf": [{"description": "gone"}, True]}},
            "examples": {"examples": [{"description": "kept"}], "const": {"description": "kept"}},
        },
        "$defs": {"d": {"description": "gone", "not": {"description": "gone"}}},
        "additionalProperties": {"description": "gone"},
    }
    made = without_descriptions(json.dumps(schema).encode())
    assert b"gone" not in made
    found = json.loads(made)
    assert found["properties"]["description"] == {"type": "string", "default": "description"}
    assert found["properties"]["examples"] == schema["properties"]["examples"]  # type: ignore[index]
    assert found["properties"]["list"]["items"] == {"anyOf": [{}, True]}


def test_numbers_keep_their_digits_and_depth_is_bounded() -> None:
    made = without_descriptions(b'{"description":"x","maximum":1.50,"default":1E400}')
    assert made == b'{"maximum":1.50,"default":1E400}'
    deep = b'{"not":' * 400 + b'{"description":"x"}' + b"}" * 400
    assert json.loads(without_descriptions(deep)) == json.loads(deep)


def test_both_are_what_clients_see_and_the_servers_own_schema_is_kept_beside_them() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "of a"}}}
    raw = json.dumps({"name": "t", "inputSchema": schema}).encode()
    rules = Rules(adds_context_query=True, strips_schema=True)
    [entry], _ = expose([Discovered("s", "p", raw, rules)], 64)
    shown: dict[str, Any] = json.loads(entry.definition)["inputSchema"]["properties"]
    assert shown["a"] == {"type": "string"}
    assert shown[CONTEXT_QUERY]["type"] == "string"
    assert json.loads(entry.input_schema) == schema
