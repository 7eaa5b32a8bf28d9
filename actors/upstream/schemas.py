"""Input schemas as clients shall see them where the configuration wants more, or less, than the server says. Pure.

Everything that is not added or left out stays as the bytes that came.
"""

from __future__ import annotations

import msgspec

from bus import jsonrpc

CONTEXT_QUERY = "_context_query"
CONTEXT_QUERY_SCHEMA = (
    b'{"type":"string","description":"What you want to find out, in a few words. It chooses what a long answer keeps; '
    b'the tool itself does not see it."}'
)
MAX_DEPTH = 100
"""Levels whose descriptions are left out; what is nested deeper stays."""

_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Members whose own members are schemas by name, so that `description` may be one of the names."""
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NESTED = (
    "items",
    "additionalProperties",
    "additionalItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
)


def with_context_query(schema: bytes) -> bytes:
    """The schema with the property `_context_query`; as it is when the tool owns one, or when there is no room."""
    try:
        members = jsonrpc.members(schema)
        properties = jsonrpc.members(members["properties"]) if "properties" in members else {}
    except msgspec.MsgspecError:
        return schema  # `properties` is no object
    if CONTEXT_QUERY in properties:
        return schema
    added = b'"%s":%s' % (CONTEXT_QUERY.encode(), CONTEXT_QUERY_SCHEMA)
    if "properties" not in members:
        added, at = b'"properties":{%s}' % added, schema.rindex(b"}")
        separator = b"," if members else b""
    else:
        at = _end_of(schema, "properties")
        separator = b"," if properties else b""
    return schema[:at] + separator + added + schema[at:]


def without_descriptions(schema: bytes) -> bytes:
    """The schema without its `description` keywords; properties of that name, examples and defaults stay."""
    return _stripped(schema, MAX_DEPTH)


def _end_of(schema: bytes, key: str) -> int:
    """Offset of the closing bracket of the object that is the last member `key`, which exists."""
    depth, found = 0, -1
    inside = False
    previous = name = b""
    for match in jsonrpc.TOKEN.finditer(schema):
        token = match[0]
        if token == b":" and depth == 1:
            name = previous
        elif token in (b"{", b"["):
            if depth == 1 and previous == b":":
                inside = jsonrpc.string(name) == key
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
            if depth == 1 and inside:
                found, inside = match.start(), False
        previous = token
    return found


def _stripped(schema: bytes, levels: int) -> bytes:
    if b'description"' not in schema or not levels:
        return schema
    try:
        members = jsonrpc.members(schema)
    except msgspec.MsgspecError:
        return schema  # `true`, `false`, or something that is no schema
    made: dict[str, object] = {}
    for key, raw in members.items():
        data = bytes(raw)
        if key == "description" and data.startswith(b'"'):
            continue
        if key in _NAMED and data.startswith(b"{"):
            named = {name: msgspec.Raw(_stripped(bytes(one), levels - 1)) for name, one in jsonrpc.members(raw).items()}
            made[key] = named
        elif key in _LISTED and data.startswith(b"["):
            made[key] = [msgspec.Raw(_stripped(bytes(one), levels - 1)) for one in jsonrpc.elements(raw)]
        elif key in _NESTED:
            made[key] = msgspec.Raw(_stripped(data, levels - 1))
        else:
            made[key] = raw
    return jsonrpc.encode(made)
