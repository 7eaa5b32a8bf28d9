"""HTTP/1.1 that does not wait for ever for a client to finish what it has begun to say.

The server below only ends connections that are idle between two requests: one that never sends the end of its headers,
or of its body, would hold a descriptor for as long as it likes, before anybody has asked for its token.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """One connection.

    Attributes:
        HEAD_SECONDS: from the first byte of a request, or the begin of the connection, to the end of the headers.
        BODY_SECONDS: from there to the end of the body: enough for the largest at 1 Mbit/s.
    """

    HEAD_SECONDS = 20.0
    BODY_SECONDS = 140.0
    _awaits: object = None
    _patience: asyncio.TimerHandle | None = None

    @property
    def waits(self) -> bool:
        """Whether a limit runs for the client."""
        return self._patience is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for(h11.IDLE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        state = self.conn.their_state
        self._wait_for(state if state in (h11.IDLE, h11.SEND_BODY) else None)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A refused request may still be sending its body; the time between two requests is limited elsewhere.
        self._wait_for(h11.SEND_BODY if self.conn.their_state is h11.SEND_BODY else None)

    def _wait_for(self, state: object) -> None:
        """Waits for the client to leave a state; `None` when it is not its turn. The same state has its first limit."""
        if state is self._awaits:
            return
        self._awaits = state
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if state is not None:
            seconds = self.HEAD_SECONDS if state is h11.IDLE else self.BODY_SECONDS
            self._patience = self.loop.call_later(seconds, self.transport.close)
