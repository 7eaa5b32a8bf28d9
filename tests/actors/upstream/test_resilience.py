"""What a failing, silent, unhealthy or changed server costs, with real servers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import shlex
import signal
import weakref
from typing import Any

import pytest

from actors.telemetry.messages import FaultEvent
from actors.upstream import actor as upstream_actor
from actors.upstream import catalogue as catalogue_keeper
from actors.upstream import tool_health
from actors.upstream.actor import UpstreamActor
from actors.upstream.conversation import Conversation
from actors.upstream.handshake import open_session
from actors.upstream.messages import (
    Catalogue,
    GetServers,
    ServerState,
    UpstreamDied,
    UpstreamResting,
    UpstreamTimeout,
    WatchCatalogue,
)
from actors.upstream.pulse import Pulse
from actors.upstream.relisting import DEBOUNCE_SECONDS, Relisting
from actors.upstream.sessions import Sessions
from bus.child import environment
from bus.rpc_peer import RpcPeer
from bus.tasks import end
from tests.actors.surfacer.conftest import Recorder
from tests.actors.upstream.test_pool import Pool, pool, running  # noqa: F401
from tests.eventually import eventually
from tests.fixtures.upstreams import argv, recorded

MISSING = "no-such-command-here"


async def until(pool: Pool, server: str, **wanted: Any) -> ServerState:  # noqa: F811
    """The state of a server once it is as wanted."""
    async with asyncio.timeout(20):
        while True:
            state = await pool.state(server)
            if all(getattr(state, key) == value for key, value in wanted.items()):
                return state
            await asyncio.sleep(0.01)


async def until_withheld(pool: Pool, tool: str) -> Catalogue:  # noqa: F811
    async with asyncio.timeout(20):
        async for catalogue in pool.bus.watch(WatchCatalogue()):
            if any(one.tool == tool for one in catalogue.withheld):
                return catalogue
    raise AssertionError("the catalogue's stream ended")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_server_that_answers_nothing_is_left_alone_for_a_while(pool: Pool) -> None:  # noqa: F811
    slow = pool.entry("slow", call_timeout_seconds=0.2, circuit_max_failures=2, circuit_reset_seconds=1)
    pool.configure("echo", slow=slow)
    telemetry = Recorder(pool.place)
    await telemetry.start()
    async with running(pool):
        await pool.until("slow__block", "echo__text")
        for _ in range(2):
            with pytest.raises(UpstreamTimeout):
                await pool.call("slow", "block")
        with pytest.raises(UpstreamResting, match=r"^upstream slow is resting after 2 failures, next try in 1 s$"):
            await pool.call("slow", "fast")
        state = await pool.state("slow")
        assert (state.state, state.breaker, state.failures) == ("ready", "open", 2)
        assert 0 < state.next_try_seconds <= 1
        assert await pool.text("echo", "text", {"text": "others go on"}) == "others go on"
        await eventually(lambda: telemetry.received)
        [fault] = telemetry.received
        assert isinstance(fault, FaultEvent)
        assert (fault.component, fault.what) == ("upstream:slow", "breaker_open")
        await until(pool, "slow", breaker="half_open")
        with pytest.raises(UpstreamTimeout):
            await pool.call("slow", "block")
        assert (await pool.state("slow")).breaker == "open"
        await until(pool, "slow", breaker="half_open")
        assert await pool.text("slow", "fast", {"n": 1}) == "fast 1"
        state = await pool.state("slow")
        assert (state.breaker, state.failures, state.next_try_seconds) == ("closed", 0, 0)
    await telemetry.stop(drain=0.1)


async def test_one_call_at_a_time_tries_a_server_that_has_rested(pool: Pool) -> None:  # noqa: F811
    slow = pool.entry("slow", call_timeout_seconds=0.2, circuit_max_failures=1, circuit_reset_seconds=0.3)
    pool.configure(slow=slow)
    async with running(pool):
        await pool.until("slow__block")
        with pytest.raises(UpstreamTimeout):
            await pool.call("slow", "block")
        pool.configure(slow=slow | {"call_timeout_seconds": 20})
        await until(pool, "slow", breaker="half_open")
        probe = asyncio.create_task(pool.call("slow", "block", {"key": "k"}))
        await until(pool, "slow", in_flight=1)
        with pytest.raises(UpstreamResting, match="one call is trying it now"):
            await pool.call("slow", "fast")
        probe.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await probe
        await until(pool, "slow", in_flight=0)
        assert await pool.text("slow", "fast", {"n": 2}) == "fast 2"


async def test_errors_of_the_server_itself_are_answers(pool: Pool) -> None:  # noqa: F811
    pool.configure(failing=pool.entry("failing", circuit_max_failures=1))
    async with running(pool):
        await pool.until("failing__rpc")
        for _ in range(3):
            assert (await pool.call("failing", "rpc")).error is not None
            assert await pool.text("failing", "plain") == "it failed"
        assert (await pool.state("failing")).breaker == "closed"


async def test_zero_switches_the_breaker_off(pool: Pool) -> None:  # noqa: F811
    pool.configure(slow=pool.entry("slow", call_timeout_seconds=0.05, circuit_max_failures=0))
    async with running(pool):
        await pool.until("slow__block")
        for _ in range(5):
            with pytest.raises(UpstreamTimeout):
                await pool.call("slow", "block")
        assert (await pool.state("slow")).breaker == "closed"


async def test_a_caller_without_patience_proves_nothing(pool: Pool) -> None:  # noqa: F811
    pool.configure(slow=pool.entry("slow", circuit_max_failures=1))
    async with running(pool):
        await pool.until("slow__block")
        with pytest.raises(UpstreamTimeout):
            await pool.call("slow", "block", timeout=0.5)
        assert (await pool.state("slow")).failures == 0


async def test_an_idle_server_that_answers_no_ping_is_started_anew(pool: Pool) -> None:  # noqa: F811
    pool.configure(echo=pool.entry("echo", connect_timeout_seconds=1.5))
    async with running(pool):
        await pool.until("echo__text")
        before = await until(pool, "echo", state="ready")
        os.kill(before.pid, signal.SIGSTOP)
        await eventually(lambda: not is_running(before.pid))
        after = await until(pool, "echo", state="ready")
        assert after.pid != before.pid
        assert await pool.text("echo", "text", {"text": "again"}) == "again"


async def test_a_server_that_does_not_know_pings_is_not_asked_for_ever(pool: Pool) -> None:  # noqa: F811
    pulse = Pulse()
    verdicts: list[str] = []
    async with running(pool) as actor:
        link = Sessions(actor.log)
        for _ in range(3):
            peer = await RpcPeer.spawn(argv("mute"), env=environment({}), name="mute", group_dir=pool.place.groups)
            talk = Conversation("mute", peer, await open_session(peer, 10, probe=False), link, lambda: None)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(10 if len(verdicts) < 2 else 0.5):
                    await pulse.watch(talk, 0.1)
            verdicts.append(pulse.verdict)
            await peer.close()
    assert verdicts == ["it did not answer a ping within 0.1 s"] * 2 + [""]


async def test_a_tool_that_only_fails_is_withheld_and_comes_back(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tool_health, "FIRST_PROBE_SECONDS", 1.0)
    monkeypatch.setattr(upstream_actor, "PROBE_SECONDS", 0.05)
    pool.configure(dying=pool.entry("dying", circuit_max_failures=0, reconnect_delay_seconds=0))
    async with running(pool):
        await pool.until("dying__die", "dying__alive")
        for _ in range(5):
            with pytest.raises(UpstreamDied):
                await pool.call("dying", "die")
        catalogue = await until_withheld(pool, "die")
        [withheld] = catalogue.withheld
        assert (withheld.tool, withheld.reason) == ("die", "unhealthy")
        assert withheld.detail.startswith("5 of 5 calls failed in 24 h; it comes back by itself")
        assert "dying__alive" in {tool.name for tool in catalogue.tools}
        await pool.until("dying__die")


async def test_a_changed_connection_takes_over_when_it_works(pool: Pool) -> None:  # noqa: F811
    pool.configure("slow")
    async with running(pool):
        await pool.until("slow__block")
        before = await until(pool, "slow", state="ready")
        held = asyncio.create_task(pool.call("slow", "block"))
        await until(pool, "slow", in_flight=1)
        pool.configure(slow=pool.entry("slow", env={"NEW": "1"}))
        async with asyncio.timeout(20):
            while (after := await pool.state("slow")).pid == before.pid:
                assert after.state == "ready"  # at no time is there none
                await asyncio.sleep(0.01)
        assert after.replacement == ""
        assert await pool.text("slow", "fast", {"n": 3}) == "fast 3"
        assert is_running(before.pid)  # a call is still under way there
        assert not held.done()
        held.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await held
        await eventually(lambda: not is_running(before.pid))


async def test_a_changed_connection_that_fails_leaves_the_old_one_in_place_and_is_shown(pool: Pool) -> None:  # noqa: F811
    pool.configure("echo")
    async with running(pool):
        await pool.until("echo__text")
        before = await until(pool, "echo", state="ready")
        pool.configure(echo=pool.entry("echo") | {"command": MISSING})
        state = await until(pool, "echo", replacement="failed")
        assert (state.state, state.pid, state.error) == ("ready", before.pid, "")
        assert f"command not found: {MISSING}" in state.replacement_error
        assert await pool.text("echo", "text", {"text": "the old one"}) == "the old one"
        pool.configure("echo")
        state = await until(pool, "echo", replacement="")
        assert (state.pid, state.replacement_error) == (before.pid, "")
        pool.configure(echo=pool.entry("echo") | {"command": MISSING})
        await until(pool, "echo", replacement="failed")
        pool.configure(echo=pool.entry("echo", env={"NEW": "1"}))
        async with asyncio.timeout(20):
            while (await pool.state("echo")).pid in (before.pid, 0):
                await asyncio.sleep(0.01)
        await eventually(lambda: not is_running(before.pid))


async def test_a_server_that_does_not_work_is_replaced_at_once(pool: Pool) -> None:  # noqa: F811
    pool.configure(echo={"prefix": "echo", "command": MISSING})
    async with running(pool):
        await until(pool, "echo", state="failed")
        pool.configure("echo")
        await pool.until("echo__text")
        assert (await until(pool, "echo", state="ready")).replacement == ""


async def test_a_server_that_stops_reading_is_started_anew(pool: Pool) -> None:  # noqa: F811
    pool.configure("deaf")
    async with running(pool):
        await pool.until("deaf__alive")
        first = await pool.text("deaf", "alive")
        assert await pool.text("deaf", "deafen") == "deaf"
        assert await pool.text("deaf", "alive") != first


async def test_a_write_is_not_repeated_because_its_cancellation_could_not_be_told(pool: Pool) -> None:  # noqa: F811
    pool.configure("deaf")
    async with running(pool):
        await pool.until("deaf__alive")
        with pytest.raises(UpstreamDied, match="may have taken effect"):
            await pool.call("deaf", "deafen", {"silently": True})
        asked = recorded(pool.place.home / "deaf.jsonl", "request")
        assert sum(entry["method"] == "tools/call" for entry in asked) == 1


async def test_a_server_that_announces_changes_for_ever_goes_on_serving(pool: Pool) -> None:  # noqa: F811
    pool.configure("restless")
    async with running(pool):
        await pool.until("restless__alive")

        def listed() -> int:
            asked = recorded(pool.place.home / "restless.jsonl", "request")
            return sum(entry["method"] == "tools/list" for entry in asked)

        await eventually(lambda: listed() >= 4)
        assert await pool.text("restless", "alive") == "alive"


async def test_announcements_about_nothing_are_followed_less_and_less() -> None:
    loop = asyncio.get_running_loop()
    looks: list[float] = []
    at_work = 0

    async def look() -> bool:
        nonlocal at_work
        at_work += 1
        assert at_work == 1, "one at a time"
        looks.append(loop.time())
        relisting.soon()
        await asyncio.sleep(0)
        at_work -= 1
        return False

    relisting = Relisting(look)
    relisting.soon()
    await eventually(lambda: len(looks) >= 5)
    await end(relisting.stop())
    waits = [later - earlier for earlier, later in itertools.pairwise(looks)]
    assert all(wait > 0.95 * DEBOUNCE_SECONDS * 2 ** (number + 1) for number, wait in enumerate(waits[:4]))


async def test_tools_of_a_server_that_stays_away_are_withheld_until_it_is_back(
    pool: Pool,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when it is tried again and again meanwhile."""
    monkeypatch.setattr(catalogue_keeper, "GONE_AFTER_SECONDS", 0.5)
    gone = pool.place.home / "gone"
    entry = pool.entry("dying", reconnect_delay_seconds=0.05, max_reconnect_delay_seconds=0.05)
    line = shlex.join([entry["command"], *entry["args"]])
    entry |= {"command": "/bin/sh", "args": ["-c", f"test -e {shlex.quote(str(gone))} && exit 1; exec {line}"]}
    pool.configure(dying=entry)
    async with running(pool):
        await pool.until("dying__alive")
        gone.touch()
        with pytest.raises(UpstreamDied):
            await pool.call("dying", "die")
        found = await pool.until(absent="dying__")
        assert {tool.reason for tool in found.withheld} == {"disconnected"}
        gone.unlink()
        await pool.until("dying__alive")


async def test_nothing_of_a_catalogue_outlives_its_actor(pool: Pool) -> None:  # noqa: F811
    pool.configure(missing={"prefix": "missing", "command": "/nonexistent/server"})
    async with running(pool) as actor:
        await pool.bus.ask(GetServers(), timeout=10)
        keeper = weakref.ref(actor._pool.catalogue)
    del actor
    gc.collect()
    assert keeper() is None


async def test_no_log_and_no_error_quotes_a_servers_credentials(pool: Pool) -> None:  # noqa: F811
    secrets = {"API_KEY": "hunter2hunter2", "ACCOUNT": "somebody"}
    pool.configure(leaky=pool.entry("leaky", env=secrets))
    log = pool.place.logs / "upstream.log"
    actor = UpstreamActor(pool.place)
    actor.reopen_log()
    await actor.start()
    try:
        state = await until(pool, "leaky", state="failed")
        assert state.error == "the key [masked] of somebody is not valid, nor is [masked]"
        await eventually(lambda: log.exists() and "upstream_stderr" in log.read_text())
    finally:
        pool.bus.close()
        await actor.stop(drain=0.1)
    assert "hunter2" not in log.read_text() and "ghp_" not in log.read_text()
