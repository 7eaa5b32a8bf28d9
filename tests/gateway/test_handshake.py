"""The handshake era: versions, capabilities, and what may come before the handshake."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fixtures.vectors import case, rows
from tests.gateway.conftest import ADMIN, Connect

OURS = {
    "stm_proxy_select_chunks",
    "stm_proxy_read_more",
    "stm_proxy_describe_tool",
    "stm_surfacing_feedback",
    "stm_compression_feedback",
}


async def test_every_version_is_negotiated(connect: Connect) -> None:
    """One connection, since a client may initialise again."""
    client = await connect()
    for row in rows("negotiation"):
        asked = {"protocolVersion": row["asked"]} if "asked" in row else {}
        info = {"name": "raw", "version": "1"}
        answer = await client.request("initialize", {**asked, "capabilities": {}, "clientInfo": info})
        if "error" in row:
            assert answer.code == row["error"], row
        else:
            assert answer.result["protocolVersion"] == row["answered"], row


@pytest.mark.parametrize("row", [row for row in rows("negotiation") if row["case"].startswith("known")], ids=case)
async def test_a_call_in_every_version(connect: Connect, row: dict[str, Any]) -> None:
    client = await connect(row["asked"])
    answer = await client.call("fx__echo", {"x": 1})
    assert answer.result["structuredContent"] == {"x": 1}
    assert "resultType" not in answer.result


async def test_initialize_says_who_answers(connect: Connect) -> None:
    client = await connect(ready=("fx__echo", "library__touch"))
    result = (await client.handshake()).result
    assert result["serverInfo"]["name"]
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert "Read res://a first." in result["instructions"]
    assert len(result["instructions"]) <= 2_500


async def test_our_own_tools_are_there_and_the_optional_ones_are_not(connect: Connect) -> None:
    tools = await (await connect()).tools()
    assert {name for name in tools if name.startswith("stm_")} == OURS


async def test_flags_show_the_optional_tools(connect: Connect) -> None:
    client = await connect(MEMTOMEM_STM_FORMATION__ENABLED="true", **ADMIN)
    tools = await client.tools()
    assert {"stm_admin", "stm_memory_propose"} | OURS == {name for name in tools if name.startswith("stm_")}


async def test_ping_before_and_after_the_handshake(connect: Connect) -> None:
    client = await connect()
    await client.settled()
    other = await connect(None)
    assert (await other.request("ping")).result == {}


async def test_everything_in_one_write(connect: Connect) -> None:
    """A client may pipeline its handshake and its first call."""
    client = await connect(None)
    await client.send(
        b'{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
        b'"clientInfo":{"name":"c","version":"1"}}}\n'
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
        b'{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"fx__text","arguments":{"text":"hi"}}}'
    )
    await client.until(
        lambda: {b'"i"', b'"c"'} <= {part for line in client.lines for part in (b'"i"', b'"c"') if part in line}
    )
    assert any(b'"hi"' in line for line in client.lines)


async def test_unknown_methods(connect: Connect) -> None:
    client = await connect()
    answer = await client.request("foo/bar", {"a": 1})
    assert answer.code == -32601
    assert (await client.request("tasks/get", {"taskId": "x"})).code == -32601


@pytest.mark.parametrize(
    "params",
    [
        {"name": "fx__nothing", "arguments": {}},
        {"name": "nothing", "arguments": {}},
        {"name": "mcp__memtomem__fx__echo", "arguments": {}},
        {"arguments": {}},
        {"name": 5},
        {"name": "fx__echo", "arguments": [1]},
        {"name": "fx__echo", "arguments": "x"},
        {},
    ],
    ids=str,
)
async def test_wrong_calls(connect: Connect, params: dict[str, Any]) -> None:
    client = await connect()
    answer = await client.request("tools/call", params)
    assert answer.code == -32602
    assert answer.error["message"]


async def test_no_arguments_and_null_arguments_are_none(connect: Connect) -> None:
    client = await connect()
    for params in ({"name": "fx__echo"}, {"name": "fx__echo", "arguments": None}):
        assert (await client.request("tools/call", params)).result["content"][0]["text"] == "{}"


async def test_set_level_is_answered(connect: Connect) -> None:
    client = await connect()
    assert (await client.request("logging/setLevel", {"level": "info"})).result == {}
