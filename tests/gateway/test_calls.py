"""Calls in flight: cancellation, progress, order, and the end of the connection."""

from __future__ import annotations

import asyncio
import json
import os
import signal

import pytest

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import Answer, McpClient
from tests.gateway.conftest import Connect, Start


def call_ids(home: Home, prefix: str, key: str) -> list[str]:
    """The ids under which the server has seen calls whose arguments hold `key`."""
    requests = home.recorded(prefix, "request")
    return [entry["id"] for entry in requests if entry["method"] == "tools/call" and key in entry["params"]]


def cancelled(home: Home, prefix: str) -> list[str]:
    return [entry["id"] for entry in home.recorded(prefix, "cancelled")]


async def blocked(
    client: McpClient, home: Home, key: str, tool: str = "block"
) -> tuple[int | str, asyncio.Future[Answer]]:
    """A call that the server holds until it is released or cancelled."""
    id_, future = await client.begin_call(f"slow__{tool}", {"key": key})
    await eventually(lambda: call_ids(home, "slow", key))
    return id_, future


async def test_a_cancelled_call_ends_at_the_server_and_nowhere_else(connect: Connect, shared_home: Home) -> None:
    """Twenty fast calls beside a slow one that is cancelled: the server sees its own id, nobody else waits."""
    client = await connect(ready=("slow__block",))
    slow, held = await blocked(client, shared_home, "cancel-me")
    fast = [await client.begin_call("slow__fast", {"n": n}) for n in range(20)]
    answers = await asyncio.gather(*(future for _, future in fast))
    assert [answer.text for answer in answers] == [f"fast {n}" for n in range(20)]
    await client.cancel(slow)
    (upstream_id,) = call_ids(shared_home, "slow", "cancel-me")
    await eventually(lambda: upstream_id in cancelled(shared_home, "slow"))
    await client.call("slow__release")
    await client.settled()
    assert not held.done()


async def test_no_late_reply_from_a_server_that_ignores_the_cancellation(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("slow__deaf",))
    id_, held = await blocked(client, shared_home, "deaf-one", "deaf")
    await client.cancel(id_)
    (upstream_id,) = call_ids(shared_home, "slow", "deaf-one")
    await eventually(lambda: upstream_id in cancelled(shared_home, "slow"))
    await client.call("slow__release")  # now the server answers the cancelled call
    await client.call("slow__fast")
    assert not held.done()


async def test_cancelling_what_is_unknown_or_done_says_nothing(connect: Connect) -> None:
    client = await connect()
    answer = await client.call("fx__text", {"text": "x"})
    before = len(client.lines)
    await client.cancel(answer.frame["id"])
    await client.cancel("never-asked")
    await client.notify("notifications/cancelled", {})
    await client.settled()
    assert len(client.lines) == before + 1


async def test_ids_come_back_with_their_type(connect: Connect) -> None:
    client = await connect()
    for id_ in ("7", 7, "", 0, -3, "ü\n", 2**53 + 1):
        params = {"name": "fx__text", "arguments": {"text": "x"}}
        answer = await client.request("tools/call", params, id_=id_)
        assert answer.frame["id"] == id_
        assert type(answer.frame["id"]) is type(id_)


async def test_an_id_is_free_again_when_its_request_is_over(connect: Connect, shared_home: Home) -> None:
    """Twice at once it would leave a call that can be neither cancelled nor counted."""
    client = await connect()
    _, held = await client.begin("tools/call", b'{"name":"slow__block","arguments":{"key":"of-twice"}}', id_=900)
    await eventually(lambda: call_ids(shared_home, "slow", "of-twice"))
    before = len(client.lines)
    await client.send(b'{"jsonrpc":"2.0","id":900,"method":"ping"}')
    await client.until(lambda: len(client.lines) > before)
    refusal = json.loads(client.lines[before])
    assert (refusal["id"], refusal["error"]["code"]) == (900, -32600)
    assert "still open" in refusal["error"]["message"]
    frame = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":900}}'
    before = len(client.lines)
    await client.send(frame + b'\n{"jsonrpc":"2.0","id":900,"method":"ping"}')
    await client.until(lambda: len(client.lines) > before)
    assert json.loads(client.lines[before])["result"] == {}
    (upstream_id,) = call_ids(shared_home, "slow", "of-twice")
    await eventually(lambda: upstream_id in cancelled(shared_home, "slow"))
    assert held.done()  # by the refusal, which bears its id


async def test_two_clients_with_the_same_ids(connect: Connect, shared_home: Home) -> None:
    """Both count from 1; each gets its own answers, and cancels only its own call."""
    first, second = await connect(), await connect()
    params = b'{"name":"slow__block","arguments":{"key":"%s"}}'
    _, held_first = await first.begin("tools/call", params % b"of-first", id_=500)
    _, held_second = await second.begin("tools/call", params % b"of-second", id_=500)
    await eventually(lambda: call_ids(shared_home, "slow", "of-first") and call_ids(shared_home, "slow", "of-second"))
    await first.cancel(500)
    (upstream_id,) = call_ids(shared_home, "slow", "of-first")
    await eventually(lambda: upstream_id in cancelled(shared_home, "slow"))
    await first.call("slow__release")
    assert (await held_second).text == "released of-second"
    assert not held_first.done()


async def test_progress_comes_in_order_and_before_the_answer(connect: Connect) -> None:
    client = await connect(ready=("progress__steps",))
    answer = await client.call("progress__steps", {"count": 20}, _meta={"progressToken": "tok"})
    steps = [params for method, params in client.notifications if method == "notifications/progress"]
    assert [step["progress"] for step in steps] == list(range(1, 21))
    assert {step["progressToken"] for step in steps} == {"tok"}
    assert steps[0]["message"] == "step 1"
    assert client.lines[-1] == answer.line


async def test_progress_arrives_while_the_call_is_open(connect: Connect) -> None:
    client = await connect(ready=("progress__gated",))
    _, held = await client.begin_call("progress__gated", {}, _meta={"progressToken": 77})
    assert (await client.notification("notifications/progress"))["progressToken"] == 77
    assert not held.done()
    await client.call("progress__go")
    assert (await held).text == "gone"


async def test_no_progress_without_a_token(connect: Connect) -> None:
    client = await connect(ready=("progress__steps",))
    await client.call("progress__steps", {"count": 3})
    assert client.notifications == []


async def test_foreign_meta_travels_and_the_envelope_does_not(connect: Connect) -> None:
    client = await connect(None)
    answer = await client.call("fx__params", {"a": 1}, _meta={"vendor/key": {"n": 1.5}})
    seen = json.loads(answer.text)
    assert seen["_meta"]["vendor/key"] == {"n": 1.5}
    assert not [key for key in seen["_meta"] if key.startswith("io.modelcontextprotocol/")]


async def test_at_the_end_of_input_a_call_in_flight_is_answered(connect: Connect, shared_home: Home) -> None:
    """A piped one-shot use: everything is written, then the input ends."""
    client, other = await connect(ready=("slow__block",)), await connect()
    _, held = await blocked(client, shared_home, "at-eof")
    client.close_input()
    await other.call("slow__release")
    assert (await held).text == "released at-eof"
    assert await client.wait() == 0


async def test_term_drains_as_well(connect: Connect, shared_home: Home) -> None:
    client, other = await connect(ready=("slow__block",)), await connect()
    _, held = await blocked(client, shared_home, "at-term")
    client.process.terminate()
    await other.call("slow__release")
    assert (await held).text == "released at-term"
    assert await client.wait() in (0, -signal.SIGTERM)


async def test_nothing_but_results_after_the_end_of_input(connect: Connect, shared_home: Home) -> None:
    """A frame after the client has gone breaks some clients: no errors, no notifications."""
    client = await connect(ready=("slow__block",))
    id_, _ = await blocked(client, shared_home, "gone")
    before = len(client.lines)
    client.close_input()
    client.process.terminate()
    await client.wait()
    frames = [json.loads(line) for line in client.lines[before:]]
    assert all("result" in frame and frame["id"] == id_ for frame in frames)


async def test_a_killed_client_cancels_its_calls(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("slow__block",))
    await blocked(client, shared_home, "killed")
    client.kill()
    (upstream_id,) = call_ids(shared_home, "slow", "killed")
    await eventually(lambda: upstream_id in cancelled(shared_home, "slow"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
async def test_a_private_cluster_ends_with_its_gateway(home: Home, start: Start, number: signal.Signals) -> None:
    """The server ignores TERM and the end of its input, has a child in its group and one outside."""
    home.serve("background", "stubborn")
    client = await start("background__pids", "stubborn__alive")
    outside = json.loads((await client.call("background__pids")).text)[-1]
    assert outside in home.processes()
    os.kill(client.process.pid, number)
    await client.wait()
    await eventually(lambda: not home.processes())
