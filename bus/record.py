"""How events are handed over: the one contract that every actor needs, so it stands here."""

from __future__ import annotations

from bus.message import Blob, Request


class Record(Request[None], frozen=True, kw_only=True):
    """Hands over events; acknowledged once they are appended to the event log.

    Attributes:
        lines: newline-terminated JSON objects, one event each.
        dropped: events the producer had to drop since its last batch.
        producer: who sends.
    """

    actor = "telemetry"
    idempotent = True

    lines: Blob
    dropped: int = 0
    producer: str = ""
