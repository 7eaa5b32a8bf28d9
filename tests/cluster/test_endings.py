"""No orphans, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bus import groups
from bus.launch import environment
from config.place import Place
from tests.cluster.conftest import Mms, has_process, owners, until_all_run
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.slow

SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "small", "version": "1"}}
    elif message.get("method") == "tools/list":
        result = {"tools": [{"name": "nothing", "inputSchema": {"type": "object"}}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def upstream_pids(home: Place, tmp_path: Path) -> Path:
    """Configures a server that a shell has started with a background process beside it; both write their ids down."""
    server, pids = tmp_path / "server.py", tmp_path / "pids"
    server.write_text(SERVER)
    script = f"echo $$ >> {pids}; sleep 1000 & echo $! >> {pids}; exec {sys.executable} {server}"
    entry = {"prefix": "small", "command": "sh", "args": ["-c", script]}
    home.config_file.write_text(json.dumps({"enabled": True, "upstream_servers": {"small": entry}}))
    return pids


def start(home: Place, *options: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-P", "-m", "cli.supervise", *options]
    return subprocess.Popen(argv, cwd=home.home, env=environment(home))


def noted(pids: Path, count: int) -> list[int]:
    eventually_blocking(lambda: pids.exists() and len(pids.read_text().split()) >= count)
    return [int(pid) for pid in pids.read_text().split()]


def gone(pids: list[int]) -> bool:
    return not [pid for pid in pids if has_process(pid)]


def test_a_killed_upstream_actor_leaves_no_server(home: Place, upstream_pids: Path) -> None:
    start(home, "--pinned")
    before = until_all_run(home)
    first = noted(upstream_pids, 2)
    os.kill(before["upstream"], signal.SIGKILL)
    eventually_blocking(lambda: gone(first))
    second = noted(upstream_pids, 4)[2:]
    assert not gone(second)
    eventually_blocking(lambda: {group.owner for group in groups.recorded(home.groups)} >= {owners(home)["upstream"]})


def test_a_killed_supervisor_leaves_nothing(home: Place, upstream_pids: Path) -> None:
    supervisor = start(home, "--pinned")
    ours = until_all_run(home)
    servers = noted(upstream_pids, 2)
    supervisor.kill()
    supervisor.wait()
    eventually_blocking(lambda: gone([*ours.values(), *servers]))
    eventually_blocking(lambda: groups.recorded(home.groups) == [])


def test_a_killed_upstream_actor_and_then_its_supervisor_leave_nothing(home: Place, upstream_pids: Path) -> None:
    supervisor = start(home, "--pinned")
    ours = until_all_run(home)
    servers = noted(upstream_pids, 2)
    supervisor.send_signal(signal.SIGSTOP)  # cannot reap any more
    os.kill(ours["upstream"], signal.SIGKILL)
    supervisor.kill()
    supervisor.wait()
    eventually_blocking(lambda: gone([*ours.values(), *servers]))


def test_everything_killed_at_once_leaves_nothing(home: Place, upstream_pids: Path) -> None:
    supervisor = start(home, "--pinned")
    ours = until_all_run(home)
    servers = noted(upstream_pids, 2)
    for number in (signal.SIGSTOP, signal.SIGKILL):  # in the same instant, as far as they can tell
        for pid in ours.values():
            os.kill(pid, number)
    supervisor.wait()
    eventually_blocking(lambda: gone(servers))
    eventually_blocking(lambda: groups.recorded(home.groups) == [])


def test_the_next_cluster_starts_while_the_last_one_is_still_ending(home: Place, upstream_pids: Path) -> None:
    first = start(home, "--pinned")
    before = until_all_run(home)
    noted(upstream_pids, 2)
    first.kill()
    first.wait()
    start(home, "--pinned")
    eventually_blocking(lambda: not set(until_all_run(home).values()) & set(before.values()))


def test_a_cluster_that_shall_stay_stays_after_a_crash_of_its_supervisor(home: Place, mms: Mms) -> None:
    first = start(home, "--pinned")
    until_all_run(home)
    first.kill()
    first.wait()
    eventually_blocking(lambda: not owners(home))
    start(home, "--background")
    until_all_run(home)
    assert json.loads(mms("ps", "--json").stdout)["mode"] == "pinned"
    assert mms("down").returncode == 0
    start(home, "--background")
    until_all_run(home)
    assert json.loads(mms("ps", "--json").stdout)["mode"] == "background"


def test_a_second_supervisor_is_refused(home: Place) -> None:
    first = start(home, "--pinned")
    until_all_run(home)
    argv = [sys.executable, "-P", "-m", "cli.supervise"]
    second = subprocess.run(argv, cwd=home.home, env=environment(home), capture_output=True, text=True, timeout=30)
    assert second.returncode == 1
    assert second.stderr == (
        f"supervisor: supervisor is already running (process {first.pid}); `mms ps` shows the cluster\n"
    )
