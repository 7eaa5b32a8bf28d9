"""Events of HTTP responses: their order, their ids, and the bounds of what is kept."""

from __future__ import annotations

import asyncio
import json

import pytest

from bus import jsonrpc
from gateway.http_exchange import BACKLOG, MAX_KEPT, Client
from gateway.http_outlet import MAX_WAITING, Outlet, Shelf


async def read(outlet: Outlet, after: int | None = None, *, primed: bool = False) -> list[str]:
    """All of a finished outlet, one event each."""
    return [event.decode().strip() async for event in outlet.events(after, primed=primed)]


def finished(name: str, *frames: bytes) -> Outlet:
    outlet = Outlet(name)
    for frame in frames:
        outlet.put(frame)
    outlet.end(b'{"last":true}\n')
    return outlet


async def test_events_have_ids_and_can_be_had_again() -> None:
    outlet = finished("7", b"{}", b"[]")
    whole = await read(outlet, primed=True)
    assert whole == [
        "id: 7-0\nretry: 1000\ndata:",
        "id: 7-1\nevent: message\ndata: {}",
        "id: 7-2\nevent: message\ndata: []",
        'id: 7-3\nevent: message\ndata: {"last":true}',
    ]
    assert await read(outlet) == []
    assert await read(outlet, 0) == whole[1:]
    assert await read(outlet, 2) == whole[3:]
    assert (outlet.has_more(2), outlet.has_more(3), outlet.has_more(99)) == (True, False, False)


async def test_without_a_name_nothing_is_kept() -> None:
    outlet = finished("", b"{}")
    assert await read(outlet) == ["event: message\ndata: {}", 'event: message\ndata: {"last":true}']
    assert outlet.size == 0


async def test_nothing_in_a_frame_ends_its_line() -> None:
    """Some readers of event streams split at these, too."""
    whole = await read(finished("1", '{"a":"\u2028\u2029\x85é"}'.encode()))
    assert whole[0].endswith('data: {"a":"\\u2028\\u2029\\u0085é"}')
    assert all(len(event.splitlines()) == 3 for event in whole)


async def test_of_too_many_events_the_oldest_go() -> None:
    outlet = finished("1", *(b"%d" % number for number in range(MAX_WAITING + 5)))
    kept = await read(outlet, 0)
    assert len(kept) == MAX_WAITING
    assert kept[0].endswith("data: 6")
    assert kept[-1].startswith(f"id: 1-{MAX_WAITING + 6}\n")


async def test_whoever_comes_back_too_late_is_told_how_much_is_lost() -> None:
    level = ""
    client = Client(Shelf(), lambda: level)
    outlet = client.expect(b"1", b'"t"')
    assert outlet is not None
    for _ in range(MAX_WAITING + 5):
        client.send(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}\n')
    client.send(jsonrpc.result(b"1", b"{}"))
    client.finish(b"1", b'"t"')
    found = await read(outlet, 2)
    assert len(found) == MAX_WAITING + 1
    number, _, frame = found[0].partition("\nevent: message\ndata: ")
    assert json.loads(frame)["method"] == "notifications/message"
    assert json.loads(frame)["params"]["data"].startswith("4 messages have been dropped")
    # By its id the client can come back, and is not told again.
    after = int(number.removeprefix("id: 1-"))
    assert await read(outlet, after) == found[1:]
    level = "error"
    assert await read(outlet, 2) == found[1:]


@pytest.mark.parametrize("after", [None, 0])
async def test_lists_that_may_have_changed_meanwhile_are_told_anew(after: int | None) -> None:
    client = Client(Shelf())
    client.send(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n')
    for _ in range(BACKLOG):
        client.send(b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n')
    client.close()
    said = [json.loads(event.rpartition("data: ")[2]) for event in await read(client.standing, after)]
    assert len(said) == 4 + BACKLOG
    assert said[0]["params"]["data"].startswith("1 message has been dropped")
    lists = [f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")]
    assert [frame["method"] for frame in said[1:4]] == lists


async def test_a_new_reader_takes_the_place_of_an_older_one() -> None:
    outlet = Outlet("1")
    outlet.put(b"1")
    older = outlet.events()
    assert b"data: 1" in await anext(older)
    waiting = asyncio.ensure_future(anext(older, None))
    newer = outlet.events()
    outlet.put(b"2")
    assert b"data: 2" in await anext(newer)
    assert await waiting is None


async def test_a_shelf_is_bounded_by_bytes() -> None:
    shelf = Shelf(max_bytes=100)
    forgotten: list[str] = []

    def forget(outlet: Outlet) -> None:
        forgotten.append(outlet.name)
        shelf.take(outlet)

    for name in "abc":
        shelf.put(finished(name, b"x" * 30), forget)
    assert forgotten == ["a"]
    shelf.put(finished("d", b"x" * 500), forget)
    assert forgotten == ["a", "b", "c", "d"]


async def test_a_client_has_a_bounded_past() -> None:
    client = Client(Shelf())
    for number in range(MAX_KEPT + 1):
        id_ = b"%d" % number
        outlet = client.expect(id_, b"")
        assert outlet is not None
        assert client.expect(id_, b"") is None
        client.leave(outlet)  # its connection breaks
        client.send(jsonrpc.result(id_, b"{}"))
        client.finish(id_, b"")
    assert client.find("1-0") is None
    assert all(client.find(f"{number}-0") for number in range(2, MAX_KEPT + 2))
    assert not client.busy
    client.close()
    assert client.find("2-0") is None


async def test_a_question_goes_where_somebody_reads() -> None:
    client = Client(Shelf())
    first, second = client.expect(b"1", b""), client.expect(b"2", b'"t"')
    assert first is not None
    assert second is not None
    client.leave(second)
    client.send(b'{"jsonrpc":"2.0","id":"q","method":"roots/list"}\n')
    client.send(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}\n')
    client.finish(b"1", b"")
    client.finish(b"2", b'"t"')
    assert "roots/list" in (await read(first))[0]
    assert "progress" in (await read(second))[0]


async def test_an_event_that_was_never_sent_cannot_be_followed() -> None:
    client = Client(Shelf())
    client.standing.put(b'{"jsonrpc":"2.0","method":"notifications/message"}\n')
    assert client.find("0-1") == (client.standing, 1)
    assert client.find("0-2") is None
