"""What is not shortened leaves as it came."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.servers.good import NUMBERS, PIXEL, SMALL, long_text
from tests.gateway.conftest import Connect

ARGUMENTS = (
    b'{"z":1.10,"a":1E400,"m":-0.0,"n":9007199254740993,"big":2512292042121000001,"e":1e5,'
    b'"nested":{"b":[1.0,2.50],"a":null},"\xc3\xbc":"\\u00e9\\n\xe2\x80\xa8","empty":{},"list":[]}'
)


async def test_arguments_and_structured_content(connect: Connect) -> None:
    """Numbers as lexemes, key order, escapes, nulls inside payloads."""
    client = await connect()
    answer = await client.call("fx__echo", ARGUMENTS)
    assert answer.text.encode() == ARGUMENTS
    assert answer.raw("result", "structuredContent") == ARGUMENTS


async def test_numbers_in_text_and_structured_content(connect: Connect) -> None:
    client = await connect()
    answer = await client.call("fx__numbers")
    assert answer.text == NUMBERS
    assert answer.raw("result", "structuredContent").decode() == NUMBERS


async def test_a_small_object_is_untouched(connect: Connect) -> None:
    client = await connect()
    answer = await client.call("fx__small")
    assert answer.text == SMALL
    assert answer.raw("result", "structuredContent").decode() == SMALL


async def test_mixed_blocks_keep_order_and_bytes(connect: Connect) -> None:
    """Only the long text may be shortened, and says how to read on."""
    client = await connect(ready=("mixed__mixed",))
    answer = await client.call("mixed__mixed")
    blocks = answer.result["content"]
    assert [block["type"] for block in blocks] == ["image", "text", "resource_link", "text", "audio"]
    assert answer.raw("result", "content", 0) == (
        b'{"type":"image","data":"%s","mimeType":"image/png","x-unknown":{"b":1,"a":2}}' % PIXEL.encode()
    )
    assert answer.raw("result", "content", 2) == (
        b'{"type":"resource_link","uri":"file:///a%20b.txt","name":"a b","size":12}'
    )
    assert answer.raw("result", "content", 3, "_meta") == b'{"k":1.50}'
    assert blocks[3]["text"] == "short"
    assert answer.result["_meta"]["vendor/trace"] == "t-1"
    assert answer.result["vendorExtra"] == [1, 2]
    assert len(blocks[1]["text"]) < 20_000
    assert "stm_proxy_read_more" in blocks[1]["text"]


async def test_embedded_resources_pass(connect: Connect) -> None:
    client = await connect(ready=("mixed__embedded",))
    block = (await client.call("mixed__embedded")).result["content"][0]
    assert block == {"type": "resource", "resource": {"uri": "res://a", "mimeType": "text/plain", "text": "inside"}}


async def test_an_error_envelope_is_untouched_and_not_cached(connect: Connect) -> None:
    client = await connect(ready=("failing__envelope",))
    for _ in range(5):  # more than the breaker would bear, if tool errors counted
        answer = await client.call("failing__envelope")
        assert answer.result["isError"] is True
        assert answer.result["content"][1]["text"] == long_text()
        assert answer.result["content"][0]["data"] == PIXEL
        assert answer.raw("result", "structuredContent") == b'{"reason":"quota","left":0}'
        assert answer.result["_meta"]["vendor/trace"] == "t-2"
    assert (await client.call("failing__fine")).text == "fine"


async def test_a_json_rpc_error_keeps_code_message_and_data(connect: Connect) -> None:
    client = await connect(ready=("failing__rpc",))
    answer = await client.call("failing__rpc")
    assert (answer.code, answer.error["message"]) == (-32050, "custom")
    assert answer.raw("error", "data") == b'{"a":1,"big":9007199254740993}'


async def test_unknown_members_survive_and_nulls_do_not(connect: Connect) -> None:
    client = await connect(ready=("unreadable__extra",))
    extra = await client.call("unreadable__extra")
    assert extra.raw("result", "vendor") == b'{"z":1.0,"a":[]}'
    assert extra.result["content"][0]["zeta"] == 1
    nulls = (await client.call("unreadable__nulls")).result
    assert nulls["content"] == [{"type": "text", "text": "a"}]
    assert nulls["structuredContent"] == {"kept": None}
    assert not {"_meta", "isError"} & nulls.keys()


async def test_invalid_text_is_repaired_around_untouched_numbers(connect: Connect) -> None:
    client = await connect(ready=("unreadable__surrogate",))
    for tool, text in (("surrogate", "a\ufffdb"), ("invalid_utf8", "a\ufffd\ufffdb")):
        answer = await client.call(f"unreadable__{tool}")
        assert answer.text == text
        assert answer.raw("result", "structuredContent", "n") == b"1.10"


async def test_huge_integers_pass(connect: Connect) -> None:
    client = await connect(ready=("unreadable__huge_int",))
    answer = await client.call("unreadable__huge_int")
    assert answer.raw("result", "structuredContent", "n") == b"9" * 400


@pytest.mark.parametrize("tool", ["array", "null_result", "no_content", "nan", "both", "error_text", "deep"])
async def test_an_answer_that_no_client_reads_becomes_one_that_all_do(connect: Connect, tool: str) -> None:
    """The caller gets a frame (its strictness is checked at the end of the test), and the server goes on serving."""
    client = await connect(ready=(f"unreadable__{tool}",))
    frame = (await client.call(f"unreadable__{tool}")).frame
    assert "result" in frame or frame["error"]["message"]
    assert (await client.call("unreadable__alive")).text == "alive"


async def test_blocks_of_a_kind_that_is_not_known_here_pass(connect: Connect) -> None:
    """They may be of a newer protocol, and the client is the one to judge."""
    client = await connect(ready=("unreadable__unknown_block",))
    answer = await client.call("unreadable__unknown_block")
    assert answer.raw("result", "content") == b'[{"type":"hologram","x":1},{"type":"text","text":"after"}]'
    assert len(client.faults) == 1
    client.faults.clear()


async def test_definitions_pass_through(connect: Connect) -> None:
    tools = await (await connect()).tools()
    assert tools["fx__text"]["annotations"]["readOnlyHint"] is True
    assert json.dumps(tools["fx__text"]["inputSchema"]) == json.dumps(
        {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": True}
    )
