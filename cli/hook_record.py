"""The events about an output that was replaced, so that `mms stats` counts what it saved."""

from __future__ import annotations

import hashlib
import time

import msgspec

from actors.compressor.messages import Compressed
from actors.telemetry.messages import CallEvent, ProgressiveReadEvent, Record
from bus.message import Blob
from cli.hook_bus import SENDER
from cli.hook_event import SERVER, Event
from config.tokens import estimate_tokens


def records(
    event: Event, compressed: Compressed, *, surfacing: str, memories: str, trace_id: str, began: float
) -> Record:
    """A call of the server `builtin`, and the first page of each text that can be read on.

    Args:
        memories: the memory block beside the output; empty for none.
        surfacing: `surfaced`, or the reason why nothing was shown; empty when nobody was asked.
        began: `time.monotonic()` of the hook's start.
    """
    memory_tokens = estimate_tokens(memories)
    events: list[msgspec.Struct] = [
        CallEvent(
            trace_id=trace_id,
            server=SERVER,
            tool=event.tool,
            ok=True,
            original_chars=compressed.original_chars,
            cleaned_chars=compressed.cleaned_chars,
            compressed_chars=compressed.delivered_chars,
            delivered_chars=compressed.delivered_chars + len(memories),
            original_tokens=compressed.original_tokens,
            delivered_tokens=compressed.delivered_tokens + memory_tokens,
            memory_tokens=memory_tokens,
            strategy=compressed.strategy,
            surfacing=surfacing,
            total_ms=round((time.monotonic() - began) * 1000, 3),
            session=event.session,
        )
    ]
    events += [
        ProgressiveReadEvent(
            trace_id=trace_id,
            key_digest=hashlib.sha256(key.encode()).hexdigest()[:16],
            server=SERVER,
            tool=event.tool,
            served_chars=compressed.delivered_chars,
            total_chars=compressed.original_chars,
            progressive="progressive" in compressed.strategy,
        )
        for key in compressed.keys
    ]
    lines = b"".join(msgspec.json.encode(one) + b"\n" for one in events)
    return Record(lines=Blob(lines), producer=SENDER)
