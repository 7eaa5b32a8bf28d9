"""What is cached, under which key, and what never is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.upstream.cache import (
    SLICE_CHARS,
    AnnotationPolicy,
    Caching,
    caching,
    canonical,
    is_complete,
    is_sensitive,
    response_key,
)
from config.policy import ToolPolicy

TOKEN = "ghp_" + "a1B2" * 10
PASSWORD = "Xk29fLq0"


def key(arguments: str = "{}", *, server: str = "s", tool: str = "t", connection: str = "c", client: str = "") -> Any:
    return response_key(server, tool, f'{{"arguments":{arguments}}}'.encode(), connection, client)


@pytest.mark.parametrize(
    ("annotations", "read_only", "writes", "stated", "expected"),
    [
        ("strict", True, False, None, True),
        ("strict", False, False, None, False),
        ("strict", False, True, None, False),
        ("strict", False, False, True, True),
        ("strict", False, True, True, False),
        ("strict", True, False, False, False),
        ("conservative", True, False, None, True),
        ("conservative", False, False, None, True),
        ("conservative", False, True, None, False),
        ("conservative", False, True, True, False),
        ("conservative", False, False, False, False),
        ("ignore", False, True, None, True),
        ("ignore", True, False, False, False),
    ],
)
def test_annotations_and_configuration_decide(
    annotations: AnnotationPolicy, read_only: bool, writes: bool, stated: bool | None, expected: bool
) -> None:
    found = caching(ToolPolicy(cache=stated), annotations, read_only=read_only, writes=writes)
    assert found == (Caching(3600) if expected else None)


def test_a_life_of_zero_is_off_and_none_is_for_ever() -> None:
    assert caching(ToolPolicy(cache_ttl_seconds=0), "ignore", read_only=True, writes=False) is None
    assert caching(ToolPolicy(cache_ttl_seconds=None), "strict", read_only=True, writes=False) == Caching(None)


def test_the_order_of_keys_and_white_space_do_not_matter() -> None:
    assert key('{"a":1,"b":{"d":[1,2],"c":null}}') == key('{ "b": {"c":null, "d":[1, 2]},\n"a":1}')
    assert key('{"a":"\\u0041\\/"}') == key('{"a":"A/"}')


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "1.0"),
        ("1", '"1"'),
        ("1e2", "100"),
        ("0", "-0"),
        ("1.10", "1.1"),
        ("9007199254740993", "9007199254740992"),
        ("1e400", "2e400"),
        ("[1,2]", "[2,1]"),
        ("null", '"null"'),
        ("true", "1"),
        ('"a"', '"A"'),
        ("[]", "{}"),
    ],
)
def test_values_that_a_server_can_tell_apart_have_keys_of_their_own(one: str, other: str) -> None:
    assert key(f'{{"a":{one}}}') != key(f'{{"a":{other}}}')
    assert key(f'{{"a":{one}}}') is not None


def test_no_part_of_a_key_runs_into_the_next() -> None:
    parts = [
        key(),
        key(server="st", tool=""),
        key(server="", tool="st"),
        key(connection="other"),
        key(client="x"),
        key(connection="cx"),
        key('{"a":{}}'),
    ]
    assert len(set(parts)) == len(parts)


def test_what_ties_a_call_to_itself_does_not_count() -> None:
    tied = b'{"_meta":{"progressToken":7,"traceparent":"00-1"},"arguments":{"a":1}}'
    assert response_key("s", "t", tied, "c") == key('{"a":1}')
    assert response_key("s", "t", b"{}", "c") == key("{}")


@pytest.mark.parametrize(
    "params",
    [
        b'{"arguments":{},"task":{"ttl":5}}',
        b'{"arguments":{},"inputResponses":{}}',
        b'{"arguments":{"a":1,"a":2}}',
        b'{"arguments":{"a":"\\ud800"}}',
        b'{"arguments":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001,
        b"[]",
    ],
)
def test_a_call_that_is_not_plain_has_no_key(params: bytes) -> None:
    assert response_key("s", "t", params, "c") is None


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@settings(deadline=None)
@given(JSON)
def test_the_canonical_form_means_the_same_and_is_its_own(value: Any) -> None:
    made = canonical(json.dumps(value).encode())
    assert made is not None
    assert json.loads(made) == value
    assert canonical(made) == made
    assert canonical(json.dumps(value, indent=1, ensure_ascii=False).encode()) == made


@pytest.mark.parametrize(
    ("result", "complete"),
    [
        (b'{"content":[]}', True),
        (b'{"content":[],"isError":false,"_meta":{"x":1}}', True),
        (b'{"content":[],"isError":null}', True),
        (b'{"isError":true,"content":[]}', False),
        (b'{"isError":"yes"}', False),
        (b'{"isError":1}', False),
        (b'{"resultType":"complete","content":[]}', True),
        (b'{"resultType":"input_required","requestState":"x"}', False),
        (b"[]", False),
    ],
)
def test_only_complete_answers_are_kept(result: bytes, complete: bool) -> None:
    assert is_complete(result) is complete


def nested(text: str, times: int) -> bytes:
    """A result whose text is `text`, packed as JSON in JSON `times` times."""
    for _ in range(times):
        text = json.dumps({"output": text})
    return json.dumps({"content": [{"type": "text", "text": text}]}).encode()


@pytest.mark.parametrize("times", [0, 1, 2, 4])
@pytest.mark.parametrize(
    "text",
    [
        f"token\n{TOKEN}",
        f"first line\n{TOKEN}\nlast",
        "id\tAKIAIOSFODNN7EXAMPLE\tname",
        f'{{"password": "{PASSWORD}"}}',
        f"db_password={PASSWORD}",
        f"postgres://admin:{PASSWORD}@db.internal/x",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        f"Authorization: Bearer {'a9' * 20}",
    ],
)
def test_credentials_are_seen_through_escapes(text: str, times: int) -> None:
    assert is_sensitive(nested(text, times))


def test_a_credential_is_seen_in_escaped_letters_and_across_the_borders_of_slices() -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in TOKEN)
    assert is_sensitive(b'{"content":[{"type":"text","text":"x ' + escaped.encode() + b'"}]}')
    for shift in (0, 10, len(TOKEN)):
        assert is_sensitive(nested("word " * (SLICE_CHARS // 5 - 12) + " " * shift + TOKEN + " word" * 100, 0))


@pytest.mark.parametrize(
    "text",
    [
        "all is well",
        "the password is required",
        "한국어 문서\n둘째 줄",
        'C:\\new\\table "quoted"',
        "token budget: 16000",
    ],
)
@pytest.mark.parametrize("times", [0, 2])
def test_ordinary_text_is_kept(text: str, times: int) -> None:
    assert not is_sensitive(nested(text, times))


@pytest.mark.parametrize("text", [b"\\", b"\\u0061", b"\\\\n", b"password", b'\\"key\\":', b"eyJ.", b"://a:"])
def test_the_look_for_credentials_is_linear(text: bytes) -> None:
    assert not is_sensitive(text * (2_000_000 // len(text)))  # anything but linear would not end
