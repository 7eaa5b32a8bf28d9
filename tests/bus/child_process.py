"""Good and bad children for a supervisor: `python -m tests.bus.child_process NAME BEHAVIOUR`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from bus import child
from bus.run import run_actor
from config.place import Place
from tests.bus.actors_under_test import Probe


class NeverReady(Probe):
    name = "child"

    async def setup(self) -> None:
        await asyncio.Event().wait()


class WithServer(Probe):
    """Has a child of its own in a group of its own, as the upstream actor does."""

    name = "child"

    async def setup(self) -> None:
        script = "echo $$ > server.pid; exec sleep 1000"
        argv = ["sh", "-c", script]
        cwd = str(self.place.logs)
        self.server = await child.spawn(
            child.ChildProtocol(), argv, env=child.environment(), cwd=cwd, records=self.place.groups
        )

    async def teardown(self) -> None:
        await self.server.stop(eof_grace=0)


class Stubborn(Probe):
    """Does not end when it is asked to."""

    name = "child"

    async def setup(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)


def main(name: str, behaviour: str) -> None:
    if behaviour == "fails":
        sys.exit(f"{name}: cannot open its store")
    if behaviour == "needs_room" and not Path("room").exists():
        sys.exit(f"{name}: no room")
    if behaviour == "fails_at_first":
        marker = Path(f"{name}.failures")
        failures = int(marker.read_text()) if marker.exists() else 0
        marker.write_text(str(failures + 1))
        if failures < 2:
            os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "silent":
        time.sleep(1000)
    kinds = {"never_ready": NeverReady, "with_server": WithServer, "stubborn": Stubborn}
    base = kinds.get(behaviour, Probe)
    kind = type("Child", (base,), {"name": name})
    run_actor(kind(Place.from_environment()))


if __name__ == "__main__":
    main(*sys.argv[1:])
