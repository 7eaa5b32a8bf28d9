"""The connection to a memory server: what is sent, what is learnt, how it comes back."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import uvicorn

from actors.surfacer.embedded.index import Index
from actors.surfacer.embedded.server import Memories, build_server
from actors.surfacer.ltm import Ltm
from actors.surfacer.ltm_link import connector
from bus.errors import PeerUnavailable
from config.place import Place
from config.schema_surfacing import SurfacingSettings
from tests.eventually import eventually
from tests.fixtures.scripted_ltm import ScriptedLtm
from tests.fixtures.upstreams import argv


def settings_of(ltm: ScriptedLtm) -> SurfacingSettings:
    return SurfacingSettings(ltm_mcp_command=sys.executable, ltm_mcp_args=tuple(ltm.settings["ltm_mcp_args"]))


@asynccontextmanager
async def connected(place: Place, settings: SurfacingSettings, *, waits: bool = True) -> AsyncIterator[Ltm]:
    kind, connect = connector(
        settings, memories=place.home / "memories", index=place.state / "i.db", group_dir=place.groups
    )
    ltm = Ltm(connect, kind)
    task = asyncio.create_task(ltm.run())
    try:
        if waits:
            await ltm.wait_ready(20)
            assert ltm.state == "ready", ltm.error
        yield ltm
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_only_advertised_parameters_are_sent(place: Place, ltm: ScriptedLtm) -> None:
    ltm.tell(tools={"mem_search": ["query", "top_k"]})
    async with connected(place, settings_of(ltm)) as link:
        await link.search("auth tokens", timeout=5, namespace="x", context_window=2, rerank=True, session_context=True)
    assert ltm.calls("mem_search") == [{"query": "auth tokens", "top_k": 20}]
    assert ltm.calls("mem_do") == []


async def test_everything_advertised_is_sent(place: Place, ltm: ScriptedLtm) -> None:
    async with connected(place, settings_of(ltm)) as link:
        await link.search("auth", timeout=5, namespace="x", context_window=2, rerank=False, style="compact")
    assert ltm.calls("mem_search") == [
        {
            "query": "auth",
            "top_k": 20,
            "namespace": "x",
            "context_window": 2,
            "rerank": False,
            "output_format": "compact",
        }
    ]


async def test_compact_answers_serve_as_well(place: Place, ltm: ScriptedLtm) -> None:
    ltm.remember(auth="Refresh tokens rotate.")
    async with connected(place, settings_of(ltm)) as link:
        found = await link.search("auth", timeout=5, style="compact")
    assert [(m.text, m.source, m.hierarchy) for m in found.memories] == [("Refresh tokens rotate.", "auth.md", "Auth")]


async def test_working_memory_joins_the_candidates(place: Place, ltm: ScriptedLtm) -> None:
    ltm.tell(scratch="Working memory: 1 entries\n  goal: move the login to OAuth")
    async with connected(place, settings_of(ltm)) as link:
        found = await link.search("login", timeout=5, session_context=True)
        assert [m.text for m in found.memories] == ["goal: move the login to OAuth"]
        assert (await link.search("login", timeout=5)).memories == ()


async def test_a_server_without_working_memory_is_asked_once(place: Place, ltm: ScriptedLtm) -> None:
    async with connected(place, settings_of(ltm)) as link:
        for _ in range(3):
            await link.search("login", timeout=5, session_context=True)
    assert [call["action"] for call in ltm.calls("mem_do")] == ["version", "scratch_get"]


async def test_working_memory_that_hangs_does_not_cost_the_search(place: Place, ltm: ScriptedLtm) -> None:
    ltm.remember(auth="Refresh tokens rotate.")
    async with connected(place, settings_of(ltm)) as link:
        ltm.tell(behaviour="hang_do")
        for _ in range(5):
            found = await link.search("auth", timeout=20, session_context=True)
            assert [m.text for m in found.memories] == ["Refresh tokens rotate."]
    assert [call["action"] for call in ltm.calls("mem_do")] == ["version", *["scratch_get"] * 3], (
        "then it is left alone"
    )


async def test_abilities_and_version_are_learnt(place: Place, ltm: ScriptedLtm) -> None:
    profile = {"search": {"effective_mode": "bm25_only"}}
    ltm.tell(version={"version": "0.6.12", "capabilities": {"runtime_profile": profile}})
    async with connected(place, settings_of(ltm)) as link:
        assert (link.abilities.version, link.abilities.mode) == ("0.6.12", "bm25_only")


async def test_a_server_without_mem_search_is_no_ltm(place: Place, ltm: ScriptedLtm) -> None:
    ltm.tell(tools={"other": []})
    async with connected(place, settings_of(ltm), waits=False) as link:
        await eventually(lambda: link.state == "down")
        assert "mem_search" in link.error
        with pytest.raises(PeerUnavailable, match="mem_search"):
            await link.search("x", timeout=1)
        ltm.tell(tools={"mem_search": ["query"]})
        await link.wait_ready(20)
        assert link.state == "ready"


async def test_a_missing_command_is_named(place: Place) -> None:
    settings = SurfacingSettings(ltm_mcp_command="/nonexistent/memory-server")
    async with connected(place, settings, waits=False) as link:
        await eventually(lambda: link.state == "down")
        assert link.error.startswith("cannot start memory-server: ")


@pytest.mark.parametrize("url", ["http://[::1", "ltm.example"])
async def test_an_address_that_is_none_is_told_and_costs_nothing_else(place: Place, url: str) -> None:
    settings = SurfacingSettings(ltm_mcp_transport="streamable_http", ltm_mcp_url=url)
    async with connected(place, settings, waits=False) as link:
        await eventually(lambda: link.state == "down")
        assert link.error == "surfacing.ltm_mcp_url is no address; write it as https://HOST/PATH"


async def test_an_ltm_that_gives_up_says_why(place: Place) -> None:
    why = "print('noise', file=sys.stderr); sys.exit('no index at \x1b[31m/home/ltm password=hunter2hunter2')"
    settings = SurfacingSettings(ltm_mcp_command=sys.executable, ltm_mcp_args=("-c", f"import sys; {why}"))
    async with connected(place, settings, waits=False) as link:
        await eventually(lambda: link.state == "down")
        assert "gave up: it exited with code 1: no index at" in link.error
        assert link.error.isprintable()
        assert "hunter2" not in link.error


def test_the_embedded_server_serves_only_when_nothing_else_is_meant(place: Place, tmp_path: Path) -> None:
    def kind(settings: SurfacingSettings, path: str) -> str:
        return connector(settings, memories=place.home, index=place.home / "i", group_dir=None, env={"PATH": path})[0]

    assert kind(SurfacingSettings(), str(tmp_path)) == "embedded"
    assert kind(SurfacingSettings(ltm_mcp_command="my-memory"), str(tmp_path)) == "my-memory"
    remote = SurfacingSettings(ltm_mcp_transport="sse", ltm_mcp_url="https://u:p@ltm.example/mcp")
    assert kind(remote, str(tmp_path)) == "ltm.example"
    installed = tmp_path / "memtomem-server"
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    assert kind(SurfacingSettings(), str(tmp_path)) == "memtomem-server"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    """The embedded server behind Streamable HTTP, in a thread with a loop of its own."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "auth.md").write_text("Refresh tokens rotate.")
    memories = Memories(tmp_path / "notes", Index(tmp_path / "notes", tmp_path / "index.db"))
    app = build_server(memories, anyio.CapacityLimiter(1)).streamable_http_app()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        server.should_exit = True
        thread.join()


async def test_a_remote_service(place: Place, service: str) -> None:
    settings = SurfacingSettings(
        ltm_mcp_transport="streamable_http", ltm_mcp_url=service, ltm_mcp_headers={"X-Team": "a"}
    )
    async with connected(place, settings) as link:
        assert link.kind == "127.0.0.1"
        assert link.abilities.name == "memtomem-bus-embedded"
        found = await link.search("rotating tokens", timeout=5)
        assert [m.text for m in found.memories] == ["Refresh tokens rotate."]


async def test_a_remote_service_that_is_away_is_down(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        settings = SurfacingSettings(ltm_mcp_transport="streamable_http", ltm_mcp_url=url)
        async with connected(place, settings, waits=False) as link:
            await eventually(lambda: link.state == "down")
            assert "ltm_mcp_url" in link.error


async def test_a_memory_server_of_the_stateless_era_only(place: Place) -> None:
    command, *arguments = argv("memory", record=place.home / "memory.jsonl")
    settings = SurfacingSettings(ltm_mcp_command=command, ltm_mcp_args=tuple(arguments))
    async with connected(place, settings) as link:
        found = await link.search("how long do tokens live", timeout=5)
        assert [memory.text for memory in found.memories] == ["Tokens live for an hour."]
        assert link.abilities.name == "stateless-fixture"


async def test_what_a_server_says_that_refuses_both_eras(place: Place) -> None:
    command, *arguments = argv("refusing")
    settings = SurfacingSettings(ltm_mcp_command=command, ltm_mcp_args=tuple(arguments))
    async with connected(place, settings, waits=False) as link:
        await eventually(lambda: link.state == "down")
        assert "this server is being moved" in link.error
