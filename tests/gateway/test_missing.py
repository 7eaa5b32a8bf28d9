"""Calls of tools that are not there: whose they would be, why they are not shown, and what to do."""

from __future__ import annotations

import shlex

import pytest

from actors.upstream.messages import ServerState, Withheld
from gateway.missing import MAX_CHARS, Missing, explain, shown, suggestion
from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.gateway.conftest import Connect, Start

UNKNOWN = -32602


@pytest.mark.parametrize(
    "tool, told",
    [
        ("missing__x", ("upstream missing is down", "no-such-program", "`mms health`")),
        ("schemas__dangling", ("dangling of upstream schemas", "invalid_schema", "#/$defs/missing")),
        ("schemas__needs_task", ("needs_task of upstream schemas", "task_required")),
    ],
)
async def test_a_tool_of_a_known_server_says_what_is_with_it(
    connect: Connect, tool: str, told: tuple[str, ...]
) -> None:
    client = await connect(ready=("schemas__plain",))
    answer = await client.call(tool)
    assert answer.result["isError"] is True
    assert [part for part in told if part not in answer.text] == []


async def test_an_unknown_tool_is_a_protocol_error_with_a_suggestion(connect: Connect) -> None:
    client = await connect()
    for name, meant in (("fx__ecko", "fx__echo"), ("mcp__memtomem-stm__fx__text", "fx__text")):
        answer = await client.call(name)
        assert answer.code == UNKNOWN
        assert f"did you mean {meant}? tools/list shows" in answer.error["message"]
    assert "did you mean" not in (await client.call("quite_different")).error["message"]


async def test_disabled_hidden_and_excluded_tools(connect: Connect) -> None:
    client = await connect(ready=("covered__echo", "twin__other"))
    assert "upstream off is disabled; `mms enable off`" in (await client.call("off__fast")).text
    assert "config_hidden" in (await client.call("covered__text")).text
    assert "profile_excluded" in (await client.call("covered__length")).text
    assert "duplicate_name" in (await client.call("twin__same")).text


def why(name: str, servers: list[ServerState], *withheld: Withheld) -> str:
    found = explain(name, servers, withheld)
    assert found is not None
    return found.why


async def test_a_call_waits_for_a_server_that_is_still_starting(home: Home, start: Start) -> None:
    late = home.upstream("echo", "late")
    command = shlex.join([late["command"], *late["args"]])
    home.configure(
        {
            "late": {**late, "command": "sh", "args": ["-c", f"sleep 2; exec {command}"]},
            "never": home.upstream("hung", "never", connect_timeout_seconds=1),
        }
    )
    client = await start()
    answer = await client.call("late__text", {"text": "here"})
    assert (answer.result.get("isError", False), answer.text) == (False, "here")
    assert "upstream never is" in (await client.call("never__tool")).text


async def test_it_is_found_among_what_failed(connect: Connect, shared_home: Home) -> None:
    client = await connect()
    await client.call("missing__to_be_found", {"path": "x"})
    await eventually(
        lambda: [line for line in journal(shared_home) if b"to_be_found" in line and b'"unavailable"' in line]
    )


def journal(home: Home) -> list[bytes]:
    """The record of events so far."""
    return [line for path in (home.path / "bus").rglob("events-*.jsonl") for line in path.read_bytes().splitlines()]


def test_the_longest_prefix_owns_a_name() -> None:
    servers = [
        ServerState(name="a", prefix="x", state="failed", error="broken"),
        ServerState(name="b", prefix="x_a", state="starting"),
        ServerState(name="c", prefix="y", state="ready"),
    ]
    assert "upstream b is still starting" in why("x_a__tool", servers)
    assert "upstream a is down (broken)" in why("x__a__tool", servers)
    assert explain("x__a__tool", servers, ()) == Missing("a", "a__tool", why("x__a__tool", servers))
    assert explain("y__tool", servers, ()) is None


def test_what_is_repeated_is_short_and_harmless() -> None:
    assert shown("a\x1b[31m\nb") == "a\\x1b[31m\\nb"
    assert len(shown("x" * 10_000)) == MAX_CHARS + 1
    assert suggestion("anything", []) == ""
    withheld = Withheld(server="s", tool="t\n", reason="unhealthy", detail="5 of 5 failed")
    assert "\n" not in why("p__t\n", [ServerState(name="s", prefix="p", state="ready")], withheld)
    twice = ServerState(name="s", prefix="p", state="failed", error="upstream s: no such program")
    assert why("p__t", [twice]).count("upstream s") == 1
