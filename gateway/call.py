"""One call on its way: what it asks for, what comes of it, and what is noted about it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from actors.upstream.messages import ToolEntry
from gateway.session import Session


@dataclass(slots=True)
class Call:
    """One `tools/call` of a client for a tool of an upstream.

    Attributes:
        arguments: JSON object, without `_context_query`.
        meta: JSON object of foreign `_meta` to pass on, or `None`.
        on_progress: takes the params of each progress notification.
        stateless: the client is of the stateless era.
        started: `time.perf_counter()` when the frame was read.
        client: who is asked when the server needs input.
        capabilities: JSON of what it can be asked; empty for nothing.
        log_level: least level of log messages that it wants; empty for none.
        inputs: `inputResponses` and `requestState` of a client that comes back with its input.
    """

    entry: ToolEntry
    arguments: bytes
    meta: bytes | None = None
    context_query: str = ""
    on_progress: Callable[[bytes], None] | None = None
    stateless: bool = False
    session: str = ""
    started: float = field(default_factory=time.perf_counter)
    client: Session | None = None
    capabilities: bytes = b""
    log_level: str = ""
    inputs: dict[str, msgspec.Raw] = field(default_factory=dict)

    def elapsed_ms(self) -> float:
        """Milliseconds since the frame was read."""
        return (time.perf_counter() - self.started) * 1000


@dataclass(slots=True)
class Outcome:
    """Exactly one of the JSON of a result and the JSON of a JSON-RPC error."""

    result: bytes | None = None
    error: bytes | None = None


@dataclass(slots=True)
class Notes:
    """What the telemetry event of a call will say.

    Attributes:
        compressed_chars / shortened_tokens: of the response as it is delivered, without memories.
        memory_chars / memory_tokens: of the memory block beside it.
        upstream_at_ms etc.: when the stage began, since the frame was read; 0 where it did not run.
    """

    trace_id: str
    ok: bool = True
    error: str = ""
    error_type: str = ""
    cached: bool = False
    retries: int = 0
    strategy: str = "none"
    surfacing: str = ""
    degraded: str = ""
    original_chars: int = 0
    cleaned_chars: int = 0
    compressed_chars: int = 0
    original_tokens: int = 0
    shortened_tokens: int = 0
    memory_chars: int = 0
    memory_tokens: int = 0
    upstream_ms: float = 0.0
    compress_ms: float = 0.0
    surface_ms: float = 0.0
    upstream_at_ms: float = 0.0
    compress_at_ms: float = 0.0
    surface_at_ms: float = 0.0
