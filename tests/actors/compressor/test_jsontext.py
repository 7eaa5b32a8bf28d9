from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.compressor import jsontext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=6), inner, max_size=5),
    max_leaves=20,
)


@given(st.lists(VALUES, max_size=4) | st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.integers(0, 4))
def test_minifying_changes_white_space_only(value: object, indent: int) -> None:
    text = json.dumps(value, indent=indent)
    assert jsontext.parse(text) == json.dumps(value, separators=(",", ":")).encode()


def test_lexemes_stay() -> None:
    text = '{"id": 9007199254740993, "x": 1.10, "e": 1E400, "neg": -0.0, "u": "\\u00e9\\/", "big": 2512292042121000001}'
    assert jsontext.parse(text) == text.replace(": ", ":").replace(", ", ",").encode()


@pytest.mark.parametrize(
    "text", ["[NaN]", "[1,]", '{"a":1', "[01]", "plain", "", "[" * 20_000 + "]" * 20_000, '["a\x00"]']
)
def test_what_is_not_json_is_not_taken_for_it(text: str) -> None:
    assert jsontext.parse(text) is None


def test_lone_surrogate_escapes_are_replaced_and_others_kept() -> None:
    assert jsontext.parse(r'["\ud800", "\\ud800", "\ud83d\ude00"]') == rb'["\ufffd","\\ud800","\ud83d\ude00"]'


def test_records_of_ndjson() -> None:
    assert jsontext.parse_lines('{"a": 1}\n\n{"a": 2}\n') == b'[{"a":1},{"a":2}]'
    assert jsontext.lines(b'[{"a":1},{"a":2}]') == '{"a":1}\n{"a":2}'
    assert jsontext.parse_lines('{"a": 1}\nplain') is None
    assert jsontext.parse_lines("") is None
    assert jsontext.parse_lines('{"a":"\u2028"}\r\n{"a":"\\ud800"}') == '[{"a":"\u2028"},{"a":"\\ufffd"}]'.encode()


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ('{"a":1,"b":[2.0]}', '{ "b": [2.0], "a": 1 }', True),
        ('{"a":1.10}', '{"a":1.1}', False),
        ("[1]", "[1,1]", False),
        ("[1]", "text", False),
    ],
)
def test_equality_ignores_white_space_and_order_but_no_number(left: str, right: str, same: bool) -> None:
    assert jsontext.equal(left, right) is same
