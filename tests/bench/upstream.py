"""The server behind the benchmark: answers as fast as a Python process can, so that what is measured is the way.

    python -I -S upstream.py

`echo` answers its text; `log` a log of 2 MB whose last line is its argument `run`; `read` its text, after 5 ms, and
declares that it only reads.
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache

LOG_CHARS = 2_000_000
READ_SECONDS = 0.005
TOOLS = [
    {
        "name": name,
        "description": f"The benchmark's {name}.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True} if name == "read" else {},
    }
    for name in ("echo", "log", "read")
]


@cache
def log_text(size: int) -> str:
    """A log of about `size` characters in which no line repeats another."""
    lines, length = list[str](), 0
    while length < size:
        n = len(lines)
        level = "ERROR" if n % 997 == 13 else "INFO"
        clock = f"{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}"
        line = f"2026-01-01T{clock}Z {level} worker-{n % 11} request {n * 7919 % 99991} took {n * 31 % 997} ms"
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)


def main() -> None:
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        if "id" not in frame:
            continue
        method, params = frame["method"], frame.get("params") or {}
        if method == "tools/call":
            arguments = params["arguments"]
            if params["name"] == "read":
                time.sleep(READ_SECONDS)
            text = f"{log_text(LOG_CHARS)}\nrun {arguments['run']}" if params["name"] == "log" else arguments["text"]
            body = {"result": {"content": [{"type": "text", "text": text}], "isError": False}}
        elif method == "initialize":
            info = {"name": "bench", "version": "1"}
            version = params["protocolVersion"]
            body = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        elif method == "tools/list":
            body = {"result": {"tools": TOOLS}}
        else:
            body = {"error": {"code": -32601, "message": "Method not found"}}
        answer = json.dumps({"jsonrpc": "2.0", "id": frame["id"], **body}, separators=(",", ":")).encode() + b"\n"
        while answer:
            answer = answer[os.write(1, answer) :]


if __name__ == "__main__":
    main()
