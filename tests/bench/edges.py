"""What the edges of the gateway cost, beside what they may cost: `python -m tests.bench.edges [--rounds N]`.

Lists, starts, cached calls, and the tokens of our own tools. Each figure is a ratio or a difference of things measured
in turn in the same minute; times of a shared machine move, and the medians of a few rounds are what counts. Exit code 1
when a figure is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.client import BenchClient
from tests.bench.tokens import own_tools, tokens
from tests.fixtures.home import MMS, Home
from tests.fixtures.upstreams import argv

READER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("upstream.py"))]
LISTS = 100
CALLS = 100
SERVERS = 20
SLOW_START_SECONDS = 1.0
SLOW = f"import time; time.sleep({SLOW_START_SECONDS}); import os, sys; os.execv(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True)
class Figure:
    """One line of the table; `value` may be `limit` at most."""

    name: str
    value: float
    limit: float
    unit: str
    about: str

    @property
    def kept(self) -> bool:
        return self.value <= self.limit


@contextmanager
def home_with(servers: dict[str, dict[str, Any]]) -> Iterator[Home]:
    home = Home()
    home.configure(servers)
    try:
        yield home
    finally:
        home.mms("down")
        home.remove()


def gateway(home: Home, *options: str) -> BenchClient:
    return BenchClient([str(MMS), "gateway", *options], home.environment(), str(home.path))


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def listing() -> list[Figure]:
    """Five hundred tools, listed again and again."""
    with home_with({"many": {"prefix": "m", "command": argv("many")[0], "args": argv("many")[1:]}}) as home:
        client = gateway(home)
        try:
            client.until_listed("m__tool0")
            before, took = cpu_seconds(client.process.pid), []
            for _ in range(LISTS):
                began = time.perf_counter()
                listed = client.request("tools/list", {})["tools"]
                took.append((time.perf_counter() - began) * 1000)
            cpu = (cpu_seconds(client.process.pid) - before) / LISTS * 1000
        finally:
            client.close()
    direct = BenchClient(argv("many"))
    try:
        direct.handshake()
        own = {tool["name"]: tool for tool in direct.request("tools/list", {})["tools"]}
    finally:
        direct.close()
    decorated = sum(
        tool["description"] != own[tool["name"].removeprefix("m__")]["description"]
        for tool in listed
        if tool["name"].startswith("m__")
    )
    about = f"{len(listed)} tools; {statistics.median(took):.1f} ms with the client's own parsing"
    return [
        Figure("500 tools listed again, processor time of the gateway", cpu, 5.0, "ms", about),
        Figure("descriptions that are not the server's own words", float(decorated), 0.0, "", f"of {len(own)}"),
    ]


def caching() -> list[Figure]:
    """A read that takes its server 5 ms: each time another, and the same again and again."""
    with home_with({"bench": {"prefix": "b", "command": READER[0], "args": READER[1:]}}) as home:
        client = gateway(home)

        def median(text: Callable[[int], str]) -> float:
            took = []
            for number in range(CALLS):
                began = time.perf_counter()
                client.request("tools/call", {"name": "b__read", "arguments": {"text": text(number)}})
                took.append((time.perf_counter() - began) * 1000)
            return statistics.median(took)

        try:
            client.until_listed("b__read")
            median(lambda number: f"warm {number}")
            ratios = []
            for turn in range(3):
                missed = median(lambda number, turn=turn: f"{turn} {number}")  # type: ignore[misc]
                kept = median(lambda _: "the same")
                ratios.append(kept / missed)
        finally:
            client.close()
    about = f"the last time {kept:.2f} ms beside {missed:.2f} ms"
    return [Figure("a cached call, share of a miss of 5 ms", statistics.median(ratios), 0.5, "×", about)]


def starting(rounds: int) -> list[Figure]:
    """Twenty servers beside the slowest of them, and five of which one hangs beside the other four."""
    slow = {"prefix": "slow", "command": sys.executable, "args": ["-I", "-S", "-c", SLOW, *argv("echo")]}
    quick = {f"q{number}": quick_server(f"q{number}") for number in range(SERVERS - 1)}
    four = {name: quick[name] for name in list(quick)[:4]}
    hung = {"prefix": "hung", "command": argv("hung")[0], "args": argv("hung")[1:]}
    alone, together, without, beside = list[float](), list[float](), list[float](), list[float]()
    lacking = 0
    with home_with({}) as home:
        for number in range(rounds):
            print(f"round {number + 1} of {rounds} …", file=sys.stderr, flush=True)
            alone.append(until_all(home, {"slow": slow}))
            together.append(until_all(home, {"slow": slow, **quick}))
            for servers, took in ((four, without), ({**four, "hung": hung}, beside)):
                milliseconds, absent = first_list(home, servers)
                took.append(milliseconds)
                lacking += absent
    ratio = statistics.median(together) / statistics.median(alone)
    hang = statistics.median(beside) - statistics.median(without)
    return [
        Figure(
            f"{SERVERS} servers are all listed, share of the slowest alone",
            ratio,
            1.25,
            "×",
            f"{statistics.median(together):.0f} ms beside {statistics.median(alone):.0f} ms, cold",
        ),
        Figure(
            "one hung of five, added to the first list after the other four are ready",
            hang,
            100.0,
            "ms",
            f"{statistics.median(beside):.0f} ms beside {statistics.median(without):.0f} ms, cold",
        ),
        Figure("servers that a first list lacked", float(lacking), 0.0, "", f"of {rounds * 8}"),
    ]


def quick_server(prefix: str) -> dict[str, Any]:
    return {"prefix": prefix, "command": argv("echo")[0], "args": argv("echo")[1:]}


def fresh(home: Home, servers: dict[str, dict[str, Any]]) -> BenchClient:
    """A gateway before a cluster that has never run."""
    home.mms("down")
    shutil.rmtree(home.path / "bus", ignore_errors=True)
    home.configure(servers)
    return gateway(home)


def until_all(home: Home, servers: dict[str, dict[str, Any]]) -> float:
    """Milliseconds from the gateway's start until a tool of every server is listed."""
    client = fresh(home, servers)
    try:
        client.handshake()
        wanted = {f"{entry['prefix']}__text" for entry in servers.values()}
        while not wanted <= {tool["name"] for tool in client.request("tools/list", {})["tools"]}:
            time.sleep(0.005)
        return (time.perf_counter() - client.spawned) * 1000
    finally:
        client.close()


def first_list(home: Home, servers: dict[str, dict[str, Any]]) -> tuple[float, int]:
    """Milliseconds from the last server's being ready to the first list, and how many it lacks that do not hang."""
    client = fresh(home, servers)
    try:
        client.handshake()
        listed = {tool["name"] for tool in client.request("tools/list", {})["tools"]}
        now = time.time()
        log = [json.loads(line) for line in (home.path / "bus/logs/upstream.log").read_text().splitlines()]
        ready = [datetime.fromisoformat(line["ts"]).timestamp() for line in log if line["event"] == "upstream_ready"]
        return (now - max(ready, default=now)) * 1000, sum(
            f"{name}__text" not in listed for name in servers if name != "hung"
        )
    finally:
        client.close()


def words() -> list[Figure]:
    listed = own_tools()
    return [Figure("the five tools of our own in tools/list", float(tokens(listed)), 700.0, "tokens", "o200k")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of the starts")
    options = parser.parse_args()
    figures = [*words(), *listing(), *caching(), *starting(options.rounds)]
    print("| | measured | at most | |\n|---|---|---|---|")
    for figure in figures:
        mark = "" if figure.kept else "**missed** "
        value, limit = (f"{number:,.2f}".rstrip("0").rstrip(".") for number in (figure.value, figure.limit))
        print(f"| {figure.name} | {mark}{value} {figure.unit} | {limit} {figure.unit} | {figure.about} |")
    return 0 if all(figure.kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
