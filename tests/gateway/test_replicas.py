"""Which replica is asked when others are not there: real compressor processes, without a supervisor."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from actors.compressor.messages import Compress, GetRecallStats, Policy, ReadMore
from bus.client import Bus
from bus.endpoint import Runtime
from bus.errors import PeerRestarted, PeerUnavailable
from bus.launch import ChildSpec, launch
from bus.message import Blob
from bus.replicas import replicas
from bus.status import GetStatus
from config.place import Place
from gateway.compressors import Compressors
from gateway.parts import Parts
from tests.eventually import eventually

NAMES = replicas("compressor", 3)
TEXT = "\n".join(f"line {number} of a long text" for number in range(2_000))
REQUEST = Compress(server="s", tool="t", texts=(Blob.of(TEXT),), policy=Policy(strategy="truncate"))


@pytest.fixture
def processes(place: Place) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    argv = (sys.executable, "-P", "-m", "actors.compressor")
    running = {name: launch(ChildSpec(name, (*argv, str(at))), place) for at, name in enumerate(NAMES, 1)}
    yield running
    for process in running.values():
        process.kill()
        process.wait()


@pytest.fixture
async def bus(place: Place, processes: dict[str, subprocess.Popen[bytes]]) -> AsyncIterator[Bus]:
    client = Bus(Runtime(place.runtime), "test")
    await asyncio.gather(*(client.ask(GetStatus(), timeout=20, wait=20, actor=name) for name in NAMES))
    yield client
    client.close()


@pytest.mark.slow
async def test_a_text_is_not_given_to_one_replica_after_the_other_when_they_die_of_it(
    bus: Bus, processes: dict[str, subprocess.Popen[bytes]]
) -> None:
    compressors = Compressors(Parts(bus))
    compressors.use(len(NAMES))
    reply = await compressors.compress(REQUEST, 20)
    (key,) = reply.keys
    asked = [name for name in NAMES if (await bus.ask(GetStatus(), timeout=5, actor=name)).handled > 1]
    assert len(asked) == 1  # each has answered the question for its status; one has done more

    with pytest.raises(PeerRestarted):
        await _die_of_it(bus, compressors, processes)
    (left,) = [name for name in NAMES if processes[name].poll() is None]
    assert (await bus.ask(GetStatus(), timeout=5, actor=left)).handled == 2

    # Those that are not there are passed over, and what they had stored is read by the one that is left.
    again = await compressors.compress(REQUEST, 20)
    assert again.texts == reply.texts
    page = await compressors.page(ReadMore(key=key), 20)
    assert (page.is_error, page.total) == (False, len(TEXT))
    unknown = await compressors.page(ReadMore(key="unknown"), 20)
    assert unknown.is_unknown

    os.kill(processes[left].pid, signal.SIGKILL)
    processes[left].wait()
    with pytest.raises(PeerUnavailable):
        await compressors.compress(REQUEST, 20)


async def _die_of_it(bus: Bus, compressors: Compressors, processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """A call that kills the first two replicas that get it: each is stopped, so that it has the call when it dies."""
    for process in processes.values():
        process.send_signal(signal.SIGSTOP)
    call = asyncio.ensure_future(compressors.compress(REQUEST, 20))
    for _ in range(2):
        await eventually(lambda: any(bus._peers[name].waiting for name in NAMES))
        victim = next(name for name in NAMES if bus._peers[name].waiting)
        processes[victim].kill()
        processes[victim].wait()
        await eventually(lambda name=victim: not bus._peers[name].waiting)  # type: ignore[misc]
    for process in processes.values():
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
    await call


async def test_what_a_replica_holds_in_memory_is_found_after_the_configuration_has_fewer(
    bus: Bus, processes: dict[str, subprocess.Popen[bytes]]
) -> None:
    before = Compressors(Parts(bus))
    before.use(len(NAMES))
    secrets = [f"{TEXT}\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE{number:03}" for number in range(8)]
    requests = [msgspec.structs.replace(REQUEST, texts=(Blob.of(text),)) for text in secrets]
    keys = [(await before.compress(request, 20)).keys[0] for request in requests]
    assert (await bus.ask(GetRecallStats(), timeout=20, actor=NAMES[0])).in_memory < len(secrets)

    # Whoever was there before the change, and whoever came after it, as the gateway of a client that reconnects does.
    before.use(1)
    for compressors in (before, Compressors(Parts(bus))):
        assert compressors.names == NAMES[:1]
        pages = [await compressors.page(ReadMore(key=key), 20) for key in keys]
        assert [page.total for page in pages] == [len(text) for text in secrets]

    for name in NAMES[1:]:
        processes[name].kill()
        processes[name].wait()
    gone = [(await before.page(ReadMore(key=key), 20)).is_unknown for key in keys]
    assert any(gone)
    assert not all(gone)
