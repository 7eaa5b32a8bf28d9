"""The start path of the process that a client waits for."""

from __future__ import annotations

import asyncio
import subprocess

import pytest

from tests.eventually import eventually
from tests.fixtures.home import MMS, Home
from tests.gateway.conftest import Connect

HEAVY = {"mcp", "mcp_types", "pydantic", "duckdb", "click", "structlog", "httpx2", "starlette", "honcho", "numpy"}


async def test_nothing_heavy_is_imported(connect: Connect, shared_home: Home) -> None:
    """Handshake, a list and a call, with the interpreter telling what it imports."""
    client = await connect(PYTHONPROFILEIMPORTTIME="1")
    await client.call("fx__text", {"text": "x"})
    client.close_input()
    await client.wait()
    lines = bytes(client.stderr).decode().split("\n")
    imported = {line.rsplit("|", 1)[1].strip() for line in lines if line.startswith("import time:")}
    assert "gateway.main" in imported, "the interpreter has told nothing"
    assert {name for name in imported if name.partition(".")[0] in HEAVY} == set()


async def test_without_arguments_on_a_pipe_it_is_the_gateway(shared_home: Home, connect: Connect) -> None:
    """Existing client entries start `memtomem-stm` bare."""
    await connect()
    process = await asyncio.create_subprocess_exec(
        str(MMS.with_name("memtomem-stm")),
        env=shared_home.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, _ = await process.communicate(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert out == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


async def test_a_folder_named_like_our_package_does_not_shadow_it(shared_home: Home, connect: Connect) -> None:
    """A project may have `bus/`, `config/`, `actors/` and `gateway/` of its own, and a `PYTHONPATH` to them."""
    await connect()
    project = shared_home.path / "project"
    for name in ("bus", "config", "actors", "gateway"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("raise SystemExit('shadowed')")
    process = await asyncio.create_subprocess_exec(
        str(MMS),
        "gateway",
        "--private",
        env=shared_home.environment(PYTHONPATH=str(project)),
        cwd=str(project),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    out, _ = await process.communicate(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert out == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


@pytest.mark.slow
async def test_ten_clients_at_once_start_one_cluster(home: Home) -> None:
    home.serve("echo")
    clients = await asyncio.gather(*(home.gateway() for _ in range(10)))
    try:
        await asyncio.gather(*(client.handshake() for client in clients))
        await asyncio.gather(*(client.tools_with("echo__text") for client in clients))
        answers = await asyncio.gather(*(c.call("echo__text", {"text": str(n)}) for n, c in enumerate(clients)))
        assert [answer.text for answer in answers] == [str(n) for n in range(10)]
        lines = list(home.processes().values())
        assert len([line for line in lines if "cli.supervise" in line]) == 1
        assert len([line for line in lines if "server.py echo" in line]) == 1
    finally:
        await asyncio.gather(*(client.close() for client in clients))
        stopped = home.mms("down")
    assert stopped.returncode == 0, stopped.stderr
    await eventually(lambda: not home.processes())
