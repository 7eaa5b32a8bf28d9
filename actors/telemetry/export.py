"""Sends traces: one bounded queue and one thread for each destination. Whatever a receiver does costs no event and no
call; what cannot be sent is dropped and counted.

Spans that wait are lost with the process. What a producer hands over again after a restart may be sent twice, under
the same ids, so that a receiver shows it once.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from actors.telemetry.export_spans import Span, is_sampled, spans_of
from actors.telemetry.messages import AnyEvent, ExportHealth, FaultEvent
from actors.telemetry.recent import RecentIds
from config.export import Destination, Export

if TYPE_CHECKING:
    from actors.telemetry.export_otlp import OtlpSender

REPORT_EVERY_SECONDS = 60.0
"""A receiver that stays down is a fault once in so long, with the number of spans it cost."""
LONGEST_WAIT_SECONDS = 3600.0
"""Longer delays are waited for in parts: a condition takes no number of any size."""

_decoder = msgspec.json.Decoder(AnyEvent)


class Exports:
    """All destinations. `offer` for one thread at a time, the rest for any."""

    def __init__(self) -> None:
        self._exporters: dict[str, Exporter] = {}
        self._problems: dict[str, str] = {}
        self._seen = RecentIds()

    def use(self, wanted: Sequence[Export]) -> list[Exporter]:
        """Takes over settings; a destination that they do not change goes on.

        Returns:
            Those that are no longer wanted, for the caller to close.
        """
        before = self._exporters
        self._problems = {export.name: export.problem.message for export in wanted if export.problem is not None}
        kept: dict[str, Exporter] = {}
        for export in wanted:
            if export.destination is not None:
                old = before.get(export.name)
                same = old is not None and old.destination == export.destination
                kept[export.name] = old if old is not None and same else Exporter(export.destination)
        self._exporters = kept
        return [exporter for name, exporter in before.items() if kept.get(name) is not exporter]

    def offer(self, lines: Iterable[bytes]) -> None:
        """Takes the events of a batch; never waits. Lines that are no events are left out."""
        exporters = list(self._exporters.values())
        if not exporters:
            return
        for line in lines:
            try:
                event = _decoder.decode(line)
                if event.event_id in self._seen:
                    continue
                spans = spans_of(event)
            except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
                continue
            self._seen.add(event.event_id)
            for exporter in exporters:
                exporter.offer(spans)

    def health(self) -> tuple[ExportHealth, ...]:
        """How each destination does, those with a fault in their settings included."""
        faulty = [ExportHealth(name=name, state="misconfigured", error=why) for name, why in self._problems.items()]
        return (*(exporter.health() for exporter in self._exporters.values()), *faulty)

    def faults(self) -> list[FaultEvent]:
        """What was dropped and not reported yet, if it is time."""
        found = (exporter.fault() for exporter in self._exporters.values())
        return [fault for fault in found if fault is not None]

    def close(self) -> int:
        """Sends what waits, as far as the time for it reaches; returns how many spans are lost."""
        self._problems = {}
        leaving, self._exporters = list(self._exporters.values()), {}
        return close(leaving)


class Exporter:
    """The queue and the thread of one destination."""

    def __init__(self, destination: Destination) -> None:
        self.destination = destination
        self._waiting: deque[Span] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._sent = self._dropped = self._reported = self._in_flight = 0
        self._report_at = 0.0
        self._error = ""
        self._sender: OtlpSender | None = None
        # A receiver that holds on to a request must not hold on to the process.
        self._thread = threading.Thread(target=self._run, name=f"export-{destination.name}", daemon=True)
        self._thread.start()

    def offer(self, spans: Sequence[Span]) -> None:
        """Takes what is sampled; past the bound the oldest spans go."""
        if not spans or not is_sampled(spans[0].trace, self.destination.sampling_rate):
            return
        with self._changed:
            self._waiting.extend(spans)
            while len(self._waiting) > self.destination.queue_spans:
                self._waiting.popleft()
                self._dropped += 1
            self._changed.notify()

    def health(self) -> ExportHealth:
        with self._changed:
            return ExportHealth(
                name=self.destination.name,
                host=self.destination.host,
                state="failing" if self._error else "on",
                error=self._error,
                sent=self._sent,
                dropped=self._dropped,
                waiting=len(self._waiting) + self._in_flight,
            )

    def fault(self) -> FaultEvent | None:
        """What was dropped since the last fault of this kind."""
        with self._changed:
            count = self._dropped - self._reported
            if not count or time.monotonic() < self._report_at:
                return None
            self._reported = self._dropped
            self._report_at = time.monotonic() + REPORT_EVERY_SECONDS
            detail = f"{self.destination.host}: {self._error or 'spans come faster than they can be sent'}"
            return FaultEvent(
                component=f"export:{self.destination.name}", what="spans_dropped", detail=detail, count=count
            )

    def finish(self) -> None:
        """Lets the thread send what waits, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()

    def join(self, until: float) -> int:
        """Waits for the thread until `until` (monotonic); returns how many spans are lost."""
        self._thread.join(max(0.0, until - time.monotonic()))
        if self._thread.is_alive() and self._sender is not None:
            self._sender.abort()
        with self._changed:
            lost = len(self._waiting) + self._in_flight
            self._waiting.clear()
            return lost

    def _run(self) -> None:
        try:
            # A tenth of a second of work, done beside everything else.
            from actors.telemetry.export_otlp import OtlpSender

            self._sender = sender = OtlpSender(self.destination)
            while batch := self._next():
                self._take(sender, batch, sender.send(batch))
        except Exception as error:  # a fault of the library, or of its installation, ends this export and nothing else
            with self._changed:
                self._error = f"sending has ended ({type(error).__name__}); `mms restart telemetry` starts it again"
                self._dropped += self._in_flight + len(self._waiting)
                self._in_flight = 0
                self._waiting.clear()

    def _next(self) -> list[Span]:
        """The next batch: after the delay, or when one is full; empty at the end."""
        size = self.destination.batch_spans
        with self._changed:
            # A receiver that fails is left alone for the whole delay.
            full = self.destination.queue_spans + 1 if self._error else size
            due = time.monotonic() + self.destination.delay_seconds
            while not self._closing and len(self._waiting) < full and (left := due - time.monotonic()) > 0:
                self._changed.wait(min(left, LONGEST_WAIT_SECONDS))
            while not self._waiting and not self._closing:
                self._changed.wait()
            if self._closing and self._error:
                return []
            batch = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            self._in_flight = len(batch)
            return batch

    def _take(self, sender: OtlpSender, batch: Sequence[Span], arrived: bool) -> None:
        with self._changed:
            self._in_flight = 0
            self._error = sender.error
            lost = min(sender.refused, len(batch)) if arrived else len(batch)
            self._sent += len(batch) - lost
            self._dropped += lost


def close(exporters: Sequence[Exporter]) -> int:
    """Ends several at the same time; returns how many spans are lost."""
    for exporter in exporters:
        exporter.finish()
    flush = max((exporter.destination.flush_seconds for exporter in exporters), default=0.0)
    until = time.monotonic() + flush
    return sum(exporter.join(until) for exporter in exporters)
