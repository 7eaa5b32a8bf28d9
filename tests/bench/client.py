"""A client for measuring: one blocking loop, the time taken when an answer's newline arrives, no parsing in between."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CHUNK = 1 << 20
_ID = re.compile(rb'"id":\s*(\d+)')


class Ended(Exception):
    """The server closed its output."""


@dataclass(frozen=True)
class Load:
    """Outcome of `run`: seconds per call in the order of the answers, and seconds from first call to last answer."""

    latencies: list[float]
    seconds: float

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of all values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


class BenchClient:
    """A server process and the pipe to it.

    Attributes:
        spawned: monotonic seconds at which the process was started.
    """

    def __init__(self, argv: list[str], env: Mapping[str, str] | None = None, cwd: str | None = None) -> None:
        self.spawned = time.perf_counter()
        self.process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._buffer = bytearray()
        self._next = 1

    def request(self, method: str, params: dict[str, Any], patience: float = 60.0) -> Any:
        """One request; returns its result. Raises `Ended`, `TimeoutError`, or `RuntimeError` with the error."""
        number = self._send(method, json.dumps(params).encode())
        end = time.perf_counter() + patience
        while True:
            for _, line in self._lines(end - time.perf_counter()):
                frame = json.loads(line)
                if frame.get("id") == number and "method" not in frame:
                    if "error" in frame:
                        raise RuntimeError(str(frame["error"]))
                    return frame["result"]

    def handshake(self) -> None:
        info = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self._write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def until_listed(self, tool: str, patience: float = 60.0) -> float:
        """Shakes hands, asks for the list until `tool` is in it, and returns the seconds since the spawn."""
        self.handshake()
        end = self.spawned + patience
        while tool not in (found["name"] for found in self.request("tools/list", {})["tools"]):
            if time.perf_counter() > end:
                raise TimeoutError(f"{tool} was not listed within {patience} s")
            time.sleep(0.005)
        return time.perf_counter() - self.spawned

    def begin(self, tool: str, arguments: dict[str, Any]) -> int:
        """Sends a call and returns its id, without waiting."""
        return self._send("tools/call", json.dumps({"name": tool, "arguments": arguments}).encode())

    def run(self, tool: str, count: int, window: int) -> Load:
        """`count` calls with different texts, always `window` of them in flight."""
        sent: dict[int, float] = {}
        latencies: list[float] = []
        began = time.perf_counter()
        started = 0
        while started < count or sent:
            while started < count and len(sent) < window:
                params = b'{"name":"%s","arguments":{"text":"hello %d"}}' % (tool.encode(), self._next)
                now = time.perf_counter()
                sent[self._send("tools/call", params)] = now
                started += 1
            for arrived, line in self._lines(60.0):
                found = _ID.search(line, 0, 64)
                if found is not None and (at := sent.pop(int(found[1]), None)) is not None:
                    latencies.append(arrived - at)
        return Load(latencies, time.perf_counter() - began)

    def has_answered(self, number: int) -> bool:
        """Whether the answer to `number` has arrived; looks at what is there and does not wait."""
        while self._poll.poll(0):
            for _, line in self._lines(0):
                found = _ID.search(line, 0, 64)
                if found is not None and int(found[1]) == number:
                    return True
        return False

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _send(self, method: str, params: bytes) -> int:
        number = self._next
        self._next += 1
        self._write(b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' % (number, method.encode(), params))
        return number

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in, data) :]

    def _lines(self, patience: float) -> Iterator[tuple[float, bytes]]:
        """The complete lines of one read, each with the time of its arrival."""
        if not self._poll.poll(max(0.0, patience) * 1000):
            raise TimeoutError("no answer")
        data = os.read(self._out, CHUNK)
        if not data:
            raise Ended(f"the server has ended with {self.process.poll()}")
        arrived = time.perf_counter()
        self._buffer += data
        *lines, rest = self._buffer.split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            yield arrived, bytes(line)
