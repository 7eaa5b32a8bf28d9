"""Official clients in front, official servers behind."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptReference,
    Root,
    TextContent,
    TextResourceContents,
)

from tests.fixtures.home import MMS, Home
from tests.fixtures.official import MCP1_CLIENT, mcp1_python, npm_server
from tests.gateway.conftest import Connect, Start

pytestmark = pytest.mark.slow

MODES = ("legacy", "auto", "2026-07-28")


@asynccontextmanager
async def official_client(home: Home, mode: Any, **callbacks: Any) -> AsyncIterator[Client]:
    """The official client of mcp 2.x on `mms gateway`, beside the home's background cluster."""
    parameters = StdioServerParameters(command=str(MMS), args=["gateway"], env=home.environment(), cwd=str(home.path))
    async with Client(stdio_client(parameters), mode=mode, **callbacks) as client:
        yield client


async def test_the_official_client_in_both_eras(connect: Connect, shared_home: Home) -> None:
    """In front of the official git and time servers: listing, calls, errors, progress."""
    await connect(ready=("git__git_log", "time__get_current_time", "progress__steps"))
    repo = str(shared_home.path / "repo")
    for mode in MODES:
        async with official_client(shared_home, mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"git__git_log", "time__convert_time", "stm_proxy_read_more"} <= names
            assert "The first commit" in text_of(await client.call_tool("git__git_log", {"repo_path": repo}))
            assert "+09:00" in text_of(await client.call_tool("time__get_current_time", {"timezone": "Asia/Seoul"}))
            assert (await client.call_tool("time__get_current_time", {"timezone": "Nowhere/At_All"})).is_error
            steps: list[float] = []

            async def on_progress(
                progress: float, total: float | None, message: str | None, into: list[float] = steps
            ) -> None:
                into.append(progress)

            done = await client.call_tool("progress__steps", {"count": 3}, progress_callback=on_progress)
            assert text_of(done) == "done"
            assert steps == [1, 2, 3], mode


def text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_a_client_of_the_sdk_before_version_2(connect: Connect, shared_home: Home) -> None:
    python = mcp1_python()
    await connect(ready=("progress__steps",))
    command = [python, str(MCP1_CLIENT), "progress__steps", '{"count":3}', "--", str(MMS), "gateway"]
    run = await asyncio.to_thread(
        subprocess.run, command, env=shared_home.environment(), capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["version"] == "2025-11-25"
    assert "stm_proxy_read_more" in report["tools"]
    assert report["content"][0]["text"] == "done"
    assert report["progress"] == [1.0, 2.0, 3.0]


@pytest.mark.npm
async def test_the_official_npm_servers(home: Home, start: Start) -> None:
    folder = home.path / "files"
    folder.mkdir()
    (folder / "note.txt").write_text("a note\n")
    home.configure({"everything": npm_server("everything"), "filesystem": npm_server("filesystem", str(folder))})
    client = await start("everything__echo", "filesystem__read_text_file")
    assert "hello" in (await client.call("everything__echo", {"message": "hello"})).text
    read = await client.call("filesystem__read_text_file", {"path": str(folder / "note.txt")})
    assert "a note" in read.text
    escape = await client.call("filesystem__read_text_file", {"path": "/etc/passwd"})
    assert escape.result["isError"] is True
    image = (await client.call("everything__get-tiny-image")).result["content"]
    assert "image" in [block["type"] for block in image]
    resources = (await client.request("resources/list")).result["resources"]
    assert resources
    long = await client.call(
        "everything__trigger-long-running-operation", {"duration": 1, "steps": 4}, _meta={"progressToken": "t"}
    )
    assert "completed" in long.text.lower()
    steps = [params["progress"] for method, params in client.notifications if method == "notifications/progress"]
    assert steps == [1, 2, 3, 4]


@pytest.mark.npm
@pytest.mark.parametrize("mode", MODES)
async def test_everything_that_a_server_offers(home: Home, mode: str) -> None:
    """The official client in either era, in front of a server of its own: resources, prompts, completion, questions."""
    home.configure({"ev": {**npm_server("everything"), "prefix": "ev", "session": "dedicated"}})
    seen: list[str] = []

    async def elicit(context: Any, params: Any) -> ElicitResult:
        seen.append(params.mode)
        content: dict[str, str | int | float | bool | list[str] | None] = {"name": "Ada"}
        return ElicitResult(action="accept", content=content)

    async def sample(context: Any, params: Any) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="sampled"), model="m")

    async def roots(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": "file:///work", "name": "work"})])

    callbacks = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    try:
        async with official_client(home, mode) as other:  # it can be asked nothing, and its server shows less
            await listed(other, "ev__trigger-elicitation-request")
            assert "hello" in text_of(await other.call_tool("ev__echo", {"message": "hello"}))
        async with official_client(home, mode, **callbacks) as client:
            await listed(client, "ev__trigger-elicitation-request")
            assert "Ada" in text_of(await client.call_tool("ev__trigger-elicitation-request", {}))
            assert seen == ["form"]
            asked = await client.call_tool("ev__trigger-sampling-request", {"prompt": "say it", "maxTokens": 10})
            assert "sampled" in text_of(asked)
            assert "file:///work" in text_of(await client.call_tool("ev__get-roots-list", {}))
            uris = [str(resource.uri) for resource in (await client.list_resources()).resources]
            assert all(uri.startswith("ev+demo://") for uri in uris)
            [content] = (await client.read_resource(uris[0])).contents
            assert isinstance(content, TextResourceContents)
            assert (str(content.uri), bool(content.text)) == (uris[0], True)
            [content] = (await client.read_resource("ev+demo://resource/dynamic/text/7")).contents
            assert str(content.uri) == "ev+demo://resource/dynamic/text/7"
            prompt = await client.get_prompt("ev__args-prompt", {"city": "Seoul"})
            assert isinstance(prompt.messages[0].content, TextContent)
            assert "Seoul" in prompt.messages[0].content.text
            ref = PromptReference(type="ref/prompt", name="ev__completable-prompt")
            found = await client.complete(ref, {"name": "department", "value": "E"})
            assert found.completion.values == ["Engineering"]
    finally:
        assert home.mms("down").returncode == 0


async def listed(client: Client, name: str) -> None:
    """Waits for a tool."""
    async with asyncio.timeout(30):
        while name not in {tool.name for tool in (await client.list_tools()).tools}:
            await asyncio.sleep(0.05)
