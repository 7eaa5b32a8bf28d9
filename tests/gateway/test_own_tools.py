"""What our own tools cost a client: tokens of every `tools/list`."""

from __future__ import annotations

from actors.upstream.exposure import OWN_TOOLS
from gateway.tool_definitions import OPTIONAL
from tests.bench.tokens import own_tools, tokens
from tests.fixtures.home import Home
from tests.gateway.conftest import Connect

OWN = {
    "stm_proxy_select_chunks",
    "stm_proxy_read_more",
    "stm_proxy_describe_tool",
    "stm_surfacing_feedback",
    "stm_compression_feedback",
}
MOST_TOKENS = 700


async def test_the_five_tools_cost_seven_hundred_tokens_at_most(connect: Connect) -> None:
    client = await connect()
    answer = await client.request("tools/list")
    own = [position for position, tool in enumerate(answer.result["tools"]) if tool["name"].startswith("stm_")]
    assert {answer.result["tools"][position]["name"] for position in own} == OWN
    sent = b"[" + b",".join(answer.raw("result", "tools", position) for position in own) + b"]"
    assert sent == own_tools()
    assert tokens(sent) <= MOST_TOKENS


def test_no_server_may_take_their_names() -> None:
    assert OWN | set(OPTIONAL) == OWN_TOOLS


async def test_descriptions_are_the_servers_own_words(connect: Connect) -> None:
    """No prefix, no hint, no advertisement is put into them."""
    tools = await (await connect(ready=("described__wordy",))).tools()
    assert tools["described__titled"]["description"] == "titled of the fixture"
    assert tools["fx__text"]["description"] == "Answers its text."


async def test_a_tool_that_needs_the_catalogue_waits_for_it(home: Home) -> None:
    """The first thing that a client asks may be about a tool that it knows from earlier."""
    home.serve("echo")
    before = await home.gateway("--private")
    await before.handshake()
    await before.tools_with("echo__text")
    await before.close()
    client = await home.gateway("--private")
    await client.handshake()
    about = await client.call("stm_proxy_describe_tool", {"name": "echo__text"})
    assert "Answers its text." in about.text
    report = {"server": "echo", "tool": "text", "missing": "line 400"}
    assert "Recorded" in (await client.call("stm_compression_feedback", report)).text
    await client.close()
