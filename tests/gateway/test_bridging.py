"""Clients and servers of different eras: what each gets of the other's resources, questions and news.

`library`, `own` (dedicated) and `asking` are servers of the handshake era, `shelf` and `stateless` of the other one.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fixtures.mcp_client import Answer, McpClient, envelope
from tests.gateway.conftest import Connect

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
REPLIES: dict[str, dict[str, Any]] = {
    "elicit": {"action": "accept", "content": {"ok": True}},
    "sample": {"role": "assistant", "content": {"type": "text", "text": "S"}, "model": "m"},
    "roots": {"roots": [{"uri": "file:///w", "name": "w"}]},
}
METHODS = {"elicit": "elicitation/create", "sample": "sampling/createMessage", "roots": "roots/list"}
CAPABLE: dict[str, object] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


async def asked(client: McpClient, method: str, params: dict[str, Any] | None = None, **meta: Any) -> Answer:
    """A request in the client's era."""
    params = params or {}
    return await client.request(method, {**params, "_meta": envelope(**meta)} if client.modern else params)


async def uri_of(client: McpClient, server: str) -> str:
    resources = (await asked(client, "resources/list")).result["resources"]
    return next(str(entry["uri"]) for entry in resources if entry["uri"].startswith(server))


@pytest.mark.parametrize("server", ["library", "shelf"])
@pytest.mark.parametrize("version", ["2025-11-25", None])
async def test_a_library_is_the_same_in_both_eras(connect: Connect, version: str | None, server: str) -> None:
    client = await connect(version, ready=(f"{server}__{'touch' if server == 'library' else 'change'}",))
    uri = await uri_of(client, server)
    assert uri == f"{server}+res://a"
    contents = (await asked(client, "resources/read", {"uri": uri})).result["contents"]
    assert [(entry["uri"], entry["text"]) for entry in contents] == [(uri, "body")]
    templates = (await asked(client, "resources/templates/list")).result["resourceTemplates"]
    assert f"{server}+res://{{id}}" in [template["uriTemplate"] for template in templates]
    prompts = [prompt["name"] for prompt in (await asked(client, "prompts/list")).result["prompts"]]
    assert f"{server}__greet" in prompts
    got = await asked(client, "prompts/get", {"name": f"{server}__greet", "arguments": {"who": "there"}})
    assert got.result["messages"][0]["content"]["text"] == "hi there"
    prompt = {"type": "ref/prompt", "name": f"{server}__greet"}
    for ref in (prompt, {"type": "ref/resource", "uri": f"{server}+res://{{id}}"}):
        argument = {"name": "who", "value": "a"}
        completed = await asked(client, "completion/complete", {"ref": ref, "argument": argument})
        assert completed.result["completion"]["values"] == ["alice"]
    assert (await asked(client, "prompts/get", {"name": f"{server}__nothing"})).code == -32602
    nowhere = await asked(client, "resources/read", {"uri": "nowhere://at/all"})
    assert nowhere.code == (-32602 if client.modern else -32002)


@pytest.mark.parametrize(("server", "tool"), [("library", "touch"), ("shelf", "change")])
async def test_changes_of_a_resource_reach_a_subscription_of_either_era(
    connect: Connect, server: str, tool: str
) -> None:
    old, new = await connect(ready=(f"{server}__{tool}",)), await connect(None)
    uri = await uri_of(old, server)
    assert (await old.request("resources/subscribe", {"uri": uri})).result == {}
    wanted = {"notifications": {"resourceSubscriptions": [uri, "nowhere://at/all"]}, "_meta": envelope()}
    listen, _ = await new.begin("subscriptions/listen", wanted, id_=22)
    acknowledged = await new.notification("notifications/subscriptions/acknowledged")
    assert acknowledged["notifications"] == {"resourceSubscriptions": [uri]}
    await old.call(f"{server}__{tool}")
    assert await old.notification("notifications/resources/updated") == {"uri": uri}
    updated = await new.notification("notifications/resources/updated")
    assert updated == {"_meta": {SUBSCRIPTION: 22}, "uri": uri}
    await new.cancel(listen)
    await new.tools()  # what was sent before it has been looked at
    assert (await old.request("resources/unsubscribe", {"uri": uri})).result == {}
    before = len(old.notifications), len(new.notifications)
    await old.call(f"{server}__{tool}")
    await new.call(f"{server}__{tool}")
    assert (len(old.notifications), len(new.notifications)) == before


async def test_a_resource_may_be_named_as_its_server_names_it(connect: Connect) -> None:
    """Tools mention resources in their results, which pass unchanged. Two servers have `res://a`, so it is neither."""
    client = await connect(ready=("library__touch", "shelf__change"))
    assert (await client.request("resources/read", {"uri": "res://a"})).code == -32002
    uri = await uri_of(client, "shelf")
    assert (await client.request("resources/read", {"uri": uri.upper().replace("RES://A", "res://a")})).result


@pytest.mark.parametrize("tool", list(REPLIES))
async def test_a_stateless_client_answers_a_server_that_asks_while_it_works(connect: Connect, tool: str) -> None:
    client = await connect(None, ready=(f"own__{tool}",))
    meta = envelope(capabilities=CAPABLE)
    first = (await client.call(f"own__{tool}", {"a": 1}, _meta=meta)).result
    assert first["resultType"] == "input_required"
    [(key, request)] = first["inputRequests"].items()
    assert request["method"] == METHODS[tool]
    assert tool != "elicit" or request["params"]["mode"] == "form"
    again = {"inputResponses": {key: REPLIES[tool]}, "requestState": first["requestState"], "_meta": meta}
    answer = await client.call(f"own__{tool}", {"a": 1}, **again)
    assert json.loads(answer.text) == REPLIES[tool]
    stale = await client.call(f"own__{tool}", {"a": 1}, **again)
    assert (stale.code, stale.error["data"]) == (-32602, {"reason": "invalid_request_state"})


async def test_what_the_client_leaves_out_is_asked_again(connect: Connect) -> None:
    client = await connect(None, ready=("own__elicit",))
    meta = envelope(capabilities=CAPABLE)
    first = (await client.call("own__elicit", _meta=meta)).result
    second = (await client.call("own__elicit", requestState=first["requestState"], _meta=meta)).result
    assert second["inputRequests"] == first["inputRequests"]
    assert second["requestState"] != first["requestState"]


async def test_a_client_that_cannot_be_asked_is_not(connect: Connect) -> None:
    for version in ("2025-11-25", None):
        client = await connect(version, ready=("own__elicit",))
        assert json.loads((await client.call("own__elicit")).text)["code"] == -32601
        assert client.requests == []


async def test_a_question_that_is_refused_is_refused_at_the_server(connect: Connect) -> None:
    client = await connect(capabilities=CAPABLE, ready=("own__elicit",))
    assert json.loads((await client.call("own__elicit")).text)["code"] == -32601
    assert [request["method"] for request in client.requests] == ["elicitation/create"]


async def test_reading_a_resource_may_need_input(connect: Connect) -> None:
    old = await connect(capabilities={"roots": {}}, ready=("shelf__change",))
    old.answers["roots/list"] = lambda params: REPLIES["roots"]
    contents = (await old.request("resources/read", {"uri": "shelf+res://ask"})).result["contents"]
    assert json.loads(contents[0]["text"]) == {"q": REPLIES["roots"]}
    new = await connect(None)
    first = (await asked(new, "resources/read", {"uri": "shelf+res://ask"})).result
    assert first["inputRequests"] == {"q": {"method": "roots/list"}}
    again = {"uri": "shelf+res://ask", "inputResponses": {"q": REPLIES["roots"]}, "requestState": "read"}
    assert (await asked(new, "resources/read", again)).result["contents"][0]["uri"] == "shelf+res://ask"


async def test_log_messages_of_a_stateless_server(connect: Connect) -> None:
    """It logs for calls that ask for it: with `logging/setLevel` in one era, with each request in the other."""
    old, new = await connect(ready=("shelf__say",)), await connect(None)
    await old.request("logging/setLevel", {"level": "notice"})
    await old.call("shelf__say")
    assert (await old.notification("notifications/message"))["data"] == {"asked": "notice"}
    await new.call("shelf__say")
    assert new.notifications == []
    await new.call("shelf__say", _meta={"io.modelcontextprotocol/logLevel": "error"})
    assert (await new.notification("notifications/message"))["level"] == "error"
    await old.settled()
    assert len(old.notifications) == 1
    bad = {"io.modelcontextprotocol/logLevel": "loud"}
    assert (await new.call("shelf__say", _meta=bad)).code == -32602
    assert (await old.request("logging/setLevel", {"level": "loud"})).code == -32602


async def test_notifications_of_wrong_shapes_stop_nothing(connect: Connect) -> None:
    client = await connect(ready=("library__rave",))
    uri = await uri_of(client, "library")
    await client.request("resources/subscribe", {"uri": uri})
    await client.call("library__rave")
    before = len(client.notifications)
    await client.call("library__touch")
    assert (await client.notification("notifications/resources/updated", after=before))["uri"] == uri


async def test_nothing_is_pushed_to_a_stateless_client_that_has_not_subscribed(connect: Connect) -> None:
    new, old = await connect(None, ready=("changing__add",)), await connect()
    await asked(new, "prompts/list")
    await old.tools()
    await old.call("changing__add", {"name": "passing"})
    await old.notification("notifications/tools/list_changed")
    await new.tools_with("changing__passing")
    assert new.notifications == []
    after = len(old.notifications)
    await old.tools()
    await old.call("changing__drop", {"name": "passing"})
    await old.notification("notifications/tools/list_changed", after=after)
