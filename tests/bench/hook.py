"""What the hook costs a tool call, beside a Python that does nothing: `python -m tests.bench.hook [--runs N]`.

Start to exit of whole processes, and the processor time they take; both in turn, run by run. The machine's speed moves,
so the difference and the ratio count.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from tests.eventually import eventually_blocking
from tests.fixtures import host_events as events
from tests.fixtures.home import MMS, Home

NOTE = "# Tokens\n\nThe auth handler of shop-api rotates the refresh token on every use.\n"
FITTING = events.read("src/auth/refresh_token_rotation_handler.py")
SHORT = events.read("src/auth/refresh_token_rotation_handler.py", "x = 1\n")
UNLISTED = {**SHORT, "tool_name": "WebFetch"}


class Times:
    """Milliseconds of each run: start to exit, and processor."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.processor: list[float] = []

    def run(self, argv: list[str], data: bytes, env: dict[str, str]) -> bytes:
        """Runs a command to its end; returns what it said."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        done = subprocess.run(argv, input=data, env=env, stdout=subprocess.PIPE, check=True)
        self.wall.append((time.perf_counter() - began) * 1000)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.processor.append((after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000)
        return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=25)
    runs = parser.parse_args().runs
    home = Home()
    home.configure({}, surfacing={"enabled": True, "dedup_ttl_seconds": 0, "cooldown_seconds": 0})
    (home.path / "memories").mkdir()
    (home.path / "memories" / "tokens.md").write_text(NOTE)
    env = home.environment()
    hook = [str(MMS), "hook", "--host", "claude"]
    sessions = iter(range(1_000_000))

    def fitting() -> bytes:
        return events.encoded({**FITTING, "session_id": f"bench-{next(sessions)}"})

    ways: dict[str, tuple[list[str], Callable[[], bytes]]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], lambda: b""),
        "hook, a tool that is not listed": (hook, lambda: events.encoded(UNLISTED)),
        "hook, nothing to say": (hook, lambda: events.encoded(SHORT)),
        "hook, a memory": (hook, fitting),
    }
    times = {name: Times() for name in ways}
    try:
        home.mms("up")
        eventually_blocking(lambda: Times().run(hook, fitting(), env))
        for _ in range(runs):
            for name, (argv, data) in ways.items():
                said = times[name].run(argv, data(), env)
                assert bool(said) == (name == "hook, a memory"), (name, said)
    finally:
        home.mms("down")
        home.remove()
    print(table(times))


def table(times: dict[str, Times]) -> str:
    """The figures as Markdown; medians, and the range of the wall times."""
    base = next(iter(times.values()))
    rows = ["| | start to exit | least to most | processor | above nothing |", "|---|---|---|---|---|"]
    for name, found in times.items():
        wall, processor = statistics.median(found.wall), statistics.median(found.processor)
        spread = f"{min(found.wall):.0f} to {max(found.wall):.0f} ms"
        above = f"{wall - statistics.median(base.wall):+.0f} ms"
        rows.append(f"| {name} | {wall:.0f} ms | {spread} | {processor:.0f} ms | {above} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
