"""A supervisor over bad children: `python -m tests.bus.supervisor_process '{"children": {NAME: BEHAVIOUR}, …}'`."""

from __future__ import annotations

import json
import sys

from bus.launch import ChildSpec
from bus.run import run_actor
from bus.supervisor import Fault, Supervisor, Timing
from config.place import Place


def main(options: str) -> None:
    given = json.loads(options)
    place = Place.from_environment()
    specs = [
        ChildSpec(name, (sys.executable, "-m", "tests.bus.child_process", name, behaviour), stops_last=name == "last")
        for name, behaviour in given["children"].items()
    ]
    mode = given.get("mode", "pinned")

    def note(fault: Fault) -> None:
        with open(place.state / "faults", "a") as file:
            file.write(f"{fault.name} {fault.what}: {fault.detail}\n")

    supervisor = Supervisor(
        place,
        specs,
        mode=mode,
        idle_exit_seconds=given.get("idle", 900.0),
        timing=Timing(**given.get("timing", {})),
        on_fault=note,
    )
    run_actor(supervisor, outlives_parent=mode != "private")


if __name__ == "__main__":
    main(sys.argv[1])
