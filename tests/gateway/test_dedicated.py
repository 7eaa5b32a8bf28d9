"""`session: dedicated`: a server process for each client, which ends with it, and nothing of anybody else's."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.fixtures.upstreams import argv
from tests.gateway.conftest import Connect, Start


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def pid_of(client: McpClient) -> int:
    return int((await client.call("mine__alive")).text)


async def gateways(home: Home, *folders: Path) -> list[McpClient]:
    clients = []
    for folder in folders:
        folder.mkdir(exist_ok=True)
        client = await home.gateway_in(folder)
        clients.append(client)
        await client.handshake()
        await client.tools_with("mine__alive")
    return clients


async def test_each_client_has_its_own_process_in_its_own_folder(home: Home) -> None:
    server = " ".join(argv("dying", record=home.record("mine")))
    shell = {"prefix": "mine", "command": "sh", "args": ["-c", f"sleep 1000 & exec {server}"], "session": "dedicated"}
    home.configure({"mine": shell})
    one, two = await gateways(home, home.path / "one", home.path / "two")
    try:
        first, second = await pid_of(one), await pid_of(two)
        assert first != second
        assert await pid_of(one) == first
        assert os.readlink(f"/proc/{first}/cwd") == str(home.path / "one")
        assert os.readlink(f"/proc/{second}/cwd") == str(home.path / "two")
        await one.close()
        await eventually(lambda: not alive(first))
        assert await pid_of(two) == second
        two.kill()  # its gateway has no chance to say goodbye
        await eventually(lambda: not alive(second), patience=20)
        await eventually(lambda: not [line for line in home.processes().values() if line.startswith("sleep")])
    finally:
        await two.close()
        assert home.mms("down").returncode == 0
    assert one.faults == []


async def test_no_process_is_started_for_a_client_that_only_looks(home: Home, start: Start) -> None:
    home.configure({"own": home.upstream("library", "own", session="dedicated")})
    client = await start("own__touch")
    assert (await client.request("resources/list")).result["resources"][0]["uri"] == "own+res://a"
    assert (await client.request("prompts/list")).result["prompts"][0]["name"] == "own__greet"
    assert len(home.recorded("own", "start")) == 1
    await eventually(lambda: len(home.recorded("own", "eof")) == 1)
    uri = "own+res://a"
    await client.request("resources/subscribe", {"uri": uri})
    await client.call("own__touch")
    assert await client.notification("notifications/resources/updated") == {"uri": uri}
    assert len(home.recorded("own", "start")) == 2


async def test_a_server_of_ones_own_comes_back(connect: Connect) -> None:
    client = await connect(ready=("mine__alive",))
    first = await pid_of(client)
    assert (await client.call("mine__die")).result["isError"] is True
    assert await pid_of(client) != first


async def test_clients_of_a_shared_server_hear_only_of_their_own_calls(connect: Connect) -> None:
    one, two = await connect(ready=("progress__gated",)), await connect()
    _, waiting = await one.begin_call("progress__gated", _meta={"progressToken": "t"})
    await one.notification("notifications/progress")
    await two.call("progress__go", _meta={"progressToken": "t"})
    assert (await waiting).result["content"][0]["text"] == "gone"
    await two.settled()
    assert two.notifications == []


async def test_a_log_message_that_may_be_of_another_clients_call_is_nobodys(connect: Connect) -> None:
    """A shared session does not say whose call a message is about."""
    one, two = await connect(ready=("library__say", "slow__block")), await connect()
    for client in (one, two):
        await client.request("logging/setLevel", {"level": "debug"})
    await one.call("library__say", {"n": 1})
    await one.notification("notifications/message")
    await two.settled()
    assert two.notifications == []


async def test_a_server_waits_for_its_user_longer_than_for_an_answer(connect: Connect) -> None:
    client = await connect(capabilities={"roots": {}}, ready=("patient__roots",))
    client.answers["roots/list"] = thoughtful
    assert '"roots"' in (await client.call("patient__roots")).text


def thoughtful(params: dict[str, object]) -> dict[str, object]:
    """Blocks the client for longer than the server's time limit, as a user who thinks does."""
    time.sleep(0.6)
    return {"roots": []}


async def test_subscriptions_outlive_a_restart_of_the_pool(home: Home) -> None:
    home.configure({"library": home.upstream("library")})
    client = await home.gateway("--private")
    try:
        await client.handshake()
        await client.tools_with("library__touch")
        await client.request("resources/list")
        uri = "library+res://a"
        assert (await client.request("resources/subscribe", {"uri": uri})).result == {}
        [actor] = [pid for pid, line in home.processes().items() if "actors.upstream" in line]
        os.kill(actor, signal.SIGKILL)
        await eventually(lambda: subscriptions(home) == 2)
        await client.call("library__touch")
        assert await client.notification("notifications/resources/updated") == {"uri": uri}
    finally:
        await client.close()
    assert client.faults == []


def subscriptions(home: Home) -> int:
    return len([entry for entry in home.recorded("library", "request") if entry["method"] == "resources/subscribe"])


async def test_tools_that_come_and_go_while_it_runs(connect: Connect) -> None:
    client = await connect(ready=("coming__add",))
    before, after = of_its_own(await client.tools()), len(client.notifications)
    await client.call("coming__add", {"name": "extra"})
    await client.notification("notifications/tools/list_changed", after=after)
    assert of_its_own(await client.tools_with("coming__extra")) - before == {"coming__extra"}
    assert (await client.call("coming__extra")).text == "I am extra"
    after = len(client.notifications)
    await client.call("coming__drop", {"name": "extra"})
    await client.notification("notifications/tools/list_changed", after=after)
    assert of_its_own(await client.tools()) == before


def of_its_own(tools: dict[str, dict[str, object]]) -> set[str]:
    return {name for name in tools if name.startswith("coming__")}


async def test_how_connections_of_clients_own_do_is_seen(home: Home) -> None:
    """The server that everybody shares only says what it offers; those of the clients can fail each by itself."""
    once = {"call_timeout_seconds": 0.2, "circuit_max_failures": 1}
    home.configure({"mine": home.upstream("slow", "mine", session="dedicated", reconnect_delay_seconds=60, **once)})
    one = await home.gateway(MEMTOMEM_STM_ADVERTISE_OBSERVABILITY_TOOLS="true")
    two = await home.gateway()
    try:
        for client in (one, two):
            await client.handshake()
            await client.tools_with("mine__fast")
        assert "its own" not in home.mms("health").stdout
        assert (await two.call("mine__fast")).text == "fast "
        assert "1 client has its own" in home.mms("health").stdout
        assert (await one.call("mine__block")).result["isError"] is True
        found = home.mms("health")
        assert "2 clients have their own, 1 resting" in found.stdout
        assert "of the upstream mine, the clients' own connections are not well" in found.stderr + found.stdout
        report = (await one.call("stm_admin", {"action": "proxy_health"})).text
        assert "connections of clients' own: 2 · 1 resting (circuit breaker; failures in a row: 1)" in report
        os.kill(int(home.recorded("mine", "start")[-1]["pid"]), signal.SIGKILL)
        await eventually(lambda: "1 down" in home.mms("health").stdout)
    finally:
        await one.close()
        await two.close()
        assert home.mms("down").returncode == 0
