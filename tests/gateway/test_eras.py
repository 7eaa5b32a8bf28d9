"""Servers that speak both eras: which one is spoken with them, and what that makes possible."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gateway.eras import LISTED, finished
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import PATIENCE_SECONDS, envelope
from tests.gateway.conftest import Connect

ELICITATION = {"elicitation": {}}
VERSIONS = ["2025-11-25", None]
"""Of the client; `None` is the stateless era."""


def agree(params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": {"ok": True}}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("server", ["both", "both_shared"])
async def test_a_server_of_a_clients_own_is_spoken_to_in_the_clients_era(
    connect: Connect, version: str | None, server: str
) -> None:
    client = await connect(version, capabilities=ELICITATION, ready=(f"{server}__era",))
    client.answers["elicitation/create"] = agree
    own = server == "both" and version is not None
    assert (await client.call(f"{server}__era")).text == ("handshake" if own else "stateless")
    asked = await client.call(f"{server}__elicit")
    if own:
        assert '"ok":true' in asked.text
    else:
        assert asked.code == -32600
        assert (b"mms set both_shared session=dedicated" in asked.line) == (server == "both_shared")


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_server_of_one_era_is_spoken_to_in_that(connect: Connect, version: str | None) -> None:
    client = await connect(version, capabilities=ELICITATION, ready=("own_stateless__echo", "own__elicit"))
    client.answers["elicitation/create"] = agree
    for tool in ("own_stateless__elicit", "own__elicit"):
        answer = await client.call(tool, _meta=envelope(capabilities=ELICITATION) if version is None else {})
        if version is not None:
            assert "true" in answer.text, tool
        else:
            assert answer.result["resultType"] == "input_required", tool


async def test_a_question_that_nobody_understands_is_said_to_be(connect: Connect) -> None:
    client = await connect(capabilities=ELICITATION, ready=("own_stateless__ask_oddly",))
    answer = await client.call("own_stateless__ask_oddly")
    assert answer.result["isError"] is True
    assert "asked for input in a way that cannot be understood" in answer.text


async def test_what_a_client_can_be_asked_counts_whatever_it_does_first(connect: Connect, shared_home: Home) -> None:
    """The server is started for a subscription, before any call."""
    client = await connect(capabilities=ELICITATION, ready=("both__era",))
    client.answers["elicitation/create"] = agree
    await client.request("resources/list")
    before = len(shared_home.recorded("both", "start"))
    assert (await client.request("resources/subscribe", {"uri": "both+res://a"})).result == {}
    assert '"ok":true' in (await client.call("both__elicit")).text
    assert len(shared_home.recorded("both", "start")) == before + 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("method", "params"),
    [("resources/read", {"uri": "deliberate+res://a"}), ("prompts/get", {"name": "deliberate__greet"})],
)
async def test_progress_and_cancellation_of_what_is_no_call(
    connect: Connect, version: str | None, method: str, params: dict[str, str]
) -> None:
    client = await connect(version, ready=("deliberate__go",))
    meta = {**(envelope() if version is None else {}), "progressToken": "t"}
    _, waiting = await client.begin(method, {**params, "_meta": meta})
    told = await client.notification("notifications/progress")
    assert told == {"progressToken": "t", "progress": 1, "total": 2}
    assert (await client.call("deliberate__go")).text == "1"
    assert {"contents", "messages"} & set((await waiting).result)

    before = len(client.notifications)
    number, cancelled = await client.begin(method, {**params, "_meta": meta})
    await client.notification("notifications/progress", after=before)
    await client.cancel(number)
    assert (await client.call("deliberate__go")).text == "0"
    assert not cancelled.done()

    silent = {**params, **({"_meta": envelope()} if version is None else {})}
    before = len(client.notifications)
    _, waiting = await client.begin(method, silent)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await client.call("deliberate__go")).text == "0":
            await asyncio.sleep(0.01)
        await waiting
    assert client.notifications[before:] == []


async def test_a_server_hears_of_its_clients_progress(connect: Connect, shared_home: Home) -> None:
    """Each under the token that it has chosen itself, whatever others have."""
    client = await connect(capabilities={"roots": {}}, ready=("own__patient", "own2__patient"))

    def report(params: dict[str, Any]) -> dict[str, Any]:
        assert params["_meta"]["vendor/k"] == 1
        assert client.process.stdin is not None
        told = {"progressToken": params["_meta"]["progressToken"], "progress": len(client.requests), "total": 2.50}
        frame = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
        client.process.stdin.write(json.dumps(frame).encode() + b"\n")
        return {"roots": []}

    client.answers["roots/list"] = report
    _, one = await client.begin_call("own__patient")
    _, two = await client.begin_call("own2__patient")
    assert "roots" in (await one).text
    assert "roots" in (await two).text
    tokens = {request["params"]["_meta"]["progressToken"] for request in client.requests}
    assert len(tokens) == 2
    for name in ("own", "own2"):
        found = [entry for entry in shared_home.recorded(name, "notification") if "progress" in entry["method"]]
        (told,) = [json.loads(entry["params"]) for entry in found]
        assert (told["progressToken"], told["total"]) == ("how-far", 2.5)
    await client.notify("notifications/progress", {"progressToken": next(iter(tokens)), "progress": 9})
    await client.notify("notifications/progress", {"progressToken": "nobody's", "progress": 9})
    await client.settled()


@pytest.mark.parametrize(
    ("said", "hints"),
    [
        (b'"ttlMs":5000,"cacheScope":"public"', {"ttlMs": 5000, "cacheScope": "public"}),
        (b'"ttlMs":-1,"cacheScope":"public"', LISTED),
        (b'"ttlMs":1.5,"cacheScope":"public"', LISTED),
        (b'"ttlMs":5000,"cacheScope":"everybody"', LISTED),
        (b'"ttlMs":null,"cacheScope":null', LISTED),
        (b'"ttlMs":5000', LISTED),
    ],
)
def test_a_resource_may_be_kept_as_its_server_says(said: bytes, hints: dict[str, Any]) -> None:
    raw = b'{"contents":[],"resultType":"complete",' + said + b"}"
    assert json.loads(finished(raw, stateless=True, listed=True)) == {"resultType": "complete", "contents": [], **hints}
    assert json.loads(finished(raw, stateless=False, listed=True)) == {"contents": []}
