"""What is advertised, under which name, and what is withheld and why."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from actors.upstream.exposure import Discovered, Rules, expose, fit_name, name_limit
from actors.upstream.messages import ToolEntry, Withheld
from actors.upstream.references import dangling
from tests.fixtures.servers.catalogues import NASTY_SCHEMA, ODD_NAMES

OBJECT = {"type": "object"}
LIMIT = name_limit("memtomem-stm")


def exposed(
    *tools: dict[str, Any] | bytes, prefix: str = "p", rules: Rules | None = None
) -> tuple[list[ToolEntry], list[Withheld]]:
    raws = [tool if isinstance(tool, bytes) else json.dumps(tool).encode() for tool in tools]
    return expose([Discovered("server", prefix, raw, rules or Rules()) for raw in raws], LIMIT)


def advertised(tool: dict[str, Any] | bytes, rules: Rules | None = None) -> dict[str, Any]:
    [entry], withheld = exposed(tool, rules=rules)
    assert withheld == []
    made: dict[str, Any] = json.loads(entry.definition)
    return made


def test_a_schema_is_byte_equal_and_unknown_members_stay() -> None:
    raw = f'{{"name":"nasty","inputSchema":{NASTY_SCHEMA},"vendor":{{"keep":1.50}}}}'.encode()
    [entry], _ = exposed(raw)
    assert entry.input_schema.decode() == NASTY_SCHEMA
    assert NASTY_SCHEMA.encode() in entry.definition
    assert b'"vendor":{"keep":1.50}' in entry.definition


def test_the_title_says_which_server_it_is_from_and_none_is_invented() -> None:
    titled = advertised({"name": "t", "inputSchema": OBJECT, "annotations": {"title": "Read", "readOnlyHint": None}})
    assert titled["annotations"] == {"title": "[server] Read"}
    assert advertised({"name": "t", "inputSchema": OBJECT, "annotations": {}})["annotations"] == {}
    assert "annotations" not in advertised({"name": "t", "inputSchema": OBJECT})


def test_members_that_clients_refuse_are_left_out() -> None:
    nulls = {
        "title": None,
        "description": None,
        "annotations": None,
        "outputSchema": None,
        "_meta": None,
        "icons": None,
    }
    odd = {"execution": {"taskSupport": "optional"}}
    assert advertised({"name": "t", "inputSchema": OBJECT, **nulls, **odd}) == {"name": "p__t", "inputSchema": OBJECT}
    assert advertised({"name": "t", "inputSchema": OBJECT, "icons": [{"x": 1}], "_meta": 3, "title": 4}) == {
        "name": "p__t",
        "inputSchema": OBJECT,
    }


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "t"},
        {"name": "t", "inputSchema": None},
        {"name": "t", "inputSchema": {"type": ["object"]}},
        {"name": "t", "inputSchema": {"type": "string"}},
        {"name": "t", "inputSchema": {}},
        {"name": "t", "inputSchema": {"type": "object", "required": None}},
        {"name": "t", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/missing"}}}},
        {"inputSchema": OBJECT},
        {"name": 5, "inputSchema": OBJECT},
        b"[1]",
        b'"x"',
    ],
)
def test_a_tool_that_would_cost_the_whole_list_costs_itself(tool: dict[str, Any] | bytes) -> None:
    entries, withheld = exposed(tool, {"name": "good", "inputSchema": OBJECT})
    assert [entry.name for entry in entries] == ["p__good"]
    assert [one.reason for one in withheld] == ["invalid_schema"]


def test_a_tool_that_needs_a_task_is_withheld() -> None:
    _, [withheld] = exposed({"name": "t", "inputSchema": OBJECT, "execution": {"taskSupport": "required"}})
    assert (withheld.tool, withheld.reason) == ("t", "task_required")


def test_output_schemas_are_promised_only_where_responses_keep_their_structure() -> None:
    tool = {"name": "t", "inputSchema": OBJECT, "outputSchema": {"type": "object"}}
    assert "outputSchema" not in advertised(tool)
    assert advertised(tool, Rules(keeps_structure=True))["outputSchema"] == {"type": "object"}
    array = {"name": "t", "inputSchema": OBJECT, "outputSchema": {"type": "array"}}
    assert "outputSchema" not in advertised(array, Rules(keeps_structure=True))


def test_descriptions_can_be_overridden_cut_and_hidden() -> None:
    tool = {"name": "t", "inputSchema": OBJECT, "description": "x" * 100}
    assert advertised(tool, Rules(description="mine"))["description"] == "mine"
    assert advertised({"name": "t", "inputSchema": OBJECT}, Rules(description="mine"))["description"] == "mine"
    assert len(advertised(tool, Rules(max_description=40))["description"]) == 40
    assert [one.reason for one in exposed(tool, rules=Rules(hidden=True))[1]] == ["config_hidden"]


def test_names_are_unique_fit_every_host_and_are_stable() -> None:
    tools = [{"name": name, "inputSchema": OBJECT} for name in ODD_NAMES]
    entries, withheld = exposed(*tools)
    assert withheld == []
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(ODD_NAMES)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= LIMIT for name in names)
    assert [entry.tool for entry in entries] == list(ODD_NAMES)
    assert names == [entry.name for entry in exposed(*tools)[0]]
    assert all(entry.alias_of == f"p__{entry.tool}" for entry in entries if entry.name != f"p__{entry.tool}")


def test_an_empty_prefix_keeps_the_names() -> None:
    [entry], _ = exposed({"name": "read_file", "inputSchema": OBJECT}, prefix="")
    assert entry.name == "read_file"


def test_two_tools_with_one_name_are_both_withheld() -> None:
    twice = {"name": "twice", "inputSchema": OBJECT}
    entries, withheld = exposed(twice, {"name": "once", "inputSchema": OBJECT}, twice)
    assert [entry.name for entry in entries] == ["p__once"]
    assert [one.reason for one in withheld] == ["duplicate_name", "duplicate_name"]


def test_a_name_of_the_gateways_own_is_taken() -> None:
    """A gateway may stand behind a gateway, without a prefix."""
    own = {"name": "stm_proxy_read_more", "inputSchema": OBJECT}
    other = {"name": "stm_other", "inputSchema": OBJECT}
    entries, withheld = exposed(own, other, prefix="")
    assert [entry.name for entry in entries] == ["stm_other"]
    [one] = withheld
    assert (one.reason, one.detail) == ("duplicate_name", "the gateway has a tool stm_proxy_read_more of its own")
    [entry], _ = exposed(own)
    assert entry.name == "p__stm_proxy_read_more"


@pytest.mark.parametrize("prefix", ["", "p"])
def test_a_tool_without_a_name_is_withheld(prefix: str) -> None:
    entries, [withheld] = exposed({"name": "", "inputSchema": OBJECT}, prefix=prefix)
    assert (entries, withheld.reason, withheld.detail) == ([], "invalid_schema", "its name is empty")


@pytest.mark.parametrize(
    ("annotations", "read_only", "writes"),
    [
        ({"readOnlyHint": True}, True, False),
        ({"readOnlyHint": True, "destructiveHint": True}, False, True),
        ({"readOnlyHint": False}, False, True),
        ({}, False, False),
        ({"readOnlyHint": "yes"}, False, False),
    ],
)
def test_readers_and_writers_are_told_apart(annotations: dict[str, Any], read_only: bool, writes: bool) -> None:
    [entry], _ = exposed({"name": "t", "inputSchema": OBJECT, "annotations": annotations})
    assert (entry.read_only, entry.writes) == (read_only, writes)


def test_aliases_differ_where_their_cut_names_would_not() -> None:
    long = "n" * 80
    assert fit_name(long + "a", LIMIT) != fit_name(long + "b", LIMIT)
    assert fit_name("a.b", LIMIT) != fit_name("a/b", LIMIT)


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, ""),
        ({"properties": {"$ref": {"type": "string"}}}, ""),
        ({"default": {"$ref": "#/nowhere"}, "enum": [{"$ref": "#/nowhere"}]}, ""),
        ({"$ref": "https://example.org/schema"}, ""),
        ({"items": {"anyOf": [{"$ref": "#/anyOf/3"}]}, "anyOf": [{}]}, "#/anyOf/3"),
        ({"properties": {"x": {"$ref": "#/definitions/a~1b"}}, "definitions": {"a/b": {}}}, ""),
    ],
)
def test_dangling_references(schema: dict[str, Any], found: str) -> None:
    assert dangling(schema) == found


def test_a_tool_with_a_credential_in_its_metadata_is_withheld_and_its_name_masked() -> None:
    key = "sk-" + "ant-api03-" + "A1b2C3d4" * 6
    entries, withheld = exposed(
        {"name": "clean", "inputSchema": OBJECT},
        {"name": "leaky", "inputSchema": OBJECT, "description": f"Log in with {key}."},
        {"name": key, "inputSchema": OBJECT},
    )
    assert [entry.tool for entry in entries] == ["clean"]
    assert [(tool.tool, tool.reason) for tool in withheld] == [
        ("leaky", "sensitive_metadata"),
        ("[masked]", "sensitive_metadata"),
    ]
    assert key not in repr(withheld)


@pytest.mark.parametrize("number", ["1E400", "-1e999", "9" * 5_000])
@pytest.mark.parametrize("member", ["title", "description", "annotations", "execution", "_meta", "icons", "vendor"])
def test_a_number_that_python_cannot_hold_costs_no_tool(member: str, number: str) -> None:
    schema = f'{{"type":"object","properties":{{"n":{{"type":"number","maximum":{number}}}}}}}'
    raw = f'{{"name":"t","inputSchema":{schema},"{member}":{{"most":{number}}}}}'.encode()
    entries, withheld = exposed(raw, b'{"name":"other","inputSchema":{"type":"object"}}')
    assert [entry.name for entry in entries] == ["p__t", "p__other"] and withheld == []
    assert entries[0].input_schema.decode() == schema


def test_such_a_number_hides_no_credential() -> None:
    raw = b'{"name":"t","title":"ghp_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fH3jK5","inputSchema":{"type":"object"},"x":1E400}'
    _, [withheld] = exposed(raw)
    assert withheld.reason == "sensitive_metadata"


@pytest.mark.parametrize("step", ["%C2%B2", "\u00b2", "9" * 5_000, "-1", "01"])
def test_what_is_no_index_leads_nowhere(step: str) -> None:
    reference = f"#/allOf/{step}"
    assert dangling({"type": "object", "allOf": [{}, {"$ref": reference}]}) == reference


def test_references_are_fragments_of_an_address() -> None:
    assert dangling({"$ref": "#/$defs/List%3CItem%3E", "$defs": {"List<Item>": {}}}) == ""
    assert dangling({"$ref": "#/$defs/100%25", "$defs": {"100%25": {}}}) == ""
