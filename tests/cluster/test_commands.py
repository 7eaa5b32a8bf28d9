"""The commands that talk to a running cluster, over one cluster with one small server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bus.launch import environment
from cli.cluster import stop_cluster
from config.place import Place
from tests.cluster.conftest import scratch_place
from tests.eventually import eventually_blocking

SERVER = """
import json, sys
TOOLS = [{"name": name, "description": f"{name} it\\nmore", "inputSchema": {"type": "object"},
          "annotations": {"readOnlyHint": name == "echo"}}
         for name in ("echo", "fail", "refuse", "picture")]
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if method == "initialize":
        answer["result"] = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                            "serverInfo": {"name": "small", "version": "1"}}
    elif method == "tools/list":
        answer["result"] = {"tools": TOOLS}
    elif method == "tools/call" and params["name"] == "refuse":
        answer["error"] = {"code": -32000, "message": "not today"}
    elif method == "tools/call" and params["name"] == "picture":
        answer["result"] = {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
    elif method == "tools/call":
        text = json.dumps(params.get("arguments"), ensure_ascii=False)
        answer["result"] = {"content": [{"type": "text", "text": text}], "isError": params["name"] == "fail"}
    else:
        continue
    print(json.dumps(answer), flush=True)
"""


class Cluster:
    """A place with a cluster, and `mms` for it."""

    def __init__(self, place: Place, server: Path) -> None:
        self.place = place
        self.server = server

    def mms(self, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "cli", *argv]
        env = environment(self.place)
        return subprocess.run(command, env=env, input=stdin, capture_output=True, text=True, timeout=60)

    def document(self, *argv: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.mms(*argv, "--json").stdout)
        return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = tmp_path_factory.mktemp("server") / "server.py"
    server.write_text(SERVER)
    with scratch_place() as place:
        found = Cluster(place, server)
        added = found.mms("add", "small", "--", sys.executable, str(server))
        assert added.returncode == 0, added.stderr
        assert added.stdout.split() == ["small__echo", "small__fail", "small__refuse", "small__picture"]
        yield found
        stop_cluster(place)


def test_the_catalogue_starts_the_cluster_and_is_filtered(cluster: Cluster) -> None:
    everything = cluster.mms("tools")
    assert [line.split()[:2] for line in everything.stdout.splitlines()[1:]] == [
        [f"small__{name}", "small"] for name in ("echo", "fail", "refuse", "picture")
    ]
    assert "echo it" in everything.stdout and "more" not in everything.stdout
    assert [tool["name"] for tool in cluster.document("tools", "*__E*")["tools"]] == ["small__echo"]
    assert [tool["name"] for tool in cluster.document("tools", "FUS")["tools"]] == ["small__refuse"]
    assert cluster.mms("tools", "zzz").stderr == "There is no such tool; `mms tools` lists all.\n"


def test_a_server_without_tools_says_why(cluster: Cluster) -> None:
    assert cluster.mms("add", "gone", "--no-check", "--", "nosuchprogram").returncode == 0
    try:
        eventually_blocking(lambda: "gone is down: command not found" in cluster.mms("tools").stderr)
        assert "gone is down" in cluster.mms("tools", "gone__*").stderr
        assert cluster.mms("tools", "small").stderr == ""
    finally:
        assert cluster.mms("remove", "gone", "--yes").returncode == 0


def test_calls_go_the_way_of_a_client(cluster: Cluster) -> None:
    arguments = '{"a": "grüß", "n": 1.50}'
    assert cluster.mms("call", "small__echo", arguments).stdout == '{"a": "grüß", "n": 1.5}\n'
    assert cluster.mms("call", "small__echo", "-", stdin=arguments).stdout == '{"a": "grüß", "n": 1.5}\n'
    assert cluster.mms("call", "small__picture").stdout == "[image image/png, 3 bytes]\n"
    document = cluster.document("call", "small__echo")
    assert document["ok"]
    assert document["result"]["content"][0] == {"type": "text", "text": "{}"}


def test_what_is_called_by_name_need_not_be_advertised(cluster: Cluster) -> None:
    assert "proxy_stats" in cluster.mms("call", "stm_admin", '{"action": "help"}').stdout


def test_calls_that_fail_say_how(cluster: Cluster) -> None:
    failed = cluster.mms("call", "small__fail", '{"x":1}')
    assert (failed.returncode, failed.stdout) == (1, '{"x": 1}\n')
    assert cluster.document("call", "small__fail")["error"] == "tool_error"
    refused = cluster.document("call", "small__refuse")
    assert (refused["ok"], refused["error"], refused["message"]) == (False, "rpc_error", "not today")
    unknown = cluster.mms("call", "small__nothing")
    assert unknown.returncode == 1
    assert "unknown tool: small__nothing" in unknown.stderr
    own = cluster.mms("call", "stm_proxy_read_more", '{"key": "nonsense"}')
    assert own.returncode == 1
    for wrong in ("[1]", "{", "7"):
        assert cluster.mms("call", "small__echo", wrong).returncode == 2


def test_the_cache_is_shown_and_cleared(cluster: Cluster) -> None:
    cluster.mms("cache", "clear")
    cluster.mms("call", "small__echo", '{"asked": "twice"}')
    eventually_blocking(lambda: cluster.document("cache", "stats")["entries"] == 1)
    before = cluster.document("cache", "stats")["hits"]
    assert cluster.mms("call", "small__echo", '{"asked": "twice"}').stdout == '{"asked": "twice"}\n'
    found = cluster.document("cache", "stats")
    assert (found["hits"], found["by_tool"]) == (before + 1, [{"server": "small", "tool": "echo", "entries": 1}])
    assert ["small", "echo", "1"] in [line.split() for line in cluster.mms("cache", "stats").stdout.splitlines()]
    nobody = cluster.mms("cache", "clear", "--server", "nobody")
    assert nobody.returncode == 1
    assert "there is no server nobody; `mms list` shows the servers" in nobody.stderr
    assert cluster.mms("cache", "clear", "--server", "small", "--tool", "echo").stderr == "1 cached answer forgotten.\n"
    assert cluster.document("cache", "stats")["entries"] == 0


def test_health_and_list_show_a_server_that_fails(cluster: Cluster) -> None:
    cluster.mms("call", "small__echo")
    eventually_blocking(lambda: cluster.mms("health").returncode == 0)
    well = cluster.document("health")
    assert (well["ok"], well["bad"]) == (True, [])
    assert [(server["name"], server["state"]) for server in well["upstreams"]] == [("small", "ready")]

    refused = cluster.mms("add", "broken", "--", sys.executable, "/nonexistent/server.py")
    assert refused.returncode == 1
    assert "No such file" in refused.stderr
    assert cluster.mms("add", "broken", "--no-check", "--", "/nonexistent").returncode == 0
    eventually_blocking(lambda: cluster.mms("health").returncode == 1)
    ill = cluster.document("health")
    assert (ill["ok"], ill["error"]) == (False, "unhealthy")
    assert ill["bad"][0].startswith("the upstream broken is ")
    states = {row["name"]: row["state"] for row in cluster.document("list")["upstreams"]}
    assert states["small"] == "ready"
    assert states["broken"] != "ready"
    assert cluster.mms("remove", "broken", "--yes").returncode == 0
    eventually_blocking(lambda: cluster.mms("health").returncode == 0)


def test_memories_are_added_found_and_listed(cluster: Cluster) -> None:
    added = cluster.document("memory", "add", "Deploys are frozen on Fridays", "--title", "Freeze")
    assert added["ok"] and added["ids"]
    assert cluster.mms("memory", "add", "-", stdin="The staging database is called heron").returncode == 0
    found = cluster.document("memory", "search", "deploys on fridays", "--limit", "1")
    assert [note["id"] for note in found["notes"]] == added["ids"]
    listed = cluster.document("memory", "list")
    assert "Freeze" in {note["title"] for note in listed["notes"]} | {
        note["file"].rsplit("-", 1)[-1].removesuffix(".md").title() for note in listed["notes"]
    }
    assert cluster.mms("memory", "add", " ").returncode == 2


def test_version_names_the_running_build(cluster: Cluster) -> None:
    cluster.mms("tools")
    eventually_blocking(lambda: len(cluster.document("version")["running"]) == 6)
    found = cluster.document("version")
    assert all(build.startswith(f"{found['version']}+") for build in found["running"].values())
    assert found["packages"]["mcp"].startswith("2.")
