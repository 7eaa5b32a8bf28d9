"""What the gateway costs, beside the same calls without it: `python -m tests.bench.calls [--rounds N] [--calls N]`.

Both ways are measured in turn, round by round, on the same machine in the same minute. Figures of a shared machine
move by tens of per cent; the ratios within one run are what counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.client import BenchClient, percentile
from tests.fixtures.home import MMS, Home

UPSTREAM = [sys.executable, "-I", "-S", str(Path(__file__).with_name("upstream.py"))]
WINDOW = 64
BATCHES = 25


@dataclass
class Figures:
    """Milliseconds, or calls per second; one entry a round, medians are reported."""

    per_call: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    listed: list[float] = field(default_factory=list)
    listed_cold: list[float] = field(default_factory=list)
    p99_idle: list[float] = field(default_factory=list)
    p99_busy: list[float] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    log: list[float] = field(default_factory=list)


def measure(spawn: Callable[[], BenchClient], prefix: str, figures: Figures, calls: int) -> None:
    """One round: spawn, one call at a time, many at a time, and beside a log that is being compressed."""
    client = spawn()
    try:
        figures.listed.append(client.until_listed(f"{prefix}echo") * 1000)
        client.run(f"{prefix}echo", 50, 1)
        figures.per_call.append(statistics.median(client.run(f"{prefix}echo", calls, 1).latencies) * 1000)
        figures.per_second.append(client.run(f"{prefix}echo", calls * 5, WINDOW).per_second)
        figures.repeated.append(repeated(client, f"{prefix}read", calls // 4))
    finally:
        client.close()


def repeated(client: BenchClient, tool: str, calls: int) -> float:
    """The median of one and the same read, made again and again; milliseconds."""
    latencies = []
    for _ in range(calls):
        began = time.perf_counter()
        client.request("tools/call", {"name": tool, "arguments": {"text": "the same"}})
        latencies.append(time.perf_counter() - began)
    return statistics.median(latencies) * 1000


def measure_beside_a_log(spawn: Callable[[], BenchClient], prefix: str, figures: Figures) -> None:
    """Small calls of one client while another one's 2 MB log is on its way."""
    client, other = spawn(), spawn()
    try:
        client.until_listed(f"{prefix}echo")
        other.until_listed(f"{prefix}log")
        client.run(f"{prefix}echo", 50, 1)
        other.request("tools/call", {"name": f"{prefix}log", "arguments": {"run": "first"}})  # it makes the log
        idle: list[float] = []
        for _ in range(BATCHES):  # in batches, as beside the log: each begins with a client that has just rested
            idle += client.run(f"{prefix}echo", 40, 4).latencies
        figures.p99_idle.append(percentile(idle, 0.99) * 1000)
        began = time.perf_counter()
        number = other.begin(f"{prefix}log", {"run": len(figures.log)})
        latencies = client.run(f"{prefix}echo", 40, 4).latencies
        while not other.has_answered(number):
            latencies += client.run(f"{prefix}echo", 40, 4).latencies
        figures.log.append((time.perf_counter() - began) * 1000)
        figures.p99_busy.append(percentile(latencies, 0.99) * 1000)
    finally:
        client.close()
        other.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=400, help="calls of one measurement")
    options = parser.parse_args()
    home = Home()
    home.configure({"bench": {"prefix": "b", "command": UPSTREAM[0], "args": UPSTREAM[1:]}})
    env, cwd = home.environment(), str(home.path)
    direct, through = Figures(), Figures()

    def spawn_direct() -> BenchClient:
        return BenchClient(UPSTREAM)

    def spawn_gateway() -> BenchClient:
        return BenchClient([str(MMS), "gateway"], env, cwd)

    try:
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds} …", file=sys.stderr, flush=True)
            cold = spawn_gateway()
            through.listed_cold.append(cold.until_listed("b__echo") * 1000)
            for spawn, prefix, figures in ((spawn_direct, "", direct), (spawn_gateway, "b__", through)):
                measure(spawn, prefix, figures, options.calls)
                measure_beside_a_log(spawn, prefix, figures)
            cold.close()
            home.mms("down")
    finally:
        home.mms("down")
        home.remove()
    print(table(direct, through))


def table(direct: Figures, through: Figures) -> str:
    """The figures as Markdown."""

    def row(name: str, unit: str, before: list[float], after: list[float]) -> str:
        old, new = (statistics.median(values) if values else None for values in (before, after))
        cells = [f"{value:,.2f} {unit}" if value is not None else "–" for value in (old, new)]
        ratio = f"× {new / old:.2f}" if old and new else "–"
        added = f"{new - old:+.2f} ms" if old and new and unit == "ms" else "–"
        return f"| {name} | {cells[0]} | {cells[1]} | {added} | {ratio} |"

    return "\n".join(
        [
            "| | direct | through mms | added | ratio |",
            "|---|---|---|---|---|",
            row("small call, one in flight, median", "ms", direct.per_call, through.per_call),
            row("a repeated read that takes its server 5 ms, median", "ms", direct.repeated, through.repeated),
            row(f"small calls, {WINDOW} in flight", "calls/s", direct.per_second, through.per_second),
            row("small calls, 4 in flight, p99", "ms", direct.p99_idle, through.p99_idle),
            row("the same beside another client's 2 MB log, p99", "ms", direct.p99_busy, through.p99_busy),
            row("that log itself", "ms", direct.log, through.log),
            row("spawn to tools/list, cluster running", "ms", direct.listed, through.listed),
            row("spawn to tools/list, cold", "ms", direct.listed, through.listed_cold),
        ]
    )


if __name__ == "__main__":
    main()
