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
            self._overflowed += 1
            self.dropped += 1
        self._events.append(encoded)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        self._wake.set()

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
            if not self._closing:
                with contextlib.suppress(TimeoutError):
                    # A short pause gathers a batch; closing cuts it short.
                    await asyncio.wait_for(self._closed(), FLUSH_SECONDS)
            self._wake.clear()
            while self._events:
                if not await self._send_batch():
                    if self._closing:
                        return
                    await asyncio.sleep(RETRY_SECONDS)
            if self._closing:
                return

    async def _closed(self) -> None:
        while not self._closing:
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
        return True
