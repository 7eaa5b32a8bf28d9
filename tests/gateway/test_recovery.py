"""Servers that die, hang, flood or leave processes behind."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import Answer
from tests.fixtures.upstreams import argv
from tests.gateway.conftest import Connect, Start

pytestmark = pytest.mark.slow


def failed(answer: Answer) -> bool:
    """Whether the call has failed, in either of the two ways."""
    return "error" in answer.frame or answer.result.get("isError") is True


async def test_a_server_that_dies_in_a_call_says_so_and_comes_back(connect: Connect) -> None:
    client = await connect(ready=("dying__alive",))
    first = (await client.call("dying__alive")).text
    for tool in ("die", "die_halfway"):
        answer = await client.call(f"dying__{tool}")
        assert failed(answer)
        assert b"dying" in answer.line
    assert (await client.call("fx__text", {"text": "unharmed"})).text == "unharmed"
    assert (await client.call("dying__alive")).text != first


async def test_reads_are_repeated_and_writes_never(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("dying__die_read",))
    assert (await client.call("dying__die_read", {"once": str(shared_home.path / "read")})).text == "recovered"
    assert failed(await client.call("dying__die_write", {"once": str(shared_home.path / "write")}))
    calls = [e for e in shared_home.recorded("dying", "request") if "die_write" in e["params"]]
    assert len(calls) == 1


async def test_a_call_that_hangs_ends_at_its_time_and_is_cancelled(connect: Connect, shared_home: Home) -> None:
    client = await connect(ready=("hanging__hang",))
    assert failed(await client.call("hanging__hang"))
    await eventually(lambda: shared_home.recorded("hanging", "cancelled"))
    assert (await client.call("hanging__alive")).text == "alive"


async def test_a_flood_is_a_bounded_error(connect: Connect) -> None:
    client = await connect(ready=("flooding__flood",))
    answer = await client.call("flooding__flood", {"bytes": 50_000_000})
    assert failed(answer)
    assert len(answer.line) < 4_000
    assert (await client.call("flooding__alive")).text == "alive"


async def test_a_large_answer_that_fits_no_clients_line_is_bounded_and_kept(connect: Connect) -> None:
    """12 MB, untouched by configuration: over the 10 MiB at which TypeScript clients hang up."""
    client = await connect(ready=("verbatim__flood",))
    answer = await client.call("verbatim__flood", {"bytes": 12_000_000})
    assert len(answer.line) <= 10 * 1024 * 1024
    assert "stm_proxy_read_more" in str(answer.frame)


async def test_nothing_of_a_process_group_survives(home: Home, start: Start) -> None:
    """Shells with a background process each, reconnected fifty times in all by killing them under two racing callers,
    which costs no descriptor; then the upstream actor is killed, then the supervisor."""
    trees = [f"tree{number}" for number in range(5)]
    home.configure({name: _tree(home, name) for name in trees})
    client = await start(*(f"{name}__alive" for name in trees))
    actor = _process(home, "actors.upstream")

    async def reconnects(name: str, count: int) -> None:
        for _ in range(count):
            await asyncio.gather(client.call(f"{name}__die"), client.call(f"{name}__alive"))
        await client.call(f"{name}__alive")

    async def descriptors(count: int) -> int:
        """How many are open when all trees have been reconnected so often, and stand again."""
        await asyncio.gather(*(reconnects(name, count) for name in trees))
        return len(os.listdir(f"/proc/{actor}/fd"))

    first = await descriptors(2)
    assert await descriptors(8) <= first
    assert all(len(home.recorded(name, "start")) > 10 for name in trees)
    pid = int((await client.call("tree0__alive")).text)
    sleepers = [line for line in home.processes().values() if line.startswith("sleep")]
    assert len(sleepers) == len(trees), sleepers
    os.kill(actor, signal.SIGKILL)
    await eventually(lambda: pid not in home.processes())
    await asyncio.gather(*(client.call(f"{name}__alive") for name in trees))
    assert int((await client.call("tree0__alive")).text) != pid
    sleepers = [line for line in home.processes().values() if line.startswith("sleep")]
    assert len(sleepers) == len(trees), sleepers
    os.kill(_process(home, "cli.supervise"), signal.SIGKILL)
    client.close_input()
    await client.wait()
    await eventually(lambda: not home.processes())


async def test_the_upstream_actor_comes_back_under_a_connected_client(home: Home, start: Start) -> None:
    home.serve("echo", "slow")
    client = await start("echo__text", "slow__block")
    _, held = await client.begin_call("slow__block", {"key": "lost"})
    await eventually(lambda: len(home.recorded("slow", "request")) >= 3)
    os.kill(_process(home, "actors.upstream"), signal.SIGKILL)
    assert failed(await held)
    assert (await client.call("echo__text", {"text": "again"})).text == "again"


def _tree(home: Home, name: str) -> dict[str, Any]:
    """A server that a shell has started, with a background process beside it."""
    script = f"sleep 1000 & exec {' '.join(argv('dying', record=home.record(name), name=name))}"
    once = {"reconnect_delay_seconds": 0, "circuit_max_failures": 0}
    return {"prefix": name, "command": "sh", "args": ["-c", script], **once}


def _process(home: Home, word: str) -> int:
    """The process whose command line holds `word`."""
    (found,) = [pid for pid, line in home.processes().items() if word in line]
    return found
