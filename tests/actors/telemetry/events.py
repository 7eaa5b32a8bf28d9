"""Events as producers send them."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.telemetry.messages import CallEvent, Event


def lines(*events: Event) -> bytes:
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def call(**values: Any) -> CallEvent:
    fields: dict[str, Any] = {"server": "fs", "tool": "read", "ok": True}
    return CallEvent(**(fields | values))


def calls(count: int, **values: Any) -> list[Event]:
    return [call(**values) for _ in range(count)]
