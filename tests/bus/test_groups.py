"""Children end, with everything they have started, however their owner ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bus import groups
from bus.child import ChildProtocol, environment, spawn
from config.place import Place
from tests.eventually import eventually, eventually_blocking

ROOT = Path(__file__).parent.parent.parent


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Reading(ChildProtocol):
    """Collects stdout."""

    def __init__(self) -> None:
        super().__init__()
        self.output = b""

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        self.output += data


async def started(script: str, place: Place) -> tuple[Reading, list[int]]:
    """Runs a shell script that prints process ids, one a line, and ends with `go`."""
    protocol = Reading()
    child = await spawn(protocol, ["sh", "-c", script], env=environment(), records=place.groups)
    protocol.child = child  # type: ignore[attr-defined]
    await eventually(lambda: b"go\n" in protocol.output)
    return protocol, [int(word) for word in protocol.output.split() if word.isdigit()]


async def test_stopping_ends_the_whole_tree(place: Place) -> None:
    protocol, pids = await started("sleep 1000 & echo $!; echo $$; echo go; exec sleep 1000", place)
    assert all(map(alive, pids))
    await protocol.child.stop(eof_grace=0.05)  # type: ignore[attr-defined]
    assert not any(map(alive, pids))
    assert list(place.groups.iterdir()) == []


async def test_a_group_that_is_written_down_nowhere_is_ended_and_nothing_is_removed() -> None:
    before = os.stat(os.devnull)
    child = await spawn(ChildProtocol(), ["sleep", "1000"], env=environment())
    await child.stop(eof_grace=0.05)
    assert not alive(child.pid)
    assert os.path.samestat(os.stat(os.devnull), before)


async def test_a_stubborn_child_is_killed(place: Place) -> None:
    protocol, pids = await started("trap '' TERM; echo $$; echo go; while true; do sleep 0.1; done", place)
    await protocol.child.stop(eof_grace=0.05)  # type: ignore[attr-defined]
    assert not any(map(alive, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="marks are found through /proc")
async def test_a_descendant_that_left_the_group_is_found_by_its_mark(place: Place) -> None:
    script = "setsid sh -c 'echo $$; echo go; exec sleep 1000' & echo $$; cat >/dev/null"
    protocol, pids = await started(script, place)
    assert len(pids) == 2
    assert os.getpgid(pids[1]) != os.getpgid(pids[0]) or os.getsid(pids[1]) != os.getsid(pids[0])
    await protocol.child.stop(eof_grace=0.5)  # type: ignore[attr-defined]
    assert not any(map(alive, pids))


async def test_a_dead_owners_children_are_reaped(place: Place) -> None:
    """The owner is killed; somebody else finds its record and ends what it left."""
    code = (
        "import asyncio, sys; from pathlib import Path; from bus.child import *\n"
        "async def main():\n"
        "    child = await spawn(ChildProtocol(), ['sleep', '1000'], env=environment(), records=Path(sys.argv[1]))\n"
        "    print(child.pid, flush=True); await asyncio.sleep(1000)\n"
        "asyncio.run(main())"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(place.groups)], cwd=ROOT, stdout=subprocess.PIPE)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    assert groups.reap(place.groups) == 0
    assert alive(pid)
    owner.kill()
    owner.wait()
    assert groups.reap(place.groups) >= 1
    eventually_blocking(lambda: not alive(pid))
    assert groups.recorded(place.groups) == []


def test_a_stranger_with_the_same_number_is_left_alone(place: Place) -> None:
    stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    gone = subprocess.Popen(["true"])
    gone.wait()
    path = place.groups / f"{stranger.pid}-{'0' * 16}"
    path.write_text(str(gone.pid))
    try:
        assert groups.reap(place.groups) == 0
        assert alive(stranger.pid)
        assert not path.exists()
    finally:
        stranger.kill()
        stranger.wait()


def test_a_childs_environment_has_no_secret_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "OPENAI_API_KEY" not in environment()
    assert environment({"TOKEN": "x"})["TOKEN"] == "x"
    assert environment()["PATH"] == os.environ["PATH"]
