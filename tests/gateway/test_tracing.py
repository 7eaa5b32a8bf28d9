"""Traces of a whole cluster, as a receiver of OTLP gets them."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import Any

import pytest

from tests.eventually import eventually
from tests.fixtures.home import Home
from tests.fixtures.mcp_client import McpClient
from tests.fixtures.otlp import Receiver
from tests.gateway.conftest import Start

pytestmark = pytest.mark.slow

KEY = "key-of-the-collector-4711"
SECRET = "hunter2-correct-horse"
BODY = "wordofthebody"
QUERY = "wordofthequery"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def otlp(url: str, **keys: Any) -> dict[str, Any]:
    return {"enabled": True, "endpoint": url, "headers": {"x-api-key": KEY}, "schedule_delay_ms": 50, **keys}


def long_text() -> str:
    return "\n".join(f"line {number}: {BODY} password={SECRET}" for number in range(600))


def recall_key(text: str) -> str:
    found = re.search(r'key="([^"]+)"', text)
    assert found is not None, text[-300:]
    return found[1]


def health(home: Home) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(home.mms("health", "--json").stdout)
    return found


async def test_a_call_its_stages_and_its_follow_ups_are_one_trace(home: Home, start: Start) -> None:
    with Receiver() as receiver:
        home.serve("echo", "failing", otlp=otlp(receiver.url), selection_telemetry={"enabled": True})
        client = await start("echo__text", "failing__plain")
        before = time.time_ns()
        arguments = {"text": long_text(), "_context_query": QUERY}
        shortened = await client.call("echo__text", arguments)
        await client.call("stm_proxy_read_more", {"key": recall_key(shortened.text), "offset": 100})
        await client.call("echo__count", {})
        await client.call("echo__count", {})
        await client.call("failing__plain", {})
        meta = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "a=b"}
        await client.request("tools/call", {"name": "echo__echo", "arguments": {"text": BODY}, "_meta": meta})
        await eventually(lambda: receiver.named("tools/call echo") and receiver.named("read_more"))
        after = time.time_ns()

        (first,) = receiver.named("tools/call text")
        stages = {span.name: span for span in receiver.spans if span.parent == first.id}
        assert set(stages) == {"upstream", "compress", "read_more"}
        assert {span.trace for span in stages.values()} == {first.trace}
        assert before < first.start <= stages["upstream"].start <= stages["upstream"].end
        assert stages["upstream"].end <= stages["compress"].start < stages["compress"].end <= first.end < after
        assert stages["read_more"].attributes["mms.read.offset"] == 100
        original, delivered = (first.attributes[f"mms.chars.{name}"] for name in ("original", "delivered"))
        assert original == len(long_text()) > delivered > 0

        asked, cached = receiver.named("tools/call count")
        assert len({first.trace, asked.trace, cached.trace}) == 3
        assert [span.name for span in receiver.spans if span.parent == asked.id] == ["upstream"]
        assert [span.name for span in receiver.spans if span.parent == cached.id] == ["cache"]
        assert cached.attributes["mms.cache.hit"] is True
        (failed,) = receiver.named("tools/call plain")
        assert failed.failed
        assert failed.attributes["error.type"] == "upstream_error"
        (traced,) = receiver.named("tools/call echo")
        assert (traced.trace, traced.parent) == (TRACE, SPAN)

        sent = b"".join(receiver.bodies)
        for text in (BODY, QUERY, SECRET, KEY, "password", "line 1"):
            assert text.encode() not in sent
        (export,) = health(home)["telemetry"]["exports"]
        assert (export["state"], export["dropped"], export["host"]) == ("on", 0, receiver.url.removeprefix("http://"))
        assert export["sent"] == len(receiver.spans)
        assert KEY not in home.mms("config", "show", "otlp").stdout
        assert "traces to otlp" in home.mms("doctor").stdout

        (actor,) = [pid for pid, line in home.processes().items() if "actors.telemetry" in line]
        os.kill(actor, signal.SIGKILL)
        await called(client, 1)
        await eventually(lambda: len(receiver.named("tools/call echo")) == 2)
        ids = [span.id for span in receiver.spans]
        assert len(ids) == len(set(ids)), "something was sent twice"


async def called(client: McpClient, count: int) -> None:
    for number in range(count):
        assert (await client.call("echo__echo", {"text": f"hello {number}"})).text


async def test_receivers_that_do_not_work_cost_no_call(home: Home, start: Start) -> None:
    """One answers 500, the other takes requests and never answers."""
    with Receiver("failing") as failing, Receiver("silent") as silent:
        langfuse = {"enabled": True, "host": silent.url, "public_key": "pk-lf-1", "secret_key": SECRET}
        home.serve("echo", otlp=otlp(failing.url, timeout_seconds=0.5), langfuse=langfuse)
        client = await start("echo__echo")
        await called(client, 5)

        def dropped() -> dict[str, int]:
            return {one["name"]: one["dropped"] for one in health(home)["telemetry"]["exports"]}

        await eventually(lambda: min(dropped().values()) > 0)
        await called(client, 5)
        told = home.mms("health")
        assert told.returncode == 0, told.stderr
        assert "the receiver answered 500" in told.stderr
        assert "the receiver does not answer" in told.stderr
        assert silent.paths[0] == "/api/public/otel/v1/traces"
        sql = "SELECT count(DISTINCT component) FROM fault WHERE what = 'spans_dropped'"
        await eventually(lambda: "2" in home.mms("sql", sql, "--format", "csv").stdout.split())
        everything = told.stdout + told.stderr + home.mms("doctor").stdout + home.mms("logs", "telemetry").stdout
        assert SECRET not in everything
        assert KEY not in everything


def test_settings_that_cannot_work_are_a_warning(home: Home) -> None:
    home.serve("echo", otlp=otlp("collector:4318"))
    checked = home.mms("config", "validate")
    assert checked.returncode == 0
    assert "otlp.endpoint is no address" in checked.stderr
    assert re.search(
        "WARN  traces to otlp: otlp.endpoint is no address.*\n.*mms config validate", home.mms("doctor").stdout
    )
