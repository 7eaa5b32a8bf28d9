"""A JSON-RPC peer over a child's stdio, against real children."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from bus.child import environment
from bus.errors import DeadlineExceeded, PeerUnavailable
from bus.rpc import NotSent, RpcError, TooLarge
from bus.rpc_peer import RpcPeer
from config.place import Place
from tests.eventually import eventually
from tests.fixtures.upstreams import argv, recorded


async def connect(behaviour: str, place: Place, **options: Any) -> RpcPeer:
    command = argv(behaviour, record=place.home / "record", name=behaviour)
    return await RpcPeer.spawn(command, env=environment(), name=behaviour, group_dir=place.groups, **options)


@pytest.fixture
async def echo(place: Place) -> AsyncIterator[RpcPeer]:
    peer = await connect("echo", place)
    yield peer
    await peer.close()


def call(tool: str, arguments: str = "{}") -> bytes:
    return f'{{"name":"{tool}","arguments":{arguments}}}'.encode()


async def test_results_are_the_bytes_that_came(echo: RpcPeer) -> None:
    arguments = '{"id":9007199254740993,"x":1.10,"e":1E400,"neg":-0.0}'
    result = await echo.request("tools/call", call("echo", arguments), timeout=10)
    assert arguments.encode() in result


async def test_many_requests_are_in_flight_at_once(place: Place) -> None:
    peer = await connect("slow", place)
    slow = asyncio.ensure_future(peer.request("tools/call", call("block"), timeout=90))
    fast = await asyncio.gather(
        *(peer.request("tools/call", call("fast", f'{{"n":{n}}}'), timeout=20) for n in range(20))
    )
    assert [f"fast {n}".encode() in answer for n, answer in enumerate(fast)] == [True] * 20
    assert not slow.done()
    await peer.request("tools/call", call("release"), timeout=20)
    assert b"released" in await slow
    await peer.close()


async def test_a_cancelled_request_is_cancelled_at_the_peer_under_its_own_id(place: Place) -> None:
    peer = await connect("slow", place)
    task = asyncio.ensure_future(peer.request("tools/call", call("block"), timeout=90))
    record = place.home / "record"
    await eventually(lambda: [e for e in recorded(record, "request") if e["method"] == "tools/call"])
    task.cancel()
    await eventually(lambda: recorded(record, "cancelled"))
    [asked] = [e for e in recorded(record, "request") if e["method"] == "tools/call"]
    [cancelled] = recorded(record, "cancelled")
    assert cancelled["id"] == asked["id"] != 0
    await peer.close()


async def test_errors_keep_the_peers_own_object(echo: RpcPeer) -> None:
    with pytest.raises(RpcError) as caught:
        await echo.request("no/such", b"{}", timeout=10)
    assert b"-32601" in caught.value.raw


async def test_silence_ends_at_the_deadline(place: Place) -> None:
    peer = await connect("hung", place)
    with pytest.raises(DeadlineExceeded, match="hung did not answer initialize"):
        await peer.request("initialize", b"{}", timeout=0.2)
    await peer.close()


async def test_what_is_in_flight_fails_when_the_child_goes(place: Place) -> None:
    peer = await connect("dying", place)
    with pytest.raises(PeerUnavailable, match="went away"):
        await peer.request("tools/call", call("die"), timeout=20)
    assert peer.closed.is_set()
    with pytest.raises(PeerUnavailable, match="closed"):
        await peer.request("ping", None, timeout=1)
    await peer.close()


async def test_a_torn_answer_fails_its_call_only_by_the_end(place: Place) -> None:
    peer = await connect("dying", place)
    with pytest.raises(PeerUnavailable):
        await peer.request("tools/call", call("die_halfway"), timeout=20)
    await peer.close()


async def test_an_answer_over_the_limit_fails_its_call_and_no_other(place: Place) -> None:
    peer = await connect("flooding", place, max_line=1_000_000)
    flood = asyncio.ensure_future(peer.request("tools/call", call("flood", '{"bytes":5000000}'), timeout=60))
    with pytest.raises(TooLarge, match="over the limit of 1000000 bytes"):
        await flood
    assert b"alive" in await peer.request("tools/call", call("alive"), timeout=20)
    assert peer.junk_lines == 0
    await peer.close()


async def test_an_answer_over_the_limit_is_told_from_what_its_result_is_about(place: Place) -> None:
    peer = await connect("flooding", place, max_line=1_000_000)
    other, waiting = peer.start("no/answer/expected", None)
    waiting.add_done_callback(lambda done: done.exception())
    arguments = f'{{"bytes":5000000,"decoy":{other + 2}}}'  # the id of the request after the next
    flood = asyncio.ensure_future(peer.request("tools/call", call("backwards", arguments), timeout=60))
    await asyncio.sleep(0)
    alive = asyncio.ensure_future(peer.request("tools/call", call("alive"), timeout=60))
    with pytest.raises(TooLarge):
        await flood
    assert b"alive" in await alive
    await peer.close()


async def test_a_child_that_stops_reading_is_heard_to_its_end(place: Place) -> None:
    peer = await connect("deaf", place, on_request=lambda _method, _params: b"{}")
    assert b'"deaf"' in await peer.request("tools/call", call("deafen"), timeout=20)
    await eventually(peer.closed.is_set)
    assert peer.end_text() == "it closed its input"
    with pytest.raises(NotSent):
        await peer.request("ping", None, timeout=1)
    await peer.close()


async def test_cancelling_tells_its_own_reason_also_where_nobody_reads(place: Place) -> None:
    peer = await connect("deaf", place)
    asked = asyncio.ensure_future(peer.request("tools/call", call("deafen", '{"silently":true}'), timeout=20))
    await eventually(lambda: peer.deaf)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await peer.close()


async def test_noise_is_counted_and_does_not_disturb(place: Place) -> None:
    heard: list[int] = []
    peer = await connect("dirty", place, on_stderr=lambda data: heard.append(len(data)))
    assert b"clean" in await peer.request("tools/call", call("noisy"), timeout=30)
    await eventually(lambda: peer.stderr_bytes >= 5_000_000)
    assert sum(heard) == peer.stderr_bytes
    assert peer.junk_lines >= 6
    assert peer.junk_sample == "Starting server v1.0 …"
    await peer.close()
