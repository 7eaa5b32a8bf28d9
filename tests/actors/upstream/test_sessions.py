"""What is said to a client that reads slowly, or not at all."""

from __future__ import annotations

import asyncio
import json

import pytest

from actors.upstream.library_messages import Attend, ServerMessage
from actors.upstream.sessions import MAX_WAITING, ClientSession
from bus.log import Log
from bus.rpc import RpcError
from config.place import Place

NEWS = ServerMessage(server="s", method="notifications/prompts/list_changed")


def session_at(place: Place) -> ClientSession:
    return ClientSession(Attend(session="one"), Log("upstream", place.logs))


async def refusal(session: ClientSession) -> str:
    with pytest.raises(RpcError) as caught:
        async with asyncio.timeout(10):
            await session.ask("s", "roots/list", b"{}")
    return str(json.loads(caught.value.raw)["message"])


async def test_a_question_that_nobody_takes_is_answered_at_once(place: Place) -> None:
    session = session_at(place)
    assert "cannot be reached" in await refusal(session)
    queue = session.attend()
    for _ in range(MAX_WAITING):
        assert session.tell(NEWS)
    assert "cannot be reached" in await refusal(session)
    queue.get_nowait()
    question = session.ask("s", "roots/list", b"{}")
    session.answer(3, b'{"roots":[]}', None)
    assert await question == b'{"roots":[]}'


async def test_of_what_is_dropped_in_a_row_one_is_logged(place: Place) -> None:
    session = session_at(place)
    queue = session.attend()
    for _ in range(MAX_WAITING + 50):
        session.tell(NEWS)
    queue.get_nowait()
    for _ in range(50):
        session.tell(NEWS)
    assert (place.logs / "upstream.log").read_text().count("message_dropped") == 2
