"""A memory service over HTTP that is no good: what it costs, and how it comes back."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from actors.surfacer.ltm_reply import LtmFault
from bus.errors import PeerUnavailable
from bus.rpc import RpcError
from config.place import Place
from config.schema_surfacing import SurfacingSettings
from tests.actors.surfacer.test_ltm import connected
from tests.eventually import eventually

KEY = "key-of-the-memory-service"
SEARCHES: dict[str, Any] = {
    "good": {"content": [{"type": "text", "text": '{"results": [{"content": "Refresh tokens rotate."}]}'}]},
    "no result of a tool": {"content": 7},
    "no memories": {"content": [{"type": "text", "text": '{"results": 5}'}]},
}


class Service(ThreadingHTTPServer):
    """MCP over HTTP by hand, so that it can be wrong: `how` says what a search gets; `mem_do` gets an error."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.how = "good"
        self.tools: Any = [{"name": name, "inputSchema": {"type": "object"}} for name in ("mem_search", "mem_do")]

    @property
    def settings(self) -> SurfacingSettings:
        return SurfacingSettings(
            ltm_mcp_transport="streamable_http",
            ltm_mcp_url=f"http://127.0.0.1:{self.server_port}/mcp",
            ltm_mcp_headers={"X-Key": "${LTM_KEY}"},
        )


class _Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._say(405, b"")

    do_DELETE = do_GET

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["x-key"] != KEY:
            self._say(401, b"")
        elif "id" not in asked:
            self._say(202, b"")
        elif asked.get("params", {}).get("name") == "mem_search" and self.server.how not in SEARCHES:
            self._say(500, b"") if self.server.how == "500" else self._say(200, b"{{{")
        else:
            self._say(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], **self._answer(asked)}).encode())

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["method"] == "initialize":
            version = asked["params"]["protocolVersion"]
            info = {"name": "by-hand", "version": "1"}
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        if asked["method"] == "tools/list":
            return {"result": {"tools": self.server.tools}}
        if asked["method"] == "tools/call" and asked["params"]["name"] == "mem_search":
            return {"result": SEARCHES[self.server.how]}
        return {"error": {"code": -32603, "message": "no such action"}}

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving() -> Iterator[Service]:
    service = Service()
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        service.server_close()
        thread.join()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setitem(os.environ, "LTM_KEY", KEY)
    with serving() as found:
        yield found


async def test_its_own_errors_cost_what_they_are_about_and_not_the_connection(place: Place, service: Service) -> None:
    async with connected(place, service.settings) as ltm:
        for _ in range(2):
            found = await ltm.search("tokens", timeout=20, session_context=True)
            assert [m.text for m in found.memories] == ["Refresh tokens rotate."]
        with pytest.raises(RpcError, match="no such action"):
            await ltm.boost(["one"])
        assert ltm.is_ready


@pytest.mark.parametrize("how", ["no result of a tool", "no memories", "no json"])
async def test_an_unreadable_answer_is_a_fault_of_its_own(place: Place, service: Service, how: str) -> None:
    async with connected(place, service.settings) as ltm:
        service.how = how
        with pytest.raises((LtmFault, RpcError)):
            await ltm.search("tokens", timeout=20)
        service.how = "good"
        assert len((await ltm.search("tokens", timeout=20)).memories) == 1


async def test_a_failing_status_leads_to_a_new_connection(place: Place, service: Service) -> None:
    async with connected(place, service.settings) as ltm:
        service.how = "500"
        with pytest.raises(PeerUnavailable):
            await ltm.search("tokens", timeout=20)
        await eventually(lambda: not ltm.is_ready)
        service.how = "good"
        await ltm.wait_ready(20)
        assert len((await ltm.search("tokens", timeout=20)).memories) == 1


async def test_an_unreadable_list_of_tools_is_not_the_end(place: Place, service: Service) -> None:
    good, service.tools = service.tools, "none"
    async with connected(place, service.settings, waits=False) as ltm:
        await eventually(lambda: ltm.state == "down")
        service.tools = good
        await ltm.wait_ready(20)
        assert ltm.state == "ready"


async def test_a_variable_that_is_not_set_is_named(
    place: Place, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(os.environ, "LTM_KEY")
    async with connected(place, service.settings, waits=False) as ltm:
        await eventually(lambda: ltm.state == "down")
        assert "LTM_KEY" in ltm.error
        assert "ltm_mcp_headers" in ltm.error
