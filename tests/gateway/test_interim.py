"""Requests of a server to its client, as they pass from one era to the other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from actors.upstream.library_messages import ServerMessage, lies_within
from actors.upstream.messages import CallResult
from gateway.eras import askable, failed, finished
from gateway.interim import MAX_PARKED, Open, Parking, for_handshake, for_stateless, interim

URL = {"mode": "url", "message": "go", "url": "https://example.org/x"}
FORM = {"message": "sure?", "requestedSchema": {"type": "object", "properties": {"x": {"default": None}}}}


def handshake(method: str, params: dict[str, Any] | None) -> Any:
    raw = for_handshake(method, None if params is None else json.dumps(params).encode())
    return None if raw is None else json.loads(raw)


def test_a_url_gets_the_id_without_which_clients_refuse_it() -> None:
    made = handshake("elicitation/create", URL)
    assert made.pop("elicitationId")
    assert made == URL
    assert handshake("elicitation/create", {**URL, "elicitationId": "e1"})["elicitationId"] == "e1"


@pytest.mark.parametrize(("method", "params"), [("elicitation/create", FORM), ("roots/list", None)])
def test_everything_else_is_asked_as_it_is(method: str, params: dict[str, Any] | None) -> None:
    assert handshake(method, params) == params


def test_a_question_is_embedded_with_its_mode_and_without_its_id() -> None:
    def embedded(method: str, params: dict[str, Any]) -> Any:
        message = ServerMessage(server="s", method=method, params=json.dumps(params).encode(), number=1)
        return json.loads(json.dumps(for_stateless(message), default=lambda raw: json.loads(bytes(raw))))

    assert embedded("elicitation/create", FORM) == {
        "method": "elicitation/create",
        "params": {**FORM, "mode": "form"},
    }
    assert embedded("elicitation/create", {**URL, "elicitationId": "e"})["params"] == URL
    assert embedded("roots/list", {"_meta": {"a": 1}}) == {"method": "roots/list"}


def test_only_a_result_that_says_so_asks_for_input() -> None:
    assert interim(b'{"resultType":"input_required","requestState":"s"}') is not None
    assert interim(b'{"content":[{"type":"text","text":"\\"input_required\\""}]}') is None
    assert interim(b'{"resultType":"complete","note":"input_required"}') is None


def test_an_empty_elicitation_capability_means_forms() -> None:
    assert json.loads(askable(b'{"elicitation":{},"tasks":{"list":{}},"roots":null}')) == {"elicitation": {"form": {}}}
    assert askable(b'{"tasks":{}}') == askable(b"{}") == askable(b"") == b""


RESULT = b'{"resultType":"complete","contents":[],"ttlMs":9,"cacheScope":"public","x":null,"_meta":%s}'
OWN = b'{"io.modelcontextprotocol/serverInfo":{"name":"s"}}'


def test_a_result_says_what_its_clients_era_wants() -> None:
    assert json.loads(finished(RESULT % OWN, stateless=False)) == {"contents": []}
    assert json.loads(finished(RESULT % b'{"k":1.50}', stateless=False)) == {"contents": [], "_meta": {"k": 1.5}}
    assert json.loads(finished(b'{"contents":[]}', stateless=True, listed=True)) == {
        "resultType": "complete",
        "contents": [],
        "ttlMs": 0,
        "cacheScope": "private",
    }


def test_the_code_of_a_missing_resource_follows_the_era() -> None:
    raw = b'{"code":-32002,"message":"m","data":{"uri":"res://-32002"}}'
    assert failed(raw, False) == raw
    assert json.loads(failed(raw, True)) == {"code": -32602, "message": "m", "data": {"uri": "res://-32002"}}
    other = b'{"code":-32050,"message":"-32002"}'
    assert json.loads(failed(other, True)) == json.loads(other)


async def test_requests_whose_client_never_comes_back_are_bounded() -> None:
    parking = Parking()

    async def never() -> CallResult:
        await asyncio.Event().wait()
        raise AssertionError

    entries = []
    for number in range(MAX_PARKED + 1):
        entry = Open("server", None)
        entry.task = asyncio.create_task(never())
        parking.add(entry)
        entry.questions[number] = ServerMessage(server="server", method="roots/list", number=number)
        parking.park(entry)
        entries.append(entry)
    first, *others = entries
    await asyncio.wait([first.task])
    assert first.task.cancelled() and parking.resume(first.state, "server") is None
    assert all(parking.resume(entry.state, "server") is entry for entry in others)
    parking.close()
    await asyncio.wait([entry.task for entry in others])


@pytest.mark.parametrize(
    ("uri", "followed", "told"),
    [
        ("res://a", "res://a", True),
        ("res://a/b/c", "res://a", True),
        ("res://a/b", "res://a/", True),
        ("res://ab", "res://a", False),
        ("res://a", "res://a/b", False),
        ("res://a" + "/" * 200_000, "res://b", False),
    ],
)
def test_what_lies_within_a_resource_is_told_to_its_followers(uri: str, followed: str, told: bool) -> None:
    assert lies_within(uri, followed) is told
