"""The tool-graph provider as the upstream actor meets it: who decides when it does not, and what its answers cost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.upstream import eligibility
from actors.upstream.messages import Catalogue, GetServers, ToolgraphState
from actors.upstream.toolgraph import Answer, ProviderError, code, read
from actors.upstream.toolgraph_kept import KeptAnswers, scope
from bus.log import Log
from config.place import Place
from config.schema_proxy import ToolgraphSettings
from tests.actors.upstream.test_pool import Pool, running
from tests.eventually import eventually
from tests.fixtures.servers.graph import GENERATION
from tests.fixtures.upstreams import recorded


@pytest.fixture
def pool(place: Place) -> Pool:
    return Pool(place)


def configure(pool: Pool, *behaviours: str, **keys: Any) -> None:
    entry = pool.entry("graph")
    provider = {"enabled": True, "command": entry["command"], "args": entry["args"], **keys}
    servers = {name: pool.entry(name) for name in behaviours}
    pool.place.config_file.write_text(json.dumps({"enabled": True, "upstream_servers": servers, "toolgraph": provider}))


def tell(pool: Pool, **files: str) -> None:
    for kind, text in files.items():
        (pool.place.home / f"graph.jsonl.{kind}").write_text(text)


async def graph(pool: Pool) -> ToolgraphState:
    found = (await pool.bus.ask(GetServers(), timeout=10)).toolgraph
    assert found is not None
    return found


async def catalogue_when(pool: Pool, state: str) -> Catalogue:
    """The catalogue once the provider is in that state, or fails the test."""
    found: Catalogue | None = None
    while found is None or found.toolgraph is None or found.toolgraph.state != state:
        found = await pool.bus.ask(GetServers(), timeout=10)
    return found


@pytest.mark.parametrize(
    "mode, knobs, state, shown",
    [
        ("text", {}, "ready", True),
        ("no_generation", {}, "protocol_error", False),
        ("bad_rows", {}, "protocol_error", False),
        ("error", {}, "protocol_error", False),
        ("no_json", {"on_protocol_error": "open"}, "protocol_error", True),
        ("unknown_agent", {}, "agent_not_found", False),
        ("unknown_agent", {"on_agent_not_found": "open"}, "agent_not_found", True),
        ("crash", {}, "unreachable", True),
        ("crash_at_start", {"on_unreachable": "closed"}, "unreachable", False),
        ("silent", {"timeout_seconds": 0.3}, "unreachable", True),
        ("silent", {"timeout_seconds": 0.3, "on_unreachable": "fail_start"}, "unreachable", False),
        ("crash", {"command": "/no/such/provider"}, "unreachable", True),
        ("text", {"source": "bundle", "bundle_path": "/x"}, "protocol_error", False),
    ],
)
async def test_who_decides_without_a_verdict(
    pool: Pool, mode: str, knobs: dict[str, Any], state: str, shown: bool
) -> None:
    tell(pool, mode=mode)
    configure(pool, "echo", **knobs)
    async with running(pool):
        await pool.until()
        catalogue = await catalogue_when(pool, state)
        assert catalogue.toolgraph is not None
        assert catalogue.toolgraph.withholds_all is not shown
        if shown:
            await pool.until("echo__text")
        else:
            while {tool.reason for tool in catalogue.withheld} != {f"toolgraph_{state}"}:
                catalogue = await pool.bus.ask(GetServers(), timeout=10)
            assert catalogue.tools == ()


async def test_the_last_answer_holds_while_the_provider_is_broken(pool: Pool) -> None:
    """What it judged stays judged; what it has not seen stays out of sight under `fail_start`."""
    tell(pool, rejected=json.dumps({"echo::text": "NOT_GRANTED"}))
    configure(pool, "echo")
    async with running(pool):
        await pool.until("echo__params")
        tell(pool, mode="no_json")
        configure(pool, "echo", "slow")
        catalogue = await catalogue_when(pool, "protocol_error")
        expected = {("echo", "toolgraph_not_granted"), ("slow", "toolgraph_protocol_error")}
        while {(tool.server, tool.reason) for tool in catalogue.withheld} != expected:
            catalogue = await pool.bus.ask(GetServers(), timeout=10)
        assert (await graph(pool)).graph_generation == GENERATION


async def test_a_provider_that_recovers_is_heard_again(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eligibility, "RETRY_SECONDS", 0.1)
    tell(pool, mode="crash_at_start")
    configure(pool, "echo", on_unreachable="closed")
    async with running(pool):
        await catalogue_when(pool, "unreachable")
        tell(pool, mode="structured")
        await pool.until("echo__text")
        assert (await graph(pool)).state == "ready"


async def test_a_tool_that_it_does_not_know_follows_its_own_knob(pool: Pool) -> None:
    tell(pool, rejected=json.dumps({"echo::text": "TOOL_NOT_FOUND"}))
    configure(pool, "echo")
    async with running(pool):
        await pool.until("echo__text")
        configure(pool, "echo", on_tool_not_found="closed")
        catalogue = await pool.until(absent="echo__text")
        assert [tool.reason for tool in catalogue.withheld] == ["toolgraph_tool_not_found"]
        assert len(recorded(pool.place.home / "graph.jsonl", "start")) == 1


async def test_it_can_be_switched_off_and_on_while_it_runs(pool: Pool) -> None:
    tell(pool, rejected=json.dumps({"echo::text": "NOT_GRANTED"}))
    configure(pool, "echo")
    async with running(pool):
        await pool.until("echo__params", absent="echo__text")
        pid = (await graph(pool)).pid
        configure(pool, "echo", enabled=False)
        await pool.until("echo__text")
        assert (await pool.bus.ask(GetServers(), timeout=10)).toolgraph is None
        record = pool.place.home / "graph.jsonl"
        await eventually(lambda: any(entry["pid"] == pid for entry in recorded(record, "eof")))
        configure(pool, "echo", agent_id="another")
        await pool.until("echo__params", absent="echo__text")


@pytest.mark.parametrize(
    "reason, expected",
    [
        ("NOT_GRANTED", "toolgraph_not_granted"),
        ("Deny: violation!", "toolgraph_deny_violation"),
        ("", "toolgraph_rejected"),
        ("거부", "toolgraph_rejected"),
        ("x" * 500, f"toolgraph_{'x' * 40}"),
    ],
)
def test_reasons_become_codes(reason: str, expected: str) -> None:
    assert code(reason) == expected


@pytest.mark.parametrize(
    "result",
    [
        b"[]",
        b'{"content":null}',
        b'{"content":[{"type":"image"}]}',
        b'{"content":[],"structuredContent":{"agent_found":1,"graph_generation":1,"rejected":[]}}',
        b'{"content":[],"structuredContent":{"agent_found":true,"graph_generation":1}}',
        b'{"content":[],"structuredContent":{"agent_found":true,"graph_generation":1e99,"rejected":[]}}',
        b'{"content":[],"structuredContent":{"agent_found":true,"graph_generation":99999999999999999999,"rejected":[]}}',
    ],
)
def test_malformed_answers_are_refused(result: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        read(result, ["a::b"], "me")
    assert caught.value.kind == "protocol_error"


async def test_kept_answers_are_bounded_and_survive_a_broken_file(place: Place) -> None:
    path = place.state / "toolgraph.json"
    kept = KeptAnswers(path, Log("test", None))
    path.write_bytes(b"{half")
    await kept.open()
    keys = [scope(ToolgraphSettings(agent_id=f"agent{number}")) for number in range(5)]
    for number, key in enumerate(keys):
        await kept.put(key, Answer(number, frozenset({"a::b"}), {}), 3)
    again = KeptAnswers(path, Log("test", None))
    await again.open()
    assert [again.find(key) is not None for key in keys] == [False, False, True, True, True]
    assert path.stat().st_mode & 0o777 == 0o600
