"""Frames as bytes: what is read, what is repaired, what is refused with which id."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus import jsonrpc
from bus.jsonrpc import INVALID_REQUEST, PARSE_ERROR, FrameError


def test_only_the_envelope_is_decoded() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":1.10,"b":1E400,"c":9007199254740993,"a ":-0.0}}'
    frame, _ = jsonrpc.parse(line)
    assert bytes(frame.params) == b'{"a":1.10,"b":1E400,"c":9007199254740993,"a ":-0.0}'  # type: ignore[arg-type]


@pytest.mark.parametrize("id_", [b"1", b"-7", b'"a"', b'"\\u00e9"', b"9" * 400, b"9007199254740993"])
def test_ids_keep_their_lexeme(id_: bytes) -> None:
    frame, _ = jsonrpc.parse(b'{"id":' + id_ + b',"jsonrpc":"2.0","method":"ping"}')
    assert bytes(frame.id) == id_  # type: ignore[arg-type]
    assert jsonrpc.is_valid_id(id_)


@pytest.mark.parametrize("id_", [b"null", b"1.0", b"1e2", b"true", b"{}", b"[1]"])
def test_other_ids_are_no_ids(id_: bytes) -> None:
    assert not jsonrpc.is_valid_id(id_)


@pytest.mark.parametrize(
    ("sent", "repaired"),
    [
        (rb'"\ud800"', rb'"\ufffd"'),
        (rb'"\udc00x"', rb'"\ufffdx"'),
        (rb'"\ud83d\ude00"', rb'"\ud83d\ude00"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"\\ud800"', rb'"\\ud800"'),
        (rb'"\\\ud800"', rb'"\\\ufffd"'),
        (rb'"\uD800 1.10"', rb'"\ufffd 1.10"'),
    ],
)
def test_lone_surrogates_are_replaced_in_place(sent: bytes, repaired: bytes) -> None:
    frame, line = jsonrpc.parse(b'{"id":1,"method":"m","params":{"n":1.10,"s":' + sent + b"}}")
    assert bytes(frame.params) == b'{"n":1.10,"s":' + repaired + b"}"  # type: ignore[arg-type]
    line.decode()


def test_invalid_utf8_is_replaced_and_the_numbers_stay() -> None:
    frame, _ = jsonrpc.parse(b'{"id":1,"method":"m","params":{"n":1.10,"s":"a\xffb"}}')
    assert bytes(frame.params) == '{"n":1.10,"s":"a\ufffdb"}'.encode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "code", "id_"),
    [
        (b"{not json", PARSE_ERROR, b"null"),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping"', PARSE_ERROR, b"null"),
        (b"[]", INVALID_REQUEST, b"null"),
        (b"42", INVALID_REQUEST, b"null"),
        (b'{"jsonrpc":"2.0","id":7,"method":null}', INVALID_REQUEST, b"7"),
        (b'{"jsonrpc":2.0,"id":"seven","method":"ping"}', INVALID_REQUEST, b'"seven"'),
        (b'{"params":{"id":3},"id":8,"method":5}', INVALID_REQUEST, b"8"),
        (b'{"id":10,"params":' + b"[" * 5000 + b"]" * 5000 + b"}", INVALID_REQUEST, b"10"),
        (b'{"params":' + b'{"id":1,"a":' * 5000 + b"1" + b"}" * 5000 + b',"id":"x"}', INVALID_REQUEST, b'"x"'),
    ],
)
def test_what_is_no_frame_is_refused_with_the_id_if_one_is_readable(line: bytes, code: int, id_: bytes) -> None:
    with pytest.raises(FrameError) as caught:
        jsonrpc.parse(line)
    assert (caught.value.code, caught.value.id) == (code, id_)


def nested(levels: int, inside: bytes = b"1") -> bytes:
    return b'{"id":1,"params":' + b'{"a":[' * (levels // 2) + inside + b"]}" * (levels // 2) + b"}"


@pytest.mark.parametrize("inside", [b"1", b'"[[[["', b'"' + b"[" * 600 + b'"', b'"\\"' + b"[" * 600 + b'"'])
def test_depth_counts_outside_strings(inside: bytes) -> None:
    assert not jsonrpc.is_too_deep(nested(400, inside))
    assert jsonrpc.is_too_deep(nested(600, inside))


def test_width_is_no_depth() -> None:
    assert not jsonrpc.is_too_deep(b"[" + b",".join([b'{"a":[1,2]}'] * 5_000) + b"]")


def test_joining_parts_copies_raw_members() -> None:
    members = jsonrpc.members(b'{"a": 1.10, "b":{"z":1,"y":[ 2 ]}}')
    assert jsonrpc.join({**members, "c": b"1E400", "d": "x"}) == b'{"a":1.10,"b":{"z":1,"y":[ 2 ]},"c":1E400,"d":"x"}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_params_of_any_frame_come_out_as_they_went_in(value: object) -> None:
    params = json.dumps({"v": value}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    frame, line = jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + params + b"}")
    assert bytes(frame.params) == jsonrpc.repair(params)  # type: ignore[arg-type]
    line.decode()


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_a_frame_error(data: bytes) -> None:
    try:
        jsonrpc.parse(data)
    except FrameError as error:
        assert error.code in (PARSE_ERROR, INVALID_REQUEST)


def test_numbers_that_python_cannot_hold_come_as_their_text() -> None:
    digits = "9" * 5_000
    raw = b'{"a":1E400,"b":%s,"c":-1e400,"d":1.10,"e":[9007199254740993,null,"\\ud800"]}' % digits.encode()
    assert jsonrpc.value(raw) == {
        "a": "1E400",
        "b": digits,
        "c": "-1e400",
        "d": 1.1,
        "e": [9007199254740993, None, "\ud800"],
    }
    assert jsonrpc.value(b'{"a":[1,2.5]}') == {"a": [1, 2.5]}
