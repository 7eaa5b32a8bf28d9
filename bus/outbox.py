"""Hands events over without ever making their producer wait: at least once, bounded, drops counted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections import deque

import msgspec

from bus.client import Bus
from bus.errors import BusError
from bus.message import Blob
from bus.record import Record

MAX_EVENTS = 20_000
MAX_BATCH = 2_000
FLUSH_SECONDS = 0.2
RETRY_SECONDS = 1.0
TELL_TIMEOUT_SECONDS = 5.0


class Outbox:
    """A bounded buffer of events in front of the actor that keeps them.

    A batch stays in the buffer until it is acknowledged and is sent again after a lost connection; the receiver
    recognises repeats by event id.

    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._events: deque[bytes] = deque()
        self._encoder = msgspec.json.Encoder()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closing = False
        self._is_failing = False
        self._flushes = 0
        self._added = 0
        self._gone = 0
        self._tried = asyncio.Event()
        self._overflowed = 0
        self._reported = 0
        self.dropped = 0

    def add(self, event: msgspec.Struct) -> None:
        """Takes an event; past `MAX_EVENTS` the oldest is dropped and counted, and so is one that is no valid JSON."""
        try:
            encoded = self._encoder.encode(event)
        except UnicodeEncodeError:  # a name with a lone surrogate
            self.dropped += 1
            return
        if len(self._events) >= MAX_EVENTS:
            self._events.popleft()
            self._gone += 1
            self._overflowed += 1
            self.dropped += 1
        self._events.append(encoded)
        self._added += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        self._wake.set()

    async def flush(self, timeout: float) -> None:
        """Returns when everything added so far is acknowledged, or after `timeout` seconds; at once while nobody takes
        it. For what is not to be told as done and then be lost with this process."""
        wanted = self._added
        self._flushes += 1
        self._wake.set()
        try:
            async with asyncio.timeout(timeout):
                while self._gone < wanted and not self._is_failing:
                    await self._tried.wait()
        except TimeoutError:
            return
        finally:
            self._flushes -= 1

    async def close(self, timeout: float) -> None:
        """Sends what is left within `timeout` seconds."""
        self._closing = True
        self._wake.set()
        if self._task is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._task, timeout)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            if not self._is_urgent:
                with contextlib.suppress(TimeoutError):
                    # A short pause gathers a batch; closing and flushing cut it short.
                    await asyncio.wait_for(self._urgency(), FLUSH_SECONDS)
            self._wake.clear()
            while self._events:
                self._is_failing = not await self._send_batch()
                tried, self._tried = self._tried, asyncio.Event()
                tried.set()
                if self._is_failing:
                    if self._closing:
                        return
                    await asyncio.sleep(RETRY_SECONDS)
            if self._closing:
                return

    @property
    def _is_urgent(self) -> bool:
        return self._closing or self._flushes > 0

    async def _urgency(self) -> None:
        while not self._is_urgent:
            self._wake.clear()
            await self._wake.wait()

    async def _send_batch(self) -> bool:
        batch = list(itertools.islice(self._events, MAX_BATCH))
        dropped, overflowed = self.dropped, self._overflowed
        lines = Blob(b"\n".join(batch) + b"\n")
        request = Record(lines=lines, dropped=dropped - self._reported, producer=self._bus.sender)
        try:
            await self._bus.tell(request, timeout=TELL_TIMEOUT_SECONDS)
        except BusError:
            return False
        self._reported = dropped
        # What overflowed meanwhile was at the front: remove only what is still there.
        for _ in range(len(batch) - min(self._overflowed - overflowed, len(batch))):
            self._events.popleft()
            self._gone += 1
        return True
