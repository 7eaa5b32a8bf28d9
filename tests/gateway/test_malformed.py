"""Lines that no client should send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.mcp_client import McpClient
from tests.fixtures.vectors import case, line_of, rows
from tests.gateway.conftest import Connect


async def answers_to(client: McpClient, line: bytes, expected: int = 1) -> list[dict[str, Any]]:
    """All answers to a line, once `expected` have come. A call and a ping after them show that no more do."""
    before = len(client.lines)

    def answers() -> list[dict[str, Any]]:
        frames = [json.loads(got) for got in client.lines[before:]]
        return [frame for frame in frames if "id" in frame and frame["id"] not in ("call-after", "ping-after")]

    await client.send(line)
    await client.until(lambda: len(answers()) >= expected)
    await client.request("tools/call", {"name": "fx__params", "arguments": {}}, id_="call-after")
    await client.request("ping", id_="ping-after")
    return answers()


async def test_malformed_lines(connect: Connect, subtests: pytest.Subtests) -> None:
    """All on one connection: a bad line must not spoil the next."""
    client = await connect("2025-06-18")
    for row in rows("malformed"):
        with subtests.test(case=case(row)):
            got = await answers_to(client, line_of(row), len(row["answers"]))
            assert [frame["id"] for frame in got] == [answer["id"] for answer in row["answers"]], got
            for frame, wanted in zip(got, row["answers"], strict=True):
                if "error" in wanted:
                    assert frame["error"]["code"] in wanted["error"], frame
                else:
                    assert "result" in frame, frame


async def test_malformed_lines_without_a_handshake(connect: Connect) -> None:
    client = await connect(None)
    for line, code in ((b"garbage", -32700), (b"[]", -32600), (b'{"jsonrpc":"2.0","id":4}', -32600)):
        (answer,) = await answers_to(client, line)
        assert answer["error"]["code"] == code


async def test_a_large_argument_arrives_whole(connect: Connect) -> None:
    client = await connect()
    text = "x" * 3_000_000
    assert (await client.call("fx__length", {"text": text})).text == "3000000"


async def test_non_utf8_and_surrogates_reach_the_other_end_as_replacement_characters(connect: Connect) -> None:
    client = await connect()
    answer = await client.call("fx__echo", b'{"a":"\xff\xfe","n":1.10}')
    assert answer.raw("result", "structuredContent", "n") == b"1.10"
    assert answer.result["structuredContent"]["a"] == "\ufffd\ufffd"
    answer = await client.call("fx__echo", b'{"b":"x\\ud800y","ok":"\\ud83d\\ude00","n":1E400}')
    assert answer.raw("result", "structuredContent", "n") == b"1E400"
    assert answer.result["structuredContent"]["b"] == "x\ufffdy"
    assert answer.result["structuredContent"]["ok"] == "😀"


async def test_moderate_depth_is_served(connect: Connect) -> None:
    client = await connect()
    depth = 150
    answer = await client.call("fx__text", b'{"text":"deep","d":' + b"[" * depth + b"]" * depth + b"}")
    assert answer.text == "deep"


async def test_a_client_may_number_all_its_requests_alike(connect: Connect) -> None:
    """One after the other: with the answer, the id is free again."""
    client = await connect()
    for text in map(str, range(300)):
        answer = await client.request("tools/call", {"name": "fx__echo", "arguments": {"text": text}}, id_=7)
        assert "result" in answer.frame, answer.line
        assert (await client.request("no/such", {}, id_=7)).code == -32601
