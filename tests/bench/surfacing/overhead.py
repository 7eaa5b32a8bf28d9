"""What surfacing adds to a call: `python -m tests.bench.surfacing.overhead [--rounds N] [--calls N]`.

The same calls beside two clusters, one with surfacing and one without, in turn. Of a shared machine only differences
within one run mean anything; the processor time is the sum over every process of the cluster.

| call | what surfacing does |
|---|---|
| short answer | nothing: the tool is known to answer too briefly |
| long answer, tool at once | one search after the answer, at most `search_wait_seconds` |
| long answer, tool of 5 ms | one search beside the call |
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from dataclasses import dataclass, field

import psutil

from tests.bench.calls import UPSTREAM
from tests.bench.client import BenchClient
from tests.bench.surfacing.situations import load, write_notes
from tests.fixtures.home import MMS, Home

SURFACING = {"cooldown_seconds": 0, "dedup_ttl_seconds": 0, "max_surfacings_per_minute": 1_000_000}
LONG = "x" * 6_000
KINDS = {"short answer": ("s__echo", "short"), "long answer, tool at once": ("b__echo", LONG)} | {
    "long answer, tool of 5 ms": ("b__read", LONG)
}
WARM_UP = 10


@dataclass
class Side:
    """One cluster and its client; milliseconds per call by kind, a median each round."""

    home: Home
    client: BenchClient
    wall: dict[str, list[float]] = field(default_factory=dict)
    busy: dict[str, list[float]] = field(default_factory=dict)

    def processor_seconds(self) -> float:
        total = 0.0
        for pid in self.home.processes():
            try:
                used = psutil.Process(pid).cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += used.user + used.system
        return total

    def play(self, kind: str, calls: int, numbers: itertools.count[int]) -> None:
        tool, text = KINDS[kind]
        latencies = []
        before = self.processor_seconds()
        for _ in range(calls):
            query = f"pgbouncer prepared statements attempt{next(numbers)}x"
            began = time.perf_counter()
            self.client.request("tools/call", {"name": tool, "arguments": {"text": text, "query": query}})
            latencies.append((time.perf_counter() - began) * 1000)
        self.busy.setdefault(kind, []).append((self.processor_seconds() - before) * 1000 / calls)
        self.wall.setdefault(kind, []).append(statistics.median(latencies))


def start(*, surfacing: bool) -> Side:
    home = Home()
    write_notes(load("own_first"), home.path / "memories")
    command, *args = UPSTREAM
    upstream = {"command": command, "args": args, "compression": "none", "cache": False}
    servers = {prefix: {"prefix": prefix, **upstream} for prefix in ("b", "s")}
    home.configure(servers, surfacing={"enabled": surfacing, **SURFACING})
    client = BenchClient([str(MMS), "gateway"], env=home.environment(), cwd=str(home.path))
    client.until_listed("b__read")
    return Side(home, client)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.surfacing.overhead", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=100)
    options = parser.parse_args()
    sides = [start(surfacing=False), start(surfacing=True)]
    numbers = itertools.count()
    try:
        for side, kind in itertools.product(sides, KINDS):
            side.play(kind, WARM_UP, numbers)
            side.wall.clear()
            side.busy.clear()
        for _ in range(options.rounds):
            for kind, side in itertools.product(KINDS, sides):
                side.play(kind, options.calls, numbers)
    finally:
        for side in sides:
            side.client.close()
            side.home.mms("down")
            side.home.remove()
    print("| call | without, ms | with, ms | added, ms | processor time added, ms |")
    print("|---|---|---|---|---|")
    for kind in KINDS:
        without, with_ = (statistics.median(side.wall[kind]) for side in sides)
        busy = statistics.median(sides[1].busy[kind]) - statistics.median(sides[0].busy[kind])
        print(f"| {kind} | {without:.2f} | {with_:.2f} | {with_ - without:+.2f} | {busy:+.2f} |")


if __name__ == "__main__":
    main()
