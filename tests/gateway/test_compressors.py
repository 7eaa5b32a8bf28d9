"""Several compressors behind one gateway, and a model that summarises, as a client meets them."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from actors.compressor.messages import GetRecallStats, RecallStats
from bus.client import Bus
from bus.endpoint import Runtime
from bus.lock import owner_of
from bus.status import ActorStatus, GetStatus
from config.place import Place
from tests.eventually import PATIENCE_SECONDS, eventually
from tests.fixtures.home import Home
from tests.fixtures.llm_server import KEY, llm_server
from tests.fixtures.mcp_client import McpClient
from tests.gateway.conftest import Start
from tests.gateway.test_shortening import key_in, read_all

pytestmark = pytest.mark.slow

NAMES = ("compressor", "compressor-2")
TWO = {"bus": {"compressor_replicas": 2}}


def text(number: int, tail: str = "") -> str:
    lines = (f"2026-03-01 10:00:{second:02d} INFO job {number}-{second} done" for second in range(1_000))
    return "\n".join(lines) + tail


def secret(number: int) -> str:
    return text(number, f"\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE{number:03}\n")


async def shortened(client: McpClient, sent: str) -> str:
    """The answer of a tool that says `sent`, in its shortened form."""
    answer = await client.call("echo__text", {"text": sent}, patience=60)
    assert answer.result.get("isError") is not True, answer.text
    assert len(answer.text) <= 16_000
    return answer.text


class Cluster:
    """The actors behind a gateway, each by its own name."""

    def __init__(self, home: Home) -> None:
        self._place = Place.from_environment(home.environment())
        self._bus = Bus(Runtime(self._place.runtime), "test")

    def pid(self, name: str) -> int:
        return owner_of(self._place.locks / f"{name}.lock")

    async def status(self, name: str) -> ActorStatus:
        return await self._bus.ask(GetStatus(), timeout=20, wait=20, actor=name)

    async def recall(self, name: str) -> RecallStats:
        return await self._bus.ask(GetRecallStats(), timeout=20, wait=20, actor=name)

    def close(self) -> None:
        self._bus.close()


async def test_replicas_share_the_load_and_one_that_is_killed_costs_no_call(home: Home, start: Start) -> None:
    home.configure({"echo": home.upstream("echo")}, **TWO)
    client = await start("echo__text")
    cluster = Cluster(home)
    assert [(await cluster.status(name)).actor for name in NAMES] == list(NAMES)

    before = [text(number) for number in range(6)]
    answers = await asyncio.gather(*(shortened(client, sent) for sent in before))
    # One that is not connected yet is passed over.
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not all([(await cluster.recall(name)).entries for name in NAMES]):
            assert await asyncio.gather(*(shortened(client, sent) for sent in before)) == answers
    again = await asyncio.gather(*(shortened(client, sent) for sent in before))
    assert again == answers
    settled = [await cluster.recall(name) for name in NAMES]
    assert await asyncio.gather(*(shortened(client, sent) for sent in before)) == answers
    # Once both are connected, equal texts meet the same replica.
    assert [await cluster.recall(name) for name in NAMES] == settled

    # What looks like a credential is in the memory of one replica, and is found there.
    secrets = [secret(number) for number in range(8)]
    hidden = [await shortened(client, sent) for sent in secrets]
    held = [await cluster.recall(name) for name in NAMES]
    assert sum(part.in_memory for part in held) == len(secrets)
    assert all(part.in_memory for part in held)
    for sent, answer in zip(secrets, hidden, strict=True):
        assert "until restart" in answer
        assert await read_all(client, key_in(answer)) == sent

    # Killed with calls under way: all of them are answered, within the budget, with a key that works.
    during = [text(number) for number in range(100, 116)]
    victim = cluster.pid(NAMES[1])
    calls = [asyncio.ensure_future(shortened(client, sent)) for sent in during]
    await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
    os.kill(victim, signal.SIGKILL)
    found = await asyncio.gather(*calls)
    for sent, answer in zip(before + during, answers + found, strict=True):
        assert await read_all(client, key_in(answer)) == sent

    # The supervisor brings it back, and the client's next calls use it.
    await eventually(lambda: cluster.pid(NAMES[1]) not in (0, victim))
    assert (await cluster.status(NAMES[1])).pid == cluster.pid(NAMES[1])

    # Restarted by their common name, one by one, or alone.
    for word, restarted in (("compressor", NAMES), ("compressor-2", NAMES[1:]), ("compressor-1", NAMES[:1])):
        pids = {name: cluster.pid(name) for name in NAMES}
        said = await asyncio.to_thread(home.mms, "restart", word)
        assert said.returncode == 0, said.stderr
        assert tuple(name for name in NAMES if cluster.pid(name) != pids[name]) == restarted
    shown = await asyncio.to_thread(home.mms, "ps")
    assert [line.split()[0] for line in shown.stdout.splitlines() if "compressor" in line] == list(NAMES)
    said = (await asyncio.to_thread(home.mms, "logs", "compressor")).stdout
    assert all(f" {name}: ready" in said for name in NAMES)
    assert await read_all(client, key_in(answers[0])) == before[0]
    cluster.close()


async def test_a_tool_can_be_summarised_by_a_model(home: Home, start: Start) -> None:
    with llm_server() as server:
        llm = {"provider": "openai", "model": "good", "base_url": server.origin, "api_key": "${A_KEY}"}
        late = {"llm": {**llm, "model": "hang", "llm_timeout_seconds": 30}, "overall_deadline_seconds": 4}
        told = {"compression": "llm_summary", "llm": llm}
        home.configure(
            {
                "echo": home.upstream("echo", **told),
                "late": home.upstream("echo", "late", **{**told, **late}),
            }
        )
        client = await start("echo__text", "late__text", A_KEY=KEY)
        cluster = Cluster(home)
        await cluster.status("compressor")  # while it starts, the gateway would shorten by itself
        cluster.close()
        sent = text(1)
        answer = await shortened(client, sent)
        assert answer.startswith(
            "Summary 1: three of 1,200 jobs failed with exit code 137.\n[shortened: summary by good"
        )
        assert await read_all(client, key_in(answer)) == sent
        assert server.refused == []

        # A model that hangs does not keep a call beyond the call's own time, which is less than the model's.
        slow = (await client.call("late__text", {"text": sent})).text
        assert len(server.asked("hang")) == 1
        assert "job 1-0 done" in slow
        assert await read_all(client, key_in(slow)) == sent
        for path in (home.path / "bus" / "logs").iterdir():
            assert KEY not in path.read_text()
        assert KEY not in home.mms("config", "show").stdout
