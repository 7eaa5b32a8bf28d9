"""Sending traces to receivers of every kind: what arrives, what is dropped, and that nobody waits."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.telemetry.actor import TelemetryActor
from actors.telemetry.export import Exports, close
from actors.telemetry.messages import ExportHealth, GetTelemetryHealth, Query, Record
from bus.client import Bus
from bus.endpoint import Runtime
from bus.message import Blob
from bus.trace import new_trace_id
from config.export import Destination, Export
from config.place import Place
from config.problems import Problem
from tests.actors.telemetry.events import call, lines
from tests.eventually import PATIENCE_SECONDS, eventually_blocking
from tests.fixtures.otlp import Receiver

KEY = "key-of-the-collector"


def destination(url: str, **values: Any) -> Destination:
    fields: dict[str, Any] = {
        "name": "otlp",
        "endpoint": f"{url}/v1/traces",
        "headers": {"x-api-key": KEY},
        "sampling_rate": 1.0,
        "timeout_seconds": 0.3,
        "queue_spans": 100,
        "batch_spans": 50,
        "delay_seconds": 0.01,
        "flush_seconds": 1.0,
    }
    return Destination(**(fields | values))


@pytest.fixture
def exports() -> Iterator[Exports]:
    found = Exports()
    yield found
    found.close()


def begin(exports: Exports, *destinations: Destination) -> None:
    close(exports.use([Export(one.name, one, None) for one in destinations]))


def offer(exports: Exports, count: int = 1, **values: Any) -> list[bytes]:
    """Offers calls of one span each."""
    batch = [lines(call(trace_id=new_trace_id(), **values)).strip() for _ in range(count)]
    exports.offer(batch)
    return batch


def health(exports: Exports) -> ExportHealth:
    (found,) = exports.health()
    return found


def refused_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_spans_arrive_once_with_ids_times_and_attributes(exports: Exports) -> None:
    with Receiver() as receiver:
        begin(exports, destination(receiver.url))
        batch = offer(exports, tool="read", upstream_ms=3.0, total_ms=5.0, ok=False, error="timeout")
        exports.offer(batch)  # a producer that got no acknowledgement sends it again
        eventually_blocking(lambda: health(exports).sent == 2)
        (root,), (stage,) = receiver.named("tools/call read"), receiver.named("upstream")
        event = msgspec.json.decode(batch[0])
        assert root.trace == stage.trace == "0" * 16 + event["trace_id"]
        assert (root.parent, stage.parent) == ("", root.id)
        assert (root.end - root.start, stage.end - stage.start) == (5_000_000, 3_000_000)
        assert root.failed
        assert not stage.failed
        assert root.attributes["error.type"] == "timeout"
        assert root.attributes["gen_ai.tool.name"] == "read"
        assert receiver.paths == ["/v1/traces"]
        assert receiver.headers[0]["x-api-key"] == KEY
        assert receiver.resources[0]["service.name"] == "memtomem-bus"


def test_a_service_name_of_the_environment_counts(exports: Exports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=dev")
    with Receiver() as receiver:
        begin(exports, destination(receiver.url))
        offer(exports)
        eventually_blocking(lambda: receiver.spans)
        assert receiver.resources[0]["service.name"] == "mine"
        assert receiver.resources[0]["deployment.environment.name"] == "dev"


def test_headers_of_one_receiver_never_go_to_another(
    exports: Exports, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login me password of-netrc\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-other=of-the-collector")
    with Receiver() as receiver:
        begin(exports, destination(receiver.url, name="langfuse", headers={"authorization": "Basic bWU6eW91"}))
        offer(exports)
        eventually_blocking(lambda: receiver.spans)
        assert "x-other" not in receiver.headers[0]
        assert receiver.headers[0]["authorization"] == "Basic bWU6eW91"


def test_only_sampled_traces_are_sent(exports: Exports) -> None:
    with Receiver() as receiver:
        begin(exports, destination(receiver.url, sampling_rate=0.5))
        low, high = (lines(call(trace_id=first + "0" * 15)).strip() for first in ("1", "f"))
        exports.offer([high, low])
        eventually_blocking(lambda: health(exports).sent == 1)
        assert [span.trace[16:] for span in receiver.spans] == ["1" + "0" * 15]
        assert health(exports).dropped == 0


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [("failing", "500"), ("silent", "does not answer"), ("redirecting", "302"), ("absent", "cannot be reached")],
)
def test_a_receiver_that_fails_costs_spans_which_are_counted(exports: Exports, behaviour: Any, said: str) -> None:
    with Receiver("good" if behaviour == "absent" else behaviour) as receiver:
        url = f"http://127.0.0.1:{refused_port()}" if behaviour == "absent" else receiver.url
        begin(exports, destination(url))
        offer(exports, 3)
        eventually_blocking(lambda: health(exports).dropped == 3)
        found = health(exports)
        assert (found.state, found.sent) == ("failing", 0)
        assert said in found.error
        assert KEY not in found.error
        (fault,) = exports.faults()
        assert (fault.component, fault.what, fault.count) == ("export:otlp", "spans_dropped", 3)
        assert exports.faults() == []
        if behaviour != "absent":
            receiver.behaviour = "good"
            offer(exports)
            eventually_blocking(lambda: health(exports).sent == 1)
            assert (health(exports).state, health(exports).error) == ("on", "")


def test_spans_that_a_receiver_refuses_count_as_dropped(exports: Exports) -> None:
    with Receiver("picky") as receiver:
        begin(exports, destination(receiver.url))
        offer(exports, 3)
        eventually_blocking(lambda: health(exports).sent + health(exports).dropped == 3)
        assert health(exports).dropped == len(receiver.paths)


def test_the_queue_is_bounded_and_the_oldest_spans_go(exports: Exports) -> None:
    with Receiver("silent") as receiver:
        begin(exports, destination(receiver.url, queue_spans=10, batch_spans=10, timeout_seconds=30))
        offer(exports)
        eventually_blocking(lambda: receiver.paths)
        offer(exports, 25)
        assert (health(exports).waiting, health(exports).dropped) == (11, 15)


def test_ending_loses_what_a_silent_receiver_holds_and_says_how_much() -> None:
    with Receiver("silent") as receiver:
        exports = Exports()
        begin(exports, destination(receiver.url, timeout_seconds=3, flush_seconds=0.05))
        offer(exports, 3)
        eventually_blocking(lambda: receiver.paths)
        assert exports.close() == 3


def test_ending_sends_what_waits() -> None:
    with Receiver() as receiver:
        exports = Exports()
        begin(exports, destination(receiver.url, delay_seconds=2**53 / 1000, batch_spans=100))
        offer(exports, 40)
        assert exports.close() == 0
        assert len(receiver.spans) == 40


def test_changed_settings_change_destinations(exports: Exports) -> None:
    with Receiver() as one, Receiver() as other:
        begin(exports, destination(one.url))
        offer(exports)
        eventually_blocking(lambda: one.spans and health(exports).sent == 1)
        begin(exports, destination(one.url))
        assert health(exports).sent == 1  # the same one goes on
        begin(exports, destination(other.url), destination(one.url, name="langfuse"))
        offer(exports)
        eventually_blocking(lambda: other.spans and len(one.spans) == 2)
        exports.use([Export("otlp", None, Problem("warning", "otlp", "otlp.endpoint is no address"))])
        assert health(exports) == ExportHealth(name="otlp", state="misconfigured", error="otlp.endpoint is no address")


@pytest.mark.parametrize("line", [b"", b"{", b'{"kind":"call"}', lines(call(trace_id="t", ts="soon")).strip()])
def test_lines_that_are_no_events_are_left_out(exports: Exports, line: bytes) -> None:
    with Receiver() as receiver:
        begin(exports, destination(receiver.url))
        exports.offer([line])
        offer(exports)
        eventually_blocking(lambda: receiver.spans)
        assert len(receiver.spans) == 1


@pytest.fixture
async def actor(place: Place) -> AsyncIterator[TelemetryActor]:
    found = TelemetryActor(place)
    await found.start()
    yield found
    await found.stop(drain=0.1)


async def test_the_actor_follows_its_settings_and_reports_drops(
    actor: TelemetryActor, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus = Bus(Runtime(actor.place.runtime), "test")
    port = refused_port()
    otlp = {"enabled": True, "endpoint": f"http://127.0.0.1:{port}", "timeout_seconds": 0.2, "schedule_delay_ms": 10}
    actor.place.config_file.write_bytes(msgspec.json.encode({"otlp": otlp}))

    async def state() -> tuple[ExportHealth, ...]:
        return (await bus.ask(GetTelemetryHealth(), timeout=10)).exports

    await _until(state, lambda found: found)
    await bus.tell(Record(lines=Blob(lines(call(trace_id=new_trace_id()))), producer="test"), timeout=10)
    (found,) = await _until(state, lambda found: found[0].dropped == 1)
    assert (found.name, found.host, found.state) == ("otlp", f"127.0.0.1:{port}", "failing")
    sql = "SELECT component, what, count FROM fault WHERE what = 'spans_dropped'"

    async def faults() -> Any:
        return msgspec.json.decode((await bus.ask(Query(sql=sql), timeout=20)).rows.data)

    assert await _until(faults, lambda rows: rows) == [["export:otlp", "spans_dropped", 1]]
    broken = otlp | {"endpoint": "nonsense"}
    actor.place.config_file.write_bytes(msgspec.json.encode({"otlp": broken}))
    (found,) = await _until(state, lambda found: found[0].state == "misconfigured")
    assert "otlp.endpoint" in found.error
    actor.place.config_file.write_bytes(b"{}")
    assert await _until(state, lambda found: not found) == ()
    bus.close()


async def _until(ask: Callable[[], Awaitable[Any]], good: Callable[[Any], object]) -> Any:
    """Asks until the answer is good."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not good(answer := await ask()):
            await asyncio.sleep(0.05)
    return answer


def test_the_libraries_are_imported_by_those_who_export_only() -> None:
    code = (
        "import sys, actors.telemetry.actor, config.export;"
        "print([name for name in ('opentelemetry', 'requests', 'google.protobuf') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert told.stdout.strip() == "[]", told.stderr
