"""The embedded LTM as any MCP client sees it: a real process over stdio, in both protocol eras."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import psutil
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

Era = Literal["legacy", "2026-07-28"]


@asynccontextmanager
async def client(tmp_path: Path, era: Era = "legacy") -> AsyncIterator[Client]:
    arguments = [
        "-m",
        "actors.surfacer.embedded",
        "--memories",
        str(tmp_path / "notes"),
        "--index",
        str(tmp_path / "index.db"),
    ]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments), mode=era) as connected:
        yield connected


async def call(connected: Client, tool: str, **arguments: Any) -> types.CallToolResult:
    return await connected.call_tool(tool, arguments)


def text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_contract(tmp_path: Path, era: Era) -> None:
    async with client(tmp_path, era) as connected:
        tools = {tool.name: tool for tool in (await connected.list_tools()).tools}
        assert set(tools) == {"mem_search", "mem_add", "mem_do"}
        version = json.loads(text(await call(connected, "mem_do", action="version")))
        assert version["capabilities"]["search_formats"] == ["structured", "compact"]
        assert version["capabilities"]["runtime_profile"]["search"]["effective_mode"] == "bm25_only"

        added = await call(
            connected, "mem_add", content="pgbouncer runs in transaction mode.", title="Pool", tags=["db"]
        )
        assert added.structured_content is not None
        (chunk_id,) = added.structured_content["chunk_ids"]
        assert (tmp_path / "notes" / added.structured_content["source"]).exists()

        found = json.loads(
            text(await call(connected, "mem_search", query="pgbouncer mode", output_format="structured"))
        )
        assert found["score_scale"] == "bm25"
        (row,) = found["results"]
        assert set(row) == {"rank", "score", "source", "hierarchy", "namespace", "chunk_id", "content"}
        assert (row["rank"], row["chunk_id"], row["namespace"], row["hierarchy"]) == (1, chunk_id, "default", "Pool")
        compact = text(await call(connected, "mem_search", query="pgbouncer mode"))
        assert compact.startswith("Found 1 results:\n\n[1] ")
        assert " > Pool\npgbouncer runs" in compact

        boosted = text(
            await call(connected, "mem_do", action="increment_access", params={"chunk_ids": [chunk_id, "x"]})
        )
        assert json.loads(boosted) == {"updated": 1}

        for tool, arguments in (
            ("mem_search", {"query": " "}),
            ("mem_search", {"query": "x", "unknown": 1}),
            ("mem_search", {"query": "x", "top_k": 0}),
            ("mem_search", {"query": "x", "output_format": "xml"}),
            ("mem_add", {"content": 'the "password": "hunter2"'}),
            ("mem_add", {"content": "x", "tags": "a"}),
            ("mem_do", {"action": "drop"}),
            ("mem_do", {"action": "increment_access"}),
        ):
            assert text(await call(connected, tool, **arguments)).startswith("Error: "), (tool, arguments)
    assert len(list((tmp_path / "notes").iterdir())) == 1


async def test_notes_edited_by_hand_are_found_and_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    async with client(tmp_path) as connected:
        assert text(await call(connected, "mem_search", query="kangaroo")) == "Found 0 results:"
        note = tmp_path / "notes" / "animals.md"
        note.write_bytes(b"# Animals\r\nThe kangaroo jumps.  \xff\r\n")
        before = note.stat()
        assert "kangaroo jumps" in text(await call(connected, "mem_search", query="kangaroo"))
        assert (note.read_bytes(), note.stat().st_mtime_ns) == (
            b"# Animals\r\nThe kangaroo jumps.  \xff\r\n",
            before.st_mtime_ns,
        )


async def test_a_killed_server_keeps_notes_and_index(tmp_path: Path) -> None:
    with pytest.raises(BaseException):  # noqa: B017 (the SDK's groups of errors differ by era)
        async with client(tmp_path) as connected:
            await call(connected, "mem_add", content="The rocket launches at dawn.", title="Rocket")
            for child in psutil.Process().children():
                if "actors.surfacer.embedded" in child.cmdline():
                    child.kill()
            await call(connected, "mem_search", query="rocket")
    async with client(tmp_path) as connected:
        assert "rocket launches" in text(await call(connected, "mem_search", query="rocket dawn"))
