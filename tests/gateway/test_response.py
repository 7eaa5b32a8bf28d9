"""A result taken apart and put together: what is not replaced stays as the bytes that came."""

from __future__ import annotations

import json

import pytest

from gateway.response import Response, assemble, safe, text_result

MIXED = (
    b'{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":"long","x":1.10,'
    b'"annotations":{"priority":0.50}},{"type":"text","text":"b"}],"structuredContent":{"n":1E400},"vendor":{"z":1.0,"a":[]}}'
)


def test_an_untouched_result_is_the_very_same_bytes() -> None:
    assert assemble(MIXED, stateless=False) is MIXED


def test_the_stateless_era_gets_its_result_type_and_the_handshake_era_none() -> None:
    assert assemble(MIXED, stateless=True) == b'{"resultType":"complete",' + MIXED[1:]
    theirs = b'{"content":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}'
    assert assemble(theirs, stateless=False) == b'{"content":[]}'
    assert json.loads(assemble(theirs, stateless=True)) == {"resultType": "complete", "content": []}


def test_only_the_replaced_text_changes() -> None:
    response = Response(MIXED)
    assert (response.texts, response.structured, response.chars) == ({1: "long", 2: "b"}, b'{"n":1E400}', 5)
    made = assemble(MIXED, stateless=False, texts={1: 'sh"ort'}, keep_structured=False, after="memory")
    assert made == (
        MIXED.replace(b'"long"', b'"sh\\"ort"')
        .replace(b',"structuredContent":{"n":1E400}', b"")
        .replace(b'"text":"b"}]', b'"text":"b"},{"type":"text","text":"memory"}]')
    )


def test_a_text_that_stands_for_structured_content_comes_last_but_for_the_memory() -> None:
    raw = b'{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}],"structuredContent":{"n":1}}'
    made = json.loads(assemble(raw, stateless=False, keep_structured=False, stand_in="instead", after="memory"))
    assert [block.get("text", block["type"]) for block in made["content"]] == ["image", "instead", "memory"]
    assert "structuredContent" not in made
    bare = json.loads(assemble(b'{"structuredContent":{"n":1}}', stateless=False, keep_structured=False, stand_in="x"))
    assert bare == {"content": [{"type": "text", "text": "x"}]}


@pytest.mark.parametrize("raw", [b'{"structuredContent":{"n":1}}', b'{"content":null}', b'{"content":[]}'])
def test_a_memory_is_delivered_with_an_answer_that_has_no_content(raw: bytes) -> None:
    regular = Response(raw).regular
    for where in ({"before": "memory"}, {"after": "memory"}):
        made = json.loads(assemble(raw, stateless=False, regular=regular, **where))
        assert made["content"] == [{"type": "text", "text": "memory"}]
    both = json.loads(assemble(raw, stateless=False, regular=regular, after="memory", stand_in="instead"))
    assert [block["text"] for block in both["content"]] == ["instead", "memory"]


def test_nulls_go_outside_payloads_and_stay_inside() -> None:
    raw = (
        b'{"content":[{"type":"text","text":"a","annotations":null}],"structuredContent":{"kept":null},'
        b'"isError":null,"_meta":null}'
    )
    assert json.loads(assemble(raw, stateless=False)) == {
        "content": [{"type": "text", "text": "a"}],
        "structuredContent": {"kept": None},
    }


@pytest.mark.parametrize(
    ("raw", "content"),
    [
        (b'{"structuredContent":{"a":1}}', []),
        (b'{"content":null}', []),
        (b'{"content":"plain"}', [{"type": "text", "text": '"plain"'}]),
        (b'{"content":[{"type":"text"}]}', [{"type": "text", "text": ""}]),
        (b'{"content":[{"type":"text","text":null}]}', [{"type": "text", "text": ""}]),
        (b'{"content":[{"type":"text","text":5}]}', [{"type": "text", "text": "5"}]),
        (b'{"content":[{"type":"hologram","x":1}]}', [{"type": "hologram", "x": 1}]),
        (b'{"content":[null,{"type":"text","text":"a","x":null}]}', [{"type": "text", "text": "a"}]),
        (b'{"content":["b",7]}', [{"type": "text", "text": '"b"'}, {"type": "text", "text": "7"}]),
    ],
)
def test_what_every_client_refuses_becomes_what_all_can_read(raw: bytes, content: list[object]) -> None:
    response = Response(raw)
    made = assemble(raw, stateless=False, regular=response.regular)
    assert json.loads(made)["content"] == content


@pytest.mark.parametrize(("flag", "wanted"), [(b'"yes"', True), (b"1", True), (b"0", False), (b'""', False)])
def test_an_error_flag_is_a_boolean(flag: bytes, wanted: bool) -> None:
    raw = b'{"content":[{"type":"text","text":"a"}],"isError":' + flag + b"}"
    made = json.loads(assemble(raw, stateless=False, regular=Response(raw).regular))
    assert made["isError"] is wanted
    assert made["content"] == [{"type": "text", "text": "a"}]


def test_lone_surrogates_become_replacement_characters() -> None:
    assert safe("a\ud800b\U0001f600") == "a\ufffdb\U0001f600"
    assert json.loads(text_result("a\udc00", is_error=True)) == {
        "content": [{"type": "text", "text": "a\ufffd"}],
        "isError": True,
    }
