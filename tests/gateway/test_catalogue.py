"""`tools/list`: pages, odd tools, odd names, servers that are late, hung, dirty or broken."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient, envelope
from tests.fixtures.servers.bad import STDERR_BYTES
from tests.fixtures.servers.catalogues import NASTY_SCHEMA, ODD_NAMES
from tests.gateway.conftest import ADMIN, Connect, Start, health

CHANGED = "notifications/tools/list_changed"


async def test_pages_are_read_to_the_end_and_a_stuck_cursor_stops(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("pages__tool6", "stuck__only"))
    tools = await client.tools()
    assert [name for name in tools if name.startswith("pages__")] == [f"pages__tool{i}" for i in range(7)]
    assert [name for name in tools if name.startswith("stuck__")] == ["stuck__only"]
    lists = [entry for entry in shared_home.recorded("stuck", "request") if entry["method"] == "tools/list"]
    assert len(lists) < 100


async def test_odd_schemas_cost_themselves_only(connect: Connect) -> None:
    """A nasty but legal schema is byte-equal. A tool whose schema strict clients refuse is named with a reason; one
    that has an odd member beside it stays, without the member."""
    client = await connect(ready=("schemas__plain",), **ADMIN)
    answer = await client.request("tools/list")
    tools = {tool["name"]: index for index, tool in enumerate(answer.result["tools"])}
    nasty = tools["schemas__nasty"]
    assert answer.raw("result", "tools", nasty, "inputSchema").decode() == NASTY_SCHEMA
    assert answer.raw("result", "tools", nasty, "vendor") == b'{"keep":1.50}'
    assert {name for name in tools if name.startswith("schemas__")} == {
        "schemas__nasty",
        "schemas__plain",
        "schemas__nulls",
        "schemas__bad_icons",
        "schemas__bad_execution",
        "schemas__bad_description",
    }
    assert not {"icons", "execution", "title", "annotations"} & {
        key for tool in answer.result["tools"] if tool["name"].startswith("schemas__") for key in tool
    }
    report = await health(client)
    for name in ("dangling", "schemaless", "null_schema", "array_type", "string_type", "typeless", "needs_task"):
        assert name in report
    assert "invalid_schema" in report
    assert "task_required" in report


async def test_odd_names_are_unique_fit_and_reach_their_tool(connect: Connect) -> None:
    client = await connect(ready=("x_a__tool0", "x__search_a"), **ADMIN)
    tools = await client.tools()
    longest = 64 - len("mcp__memtomem-stm__")
    reached = []
    for name in tools:
        assert re.fullmatch(r"[A-Za-z0-9_-]+", name) and len(name) <= longest, name
        if name.startswith("x__"):
            reached.append((await client.call(name)).text.removeprefix("x:"))
    assert sorted(reached) == sorted(ODD_NAMES)
    assert (await client.call("x_a__tool0")).text == "x_a:tool0"
    report = await health(client)
    assert "duplicate_name" in report
    assert "twice" in report


async def test_metadata_with_a_credential_is_withheld(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("credentials__clean",), **ADMIN)
    listed = await client.request("tools/list")
    assert b"sk-ant" not in listed.line
    assert {t["name"] for t in listed.result["tools"] if t["name"].startswith("cred")} == {"credentials__clean"}
    report = await health(client)
    assert "sensitive_metadata" in report
    assert "sk-ant" not in report
    state = [path for path in (shared_home.path / "bus").rglob("*") if path.is_file()]
    assert [path for path in state if b"sk-ant" in path.read_bytes()] == []


async def test_a_dirty_server_becomes_ready_and_its_noise_is_counted(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("dirty__noisy",), **ADMIN)
    assert (await client.call("dirty__noisy")).text == "clean"
    report = await health(client)
    assert re.search(r"\b[78]\b.*(stdout|junk|noise|line)", report), report
    logs = sum(path.stat().st_size for path in (shared_home.path / "bus" / "logs").iterdir())
    assert logs < STDERR_BYTES * 2


async def test_a_hung_server_holds_up_nobody(connect: Connect) -> None:
    client = await connect(ready=("fx__echo", "pages__tool0", "slow__fast", "mixed__long"), **ADMIN)
    assert not [name for name in await client.tools() if name.startswith("hung")]
    report = await health(client)
    assert re.search(r"hung\W.*starting", report), report
    assert (await client.call("slow__fast", {"n": 1})).text == "fast 1"


async def test_the_very_first_list_lacks_nobody_but_who_hangs(home: Home, start: Start) -> None:
    """Many clients ask once: the first list of a fresh cluster has every server that was about to answer."""
    names = [f"e{number}" for number in range(11)]
    hung = home.upstream("hung", connect_timeout_seconds=600)
    home.configure({**{name: home.upstream("echo", name) for name in names}, "hung": hung})
    client = await start(**ADMIN)
    first = await client.tools()
    assert {name for name in names if f"{name}__text" not in first} == set()
    assert re.search(r"hung: starting", await health(client))


async def test_a_server_that_cannot_start_says_why(connect: Connect, shared_home: Home) -> None:
    client = await connect(**ADMIN)
    await eventually(lambda: shared_home.recorded("quitting", "start"))
    report = await health(client)
    for word in ("quitting", "missing", "FileNotFoundError"):
        assert word in report


@pytest.mark.parametrize("stateless", [False, True])
async def test_a_late_server_is_announced(home: Home, start: Start, stateless: bool) -> None:
    home.serve("late", "echo")
    client = await start("echo__echo")
    if stateless:
        client.modern = True
        listen = {"notifications": {"toolsListChanged": True}, "_meta": envelope()}
        await client.begin("subscriptions/listen", listen, id_="listen")
        await client.notification("notifications/subscriptions/acknowledged")
    assert "late__tardy" not in await client.tools()
    seen = len(client.notifications)
    home.record("late").with_suffix(".jsonl.gate").touch()
    await client.notification(CHANGED, after=seen)
    assert "late__tardy" in await client.tools_with("late__tardy")
    assert (await client.call("late__tardy")).text == "here"


async def test_the_catalogue_of_the_last_run_is_there_at_once(home: Home, start: Start) -> None:
    """The server is still silent, and its tools are listed already, under the same names; a call waits for it."""
    gate = home.record("late").with_suffix(".jsonl.gate")
    gate.touch()
    home.serve("late", "names")
    first = await start("late__tardy", "names__search_a")
    names = list(await first.tools())
    await first.close()
    gate.unlink()
    second = await start()
    assert list(await second.tools()) == names
    _, future = await second.begin_call("late__tardy")
    await second.settled()
    assert not future.done()
    gate.touch()
    assert (await future).text == "here"


async def test_a_change_is_announced_once_and_then_true(connect: Connect) -> None:
    client = await connect(ready=("changing__add",))
    seen = len(client.notifications)
    await client.call("changing__add", {"name": "extra"})
    await client.notification(CHANGED, after=seen)
    assert (await client.tools_with("changing__extra")).keys() >= {"changing__add", "changing__extra"}
    assert (await client.call("changing__extra")).text == "I am extra"
    seen = len(client.notifications)
    await client.call("changing__drop", {"name": "extra"})
    await client.notification(CHANGED, after=seen)
    await eventually_gone(client, "changing__extra")
    assert (await client.call("changing__extra")).code == -32602


async def test_a_burst_of_announcements_without_a_change_reaches_nobody(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("changing__burst",))
    before, asked = len(client.notifications), len(listings(shared_home))
    await client.call("changing__burst")
    await eventually(lambda: len(listings(shared_home)) > asked)
    await client.call("changing__add", {"name": "after"})
    await client.tools_with("changing__after")
    assert [method for method, _ in client.notifications[before:]].count(CHANGED) <= 2
    assert len(listings(shared_home)) - asked < 20
    await client.call("changing__drop", {"name": "after"})
    await eventually_gone(client, "changing__after")


def listings(home: Home) -> list[dict[str, Any]]:
    """The times that the server was asked for its tools."""
    return [entry for entry in home.recorded("changing", "request") if entry["method"] == "tools/list"]


async def eventually_gone(client: McpClient, name: str) -> None:
    """Returns once a tool is listed no more."""
    while name in await client.tools():
        await client.settled()


async def test_a_server_that_exits_on_a_probe_is_asked_again_without(connect: Connect) -> None:
    client = await connect(ready=("strict__alive",))
    assert (await client.call("strict__alive")).text == "alive"


async def test_describe_tool_pages_through_everything(connect: Connect) -> None:
    client = await connect(ready=("described__wordy",))
    tools = await client.tools()
    assert tools["described__titled"]["annotations"]["title"] == "[described] Nice Title"
    assert "title" not in tools["described__wordy"]
    text, offset, more = "", 0, dict[str, str]()
    while offset is not None:
        arguments = {"name": "described__wordy", "part": "input_schema", "offset": offset, **more}
        answer = await client.call("stm_proxy_describe_tool", arguments)
        assert len(answer.raw("result")) <= 16_384
        page = json.loads(answer.text)
        text, offset, more = text + page["text"], page["next_offset"], {"generation": page["generation"]}
    assert json.loads(text) == tools["described__wordy"]["inputSchema"]
    assert len(text) == page["total_chars"]


async def test_five_hundred_tools(home: Home, start: Start) -> None:
    home.serve("many")
    client = await start("many__tool499")
    assert len([name for name in await client.tools() if name.startswith("many__")]) == 500
