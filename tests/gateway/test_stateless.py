"""The stateless era (2026-07-28): no handshake, an envelope in each request, subscriptions instead of pushes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.mcp_client import envelope
from tests.fixtures.vectors import case, rows
from tests.gateway.conftest import Connect

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


async def test_discover(connect: Connect) -> None:
    client = await connect(None)
    result = (await client.stateless("server/discover")).result
    assert "2026-07-28" in result["supportedVersions"]
    assert result["capabilities"]["tools"]
    assert result["resultType"] == "complete"


async def test_a_call_needs_nothing_before_it(connect: Connect) -> None:
    client = await connect(None)
    answer = await client.call("fx__echo", b'{"n":1.10}')
    assert answer.raw("result", "structuredContent") == b'{"n":1.10}'
    assert answer.result["resultType"] == "complete"


@pytest.mark.parametrize("row", rows("envelope"), ids=case)
async def test_envelopes(connect: Connect, row: dict[str, Any]) -> None:
    client = await connect(None)
    answer = await client.request("tools/list", {"_meta": row["meta"]})
    if "error" not in row:
        assert answer.result["tools"]
        return
    assert answer.code == row["error"]
    if "data" in row:
        assert answer.error["data"]["requested"] == row["data"]["requested"]
        assert "2026-07-28" in answer.error["data"]["supported"]


async def test_a_bad_first_line_does_not_decide_the_era(connect: Connect) -> None:
    """Requests of both eras, in any order, on one pipe."""
    client = await connect(None)
    await client.request("tools/list", {"_meta": envelope("2099-01-01")})
    assert (await client.stateless("tools/list")).result["resultType"] == "complete"
    assert (await client.handshake()).result["protocolVersion"] == "2025-11-25"
    assert "resultType" not in (await client.request("tools/list")).result
    assert (await client.stateless("tools/list")).result["resultType"] == "complete"


@pytest.mark.parametrize("method", ["ping", "logging/setLevel", "resources/subscribe", "foo/bar"])
async def test_methods_that_this_era_does_not_have(connect: Connect, method: str) -> None:
    client = await connect(None)
    assert (await client.stateless(method, {"level": "info", "uri": "res://a"})).code == -32601


async def test_a_subscription_is_acknowledged_and_stays_open(connect: Connect) -> None:
    client = await connect(None)
    wanted = {"toolsListChanged": True}
    id_, answer = await client.begin(
        "subscriptions/listen", {"notifications": wanted, "_meta": envelope()}, id_="listen:0"
    )
    acknowledged = await client.notification("notifications/subscriptions/acknowledged")
    assert acknowledged["_meta"][SUBSCRIPTION] == "listen:0"
    assert acknowledged["notifications"] == wanted
    await client.cancel(id_)
    await client.stateless("tools/list")
    assert not answer.done()


async def test_a_subscription_without_its_filter_is_refused(connect: Connect) -> None:
    client = await connect(None)
    assert (await client.stateless("subscriptions/listen")).code == -32602


async def test_input_required_passes_through_a_stateless_upstream(connect: Connect) -> None:
    client = await connect(None, ready=("stateless__elicit",))
    able: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    first = (await client.call("stateless__elicit", {"a": 1}, _meta=able)).result
    assert first["resultType"] == "input_required"
    request = first["inputRequests"]["q"]
    assert (request["method"], request["params"]["message"]) == ("elicitation/create", "sure?")
    given = {"action": "accept", "content": {"ok": True}}
    again = {"inputResponses": {"q": given}, "requestState": first["requestState"]}
    answer = await client.call("stateless__elicit", {"a": 1}, _meta=able, **again)
    assert json.loads(answer.text) == given


async def test_a_client_that_cannot_be_asked_is_not(connect: Connect) -> None:
    client = await connect(None, ready=("stateless__elicit",))
    assert (await client.call("stateless__elicit", {"a": 3})).code == -32021


async def test_a_handshake_client_is_asked_instead(connect: Connect) -> None:
    """The same upstream in front of a client of the other era: the question comes as a request."""
    client = await connect(capabilities={"elicitation": {"form": {}}, "roots": {}}, ready=("stateless__elicit",))
    client.answers["elicitation/create"] = lambda params: {"action": "accept", "content": {"ok": True}}
    client.answers["roots/list"] = lambda params: {"roots": [{"uri": "file:///x", "name": "x"}]}
    answer = await client.call("stateless__elicit", {"a": 2})
    assert json.loads(answer.text) == {"action": "accept", "content": {"ok": True}}
    assert "resultType" not in answer.result
    answer = await client.call("stateless__roots")
    assert json.loads(answer.text)["roots"][0]["uri"] == "file:///x"


async def test_results_of_a_stateless_upstream_fit_a_handshake_client(connect: Connect) -> None:
    client = await connect(ready=("stateless__echo",))
    answer = await client.call("stateless__echo", b'{"z":1.0,"a":2}')
    assert answer.raw("result", "structuredContent") == b'{"z":1.0,"a":2}'
    assert not {"resultType", "ttlMs", "cacheScope"} & answer.result.keys()
    listed = (await client.call("stateless__list_content")).result
    assert "structuredContent" not in listed  # a list is none to the clients of that era
