"""The configuration is edited while a client is connected: everything takes effect without a restart, and what cannot
be used changes nothing and is shown where people look."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.eventually import until
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.gateway.conftest import ADMIN, Start, health

CHANGED = "notifications/tools/list_changed"


async def shown(client: McpClient, wanted: set[str], unwanted: str = "") -> None:
    """Returns when all wanted tools are listed and none that begins with `unwanted` is."""

    async def is_so() -> bool:
        names = set(await client.tools())
        return wanted <= names and not (unwanted and any(name.startswith(unwanted) for name in names))

    await until(is_so)


async def test_servers_come_go_and_change_while_a_client_is_connected(home: Home, start: Start) -> None:
    echo, slow = home.upstream("echo"), home.upstream("slow")
    home.configure({"echo": echo})
    client = await start("echo__text")
    pid = (await client.call("echo__params")).text
    announced = len([1 for method, _ in client.notifications if method == CHANGED])

    home.configure({"echo": echo, "slow": slow})  # added
    await client.notification(CHANGED, after=announced)
    await shown(client, {"echo__text", "slow__fast"})
    home.configure({"echo": echo, "sleepy": {**slow, "prefix": "sleepy"}})  # renamed
    await shown(client, {"sleepy__fast"}, "slow__")
    assert "unknown tool: slow__fast" in (await client.call("slow__fast")).error["message"]
    home.configure({"echo": echo, "sleepy": {**slow, "prefix": "sleepy", "enabled": False}})  # disabled
    await shown(client, {"echo__text"}, "sleepy__")
    assert "`mms enable sleepy`" in (await client.call("sleepy__fast")).text
    home.configure({"echo": echo})  # removed
    overrides = {"text": {"hidden": True}, "echo": {"description_override": "Says it again."}}
    home.configure({"echo": {**echo, "tool_overrides": overrides}})  # tool overrides
    await shown(client, {"echo__echo"}, "echo__text")
    assert (await client.tools())["echo__echo"]["description"] == "Says it again."
    assert (await client.call("echo__params")).text == pid, "none of this has touched the connection"


async def test_tools_of_a_server_that_is_on_its_way_are_not_unknown(home: Home, start: Start) -> None:
    """It gets another name in the file, and goes by the same prefix: until it is there, the answers say so."""
    server = home.upstream("echo")
    home.configure({"first": server})
    client = await start("echo__text", **ADMIN)
    assert "\nfirst" in await health(client)
    for name in ("second", "third"):
        home.configure({name: server})
        async with asyncio.timeout(20):
            while True:
                there = f"\n{name}" in await health(client)
                answer = await client.call("echo__text", {"text": name})
                assert "error" not in answer.frame, answer.line
                if answer.result.get("isError"):
                    assert "still starting" in answer.text or "not configured" in answer.text, answer.text
                elif there:
                    break


async def test_a_changed_connection_is_prepared_and_then_swapped(home: Home, start: Start) -> None:
    home.configure({"s": home.upstream("echo", "s")})
    client = await start("s__text", **ADMIN)
    home.configure({"s": home.upstream("late", "s")})

    async def prepared() -> bool:
        return "changed connection starting" in await health(client)

    await until(prepared)
    assert (await client.call("s__text", {"text": "still"})).text == "still"
    (home.path / "s.jsonl.gate").touch()
    await shown(client, {"s__tardy"}, "s__text")
    assert (await client.call("s__tardy")).text == "here"


async def test_budgets_follow_the_file(home: Home, start: Start) -> None:
    home.serve("mixed")
    client = await start("mixed__long")

    async def length(number: int) -> int:
        return len((await client.call("mixed__long", {"chars": 30_000, "n": number})).text)

    before = await length(0)
    home.serve("mixed", default_max_result_chars=3_000)
    numbers = iter(range(1, 10_000))

    async def smaller() -> bool:
        return await length(next(numbers)) <= 3_000

    assert before > 3_000
    await until(smaller)


async def test_an_edit_that_cannot_be_used_changes_nothing_and_is_shown(home: Home) -> None:
    home.serve("echo")
    client = await home.gateway(**ADMIN)
    try:
        await client.handshake()
        await client.tools_with("echo__text")
        good = home.config_file.read_text()
        home.config_file.write_text(good[: len(good) // 2])

        async def told() -> bool:
            return "Configuration error, the last good one stays in force" in await health(client)

        await until(told)
        assert (await client.call("echo__text", {"text": "x"})).text == "x"
        for command in ("health", "list"):
            found = await asyncio.to_thread(home.mms, command)
            assert "stm_proxy.json" in found.stderr, (command, found)
            assert found.returncode == 1
        document: dict[str, Any] = json.loads(good)
        document["upstream_servers"]["echo"]["prefix"] = "not__usable"
        home.config_file.write_text(json.dumps(document))

        async def named() -> bool:
            report = await health(client)
            return "upstream_servers.echo.prefix" in report

        await until(named)
        assert (await client.call("echo__text", {"text": "y"})).text == "y", "the last good state stays in force"
        home.config_file.write_text(good)

        async def well() -> bool:
            report = await health(client)
            return "Configuration error" not in report and "Configuration problems" not in report

        await until(well)
        await client.tools_with("echo__text")
    finally:
        await client.close()
        home.mms("down")
