"""A memory server that does what its script file says: `python ltm_server.py SCRIPT.json CALLS.jsonl`.

Plain JSON-RPC over stdio without any package, so that it starts at once. Like a server with rank fusion it returns its
memories for *any* query, the first with score 1/61. The script is read anew at every call:
`behaviour` is `ok`, `error` (an `Error:` text), `hang`, `hang_do` (`mem_do` alone), `crash`, `garbage`, `rpc_error`;
`tools` and `version` replace what it advertises; `compose`, `scratch` and `proposed` answer `mem_do`. Searches wait
while the file `hold` exists.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TOOLS = {
    "mem_search": ["query", "top_k", "namespace", "context_window", "output_format", "rerank"],
    "mem_do": ["action", "params"],
}


def search(script: dict[str, Any], arguments: dict[str, Any]) -> str:
    memories = script.get("memories", [])
    if arguments.get("output_format") == "compact":
        lines = [f"Found {len(memories)} results:"]
        for number, memory in enumerate(memories, 1):
            lines += [
                f"\n[{number}] {1 / (60 + number):.2f} | {memory['source']} > {memory['hierarchy']}",
                memory["content"],
            ]
        return "\n".join(lines)
    rows = [{"rank": n, "score": round(1 / (60 + n), 4), **memory} for n, memory in enumerate(memories, 1)]
    return json.dumps({"results": rows, "score_scale": "rrf", "query_run_id": "q1", "recorded": False})


def do(script: dict[str, Any], arguments: dict[str, Any]) -> str:
    action = arguments.get("action")
    if action == "version" and "version" in script:
        return json.dumps(script["version"])
    if action == "context_compose" and "compose" in script:
        return json.dumps(script["compose"])
    if action == "candidate_propose" and "proposed" in script:
        return json.dumps(script["proposed"])
    if action == "scratch_get" and "scratch" in script:
        return str(script["scratch"])
    if action == "increment_access":
        return "ok"
    return f"Error: unknown action {action}"


def tool_result(script: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    if script.get("behaviour") == "error":
        text = "Error: the index is locked"
    elif params["name"] == "mem_search":
        text = search(script, params["arguments"])
    else:
        text = do(script, params["arguments"])
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    script_file, calls_file = map(Path, sys.argv[1:3])
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        script = json.loads(script_file.read_text())
        method, answer = message["method"], {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            answer["result"] = {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1.2.3"},
            }
        elif method == "tools/list":
            tools = script.get("tools", TOOLS)
            schema = {n: {"type": "object", "properties": {p: {} for p in names}} for n, names in tools.items()}
            answer["result"] = {"tools": [{"name": name, "inputSchema": s} for name, s in schema.items()]}
        else:
            with calls_file.open("a") as calls:
                calls.write(json.dumps(message["params"]) + "\n")
            behaviour = script.get("behaviour", "ok")
            if behaviour == "hang" and message["params"]["name"] == "mem_search":
                continue
            if behaviour == "hang_do" and message["params"]["name"] == "mem_do":
                continue
            while message["params"]["name"] == "mem_search" and Path(script.get("hold", "")).is_file():
                time.sleep(0.005)
            if behaviour == "crash" and message["params"]["name"] == "mem_search":
                os._exit(3)
            if behaviour == "rpc_error":
                answer["error"] = {"code": -32603, "message": "internal"}
            elif behaviour == "garbage":
                answer["result"] = {"content": [{"type": "text", "text": '{"results": 5}'}]}
            else:
                answer["result"] = tool_result(script, message["params"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
