"""Resources, prompts, completions, log messages; and requests of a server to its client."""

from __future__ import annotations

import json

import pytest

from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.gateway.conftest import Connect


async def uri_of(client: McpClient) -> str:
    """The library's one resource, under the address that the gateway gives it."""
    resources = (await client.request("resources/list")).result["resources"]
    (uri,) = [entry["uri"] for entry in resources if entry["uri"].startswith("library+")]
    return str(uri)


async def test_resources(connect: Connect) -> None:
    client = await connect(ready=("library__touch",))
    uri = await uri_of(client)
    contents = (await client.request("resources/read", {"uri": uri})).result["contents"]
    assert [(entry["uri"], entry["text"]) for entry in contents] == [(uri, "body")]
    templates = (await client.request("resources/templates/list")).result["resourceTemplates"]
    assert "library+res://{id}" in [template["uriTemplate"] for template in templates]
    assert (await client.request("resources/read", {"uri": "res://nowhere/at/all"})).code in (-32002, -32602)


async def test_prompts_and_completion(connect: Connect) -> None:
    client = await connect(ready=("library__touch",))
    prompts = {prompt["name"]: prompt for prompt in (await client.request("prompts/list")).result["prompts"]}
    prompt = prompts["library__greet"]
    got = await client.request("prompts/get", {"name": prompt["name"], "arguments": {"who": "bob"}})
    assert got.result["messages"][0]["content"]["text"] == "hi bob"
    ref = {"type": "ref/prompt", "name": prompt["name"]}
    params = {"ref": ref, "argument": {"name": "who", "value": "a"}}
    assert (await client.request("completion/complete", params)).result["completion"]["values"] == ["alice"]
    assert (await client.request("prompts/get", {"name": "library__nothing"})).code == -32602


async def test_a_server_is_blamed_for_its_own_answers(connect: Connect) -> None:
    client = await connect(ready=("library__touch",))
    params = {"name": "library__greet", "arguments": {"who": "nobody"}}
    answer = await client.request("prompts/get", params)
    assert answer.code == -32603
    assert "the server's answer to prompts/get has another shape" in answer.frame["error"]["message"]


async def test_a_subscribed_resource_reports_its_change(connect: Connect) -> None:
    client = await connect(ready=("library__touch",))
    uri = await uri_of(client)
    assert (await client.request("resources/subscribe", {"uri": uri})).result == {}
    await client.call("library__touch")
    assert (await client.notification("notifications/resources/updated"))["uri"] == uri


async def test_who_has_not_subscribed_hears_nothing(connect: Connect) -> None:
    client, other = await connect(ready=("library__touch",)), await connect()
    uri = await uri_of(client)
    await client.request("resources/subscribe", {"uri": uri})
    await client.call("library__touch")
    await client.notification("notifications/resources/updated")
    await other.settled()
    assert "notifications/resources/updated" not in [method for method, _ in other.notifications]


async def test_log_messages_travel(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("library__say",))
    await client.request("logging/setLevel", {"level": "info"})
    await client.call("library__say", {"n": 41})
    params = await client.notification("notifications/message")
    assert (params["level"], params["data"]) == ("warning", {"n": 41})


@pytest.mark.parametrize(
    ("tool", "method", "reply"),
    [
        ("elicit", "elicitation/create", {"action": "accept", "content": {"ok": True}}),
        (
            "sample",
            "sampling/createMessage",
            {"role": "assistant", "content": {"type": "text", "text": "S"}, "model": "m"},
        ),
        ("roots", "roots/list", {"roots": [{"uri": "file:///w", "name": "w"}]}),
    ],
)
async def test_a_dedicated_server_may_ask_its_client(
    connect: Connect, tool: str, method: str, reply: dict[str, object]
) -> None:
    client = await connect(
        capabilities={"elicitation": {"form": {}}, "sampling": {}, "roots": {}}, ready=(f"own__{tool}",)
    )
    client.answers[method] = lambda params: reply
    assert json.loads((await client.call(f"own__{tool}")).text) == reply


async def test_a_shared_server_is_told_that_nobody_can_be_asked(connect: Connect, shared_home: Home) -> None:
    """At once, so that its call does not hang."""
    client = await connect(ready=("asking__elicit",))
    assert json.loads((await client.call("asking__elicit")).text)["code"] == -32601
    assert client.requests == []
    initialize = [e for e in shared_home.recorded("asking", "request") if e["method"] == "initialize"]
    declared = json.loads(initialize[-1]["params"])["capabilities"]
    assert not {"elicitation", "sampling", "roots"} & declared.keys()
