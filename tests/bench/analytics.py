"""What analytics cost: `python -m tests.bench.analytics [--events N]`.

Loading, each statistics action over that many events, the start of commands, and what telemetry adds to a call. The
target of an action is held against its CPU time, which bounds what it takes on an idle machine; the times on the wall
of a shared one say little.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from actors.telemetry.journal import Journal
from actors.telemetry.messages import (
    CallEvent,
    Event,
    FaultEvent,
    FeedbackEvent,
    OpportunityEvent,
    ProgressiveReadEvent,
    SurfacingEvent,
    new_event_id,
    now,
)
from actors.telemetry.stats import report
from actors.telemetry.traces import find_calls, trace
from actors.telemetry.warehouse import Warehouse
from bus.client import Bus
from bus.outbox import Outbox

REPORTS = ("savings", "surfacing", "compression", "progressive", "tuning", "faults", "latency")
BATCH = 1_000
DAYS = 60
ROUNDS = 5
TARGET_MS = 200.0


def events(count: int) -> Iterator[Event]:
    """A mixture as a busy machine records it over two months: three calls in five events."""
    chance = random.Random(20261130)
    begin = datetime.now(UTC) - timedelta(days=DAYS)
    for number in range(count):
        ts = (begin + timedelta(days=DAYS * number / count)).isoformat(timespec="microseconds").replace("+00:00", "Z")
        names = {"server": f"server{chance.randrange(10)}", "tool": f"tool_{chance.randrange(30)}"}
        yield _event(chance, number, {"ts": ts, "trace_id": f"{number:016x}"}, names)


def _event(chance: random.Random, number: int, common: dict[str, str], names: dict[str, str]) -> Event:
    kind = chance.random()
    if kind < 0.6:
        tokens = int(chance.lognormvariate(6, 1.5))
        delivered = int(tokens * chance.uniform(0.1, 1))
        ok, upstream = chance.random() > 0.03, chance.lognormvariate(3, 1)
        cached = ok and chance.random() < 0.3
        compress = chance.random() * 8 if tokens > 1000 else 0.0
        surface = chance.random() * 5 if chance.random() < 0.4 else 0.0
        return CallEvent(
            **common,
            **names,
            ok=ok,
            error="" if ok else chance.choice(["timeout", "upstream_error"]),
            cached=cached,
            original_chars=tokens * 4,
            cleaned_chars=tokens * 4,
            compressed_chars=delivered * 4,
            delivered_chars=delivered * 4,
            original_tokens=tokens,
            delivered_tokens=delivered,
            strategy=chance.choice(["none", "truncate", "hybrid", "schema_pruning"]),
            surfacing=chance.choice(["surfaced", "response_too_short", "no_query", "no_results_score"]),
            upstream_ms=0.0 if cached else upstream,
            compress_ms=compress,
            surface_ms=surface,
            total_ms=(0.0 if cached else upstream) + compress + surface + 0.5,
            session=f"session{number // 5000}",
        )
    if kind < 0.85:
        return OpportunityEvent(**common, **names, decision=chance.choice(["surfaced", "no_query", "no_results_score"]))
    if kind < 0.91:
        ids = [f"memory{chance.randrange(2000)}" for _ in range(2)]
        return SurfacingEvent(**common, **names, surfacing_id=f"s{number}", memory_ids=ids, injected_chars=400)
    if kind < 0.94:
        memory = f"memory{chance.randrange(2000)}"
        return FeedbackEvent(**common, **names, surfacing_id=f"s{number}", memory_id=memory, rating="helpful")
    if kind < 0.99:
        key = f"k{chance.randrange(1 + number // 3)}"
        return ProgressiveReadEvent(**common, **names, key_digest=key, served_chars=4000, total_chars=50_000)
    return FaultEvent(**common, component="surfacer", what="breaker_open")


def timed(work: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """The medians of wall and CPU time, milliseconds."""
    walls, cpus = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append((time.perf_counter() - wall) * 1000)
        cpus.append((time.process_time() - cpu) * 1000)
    return statistics.median(walls), statistics.median(cpus)


def loading(home: Path, count: int) -> Path:
    """Records and loads; prints how fast."""
    journal = Journal(home / "events", keep_bytes=2**40, max_bytes=2**40)
    journal.open()
    spent, batch = 0.0, []
    for event in events(count):
        batch.append(msgspec.json.encode(event))
        if len(batch) == BATCH:
            began = time.perf_counter()
            journal.append(b"\n".join(batch) + b"\n")
            spent += time.perf_counter() - began
            batch.clear()
    print(f"record (JSONL)         {journal.appended / spent:12,.0f} events/s")
    warehouse = Warehouse(home / "analytics.duckdb", home / "loading.tmp", retention_days={})
    began, cpu = time.perf_counter(), time.process_time()
    warehouse.load(journal.extents)
    spent, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"store (DuckDB)         {count / spent:12,.0f} events/s, {count / cpu:,.0f} per CPU second")
    sustained(journal, warehouse)
    journal.close()
    return warehouse.path


def sustained(journal: Journal, warehouse: Warehouse, batches: int = 20) -> None:
    """A batch a second, as the actor loads them: how long the file is held."""
    held, busy = [], []
    for _ in range(batches):
        ts = now()
        fresh = [msgspec.structs.replace(event, ts=ts, event_id=new_event_id()) for event in events(BATCH)]
        journal.append(b"".join(msgspec.json.encode(event) + b"\n" for event in fresh))
        wall, cpu = time.perf_counter(), time.process_time()
        warehouse.load(journal.extents)
        held.append(time.perf_counter() - wall)
        busy.append(time.process_time() - cpu)
    wall, cpu = statistics.median(held), statistics.median(busy)
    print(f"a batch of {BATCH:,} a second: the file is held {wall:.1%} of the time ({cpu:.1%} CPU)")


def actions(path: Path) -> bool:
    """Each action over the whole store; returns whether all were within the target."""
    works: dict[str, Callable[[], object]] = {name: lambda name=name: report(path, name, limit=20) for name in REPORTS}  # type: ignore[misc]
    works["trace (list)"] = lambda: find_calls(path, failed=True)
    works["trace (one)"] = lambda: trace(path)
    good = True
    for name, work in works.items():
        wall, cpu = timed(work)
        good &= cpu <= TARGET_MS
        print(
            f"action {name:<15} {wall:10,.0f} ms  {cpu:8,.0f} ms CPU{'' if cpu <= TARGET_MS else '  over the target'}"
        )
    return good


def starts(home: Path) -> None:
    """Commands as processes, beside Python itself."""
    env = {"MEMTOMEM_STM_HOME": str(home), "HOME": str(home), "PATH": ""}
    commands = {
        "python": ["-c", "pass"],
        "mms --help": ["-P", "-m", "cli", "--help"],
        "mms stats": ["-P", "-m", "cli", "stats"],
    }
    for name, argv in commands.items():
        run = [sys.executable, *argv]
        wall, _ = timed(lambda run=run: subprocess.run(run, env=env, capture_output=True, check=False))  # type: ignore[misc]
        print(f"start {name:<16} {wall:10,.0f} ms")


def added(calls: int = 20_000) -> None:
    """What the event of a call costs the gateway: making it and putting it into the outbox."""

    async def run() -> float:
        bus = Bus(None, "bench")
        outbox = Outbox(bus)
        cpu = time.process_time()
        for _ in range(calls):
            outbox.add(CallEvent(trace_id="0123456789abcdef", server="fs", tool="read", ok=True, total_ms=1.0))
        spent = time.process_time() - cpu
        bus.close()
        return spent / calls * 1000

    print(f"added to a call        {asyncio.run(run()):12.4f} ms CPU in the gateway")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mms-bench-") as folder:
        home = Path(folder)
        state = home / "bus"
        state.mkdir()
        path = loading(state, options.events)
        good = actions(path)
        starts(home)
    added()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
