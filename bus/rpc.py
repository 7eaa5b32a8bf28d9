"""One side of a JSON-RPC conversation: ids of our own, many requests in flight, noise counted.

Knows nothing about MCP and nothing about transports.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable

import msgspec

from bus import jsonrpc
from bus.errors import BusError, DeadlineExceeded, PeerUnavailable

BOM = b"\xef\xbb\xbf"
"""Some programs begin their output with it."""
SAMPLE_BYTES = 200
MAX_ID_DIGITS = 18
"""More than any id of ours has."""


class _ErrorObject(msgspec.Struct):
    code: int
    message: str


_error_decoder = msgspec.json.Decoder(_ErrorObject)


class RpcError(BusError):
    """The peer answered with a JSON-RPC error; `raw` is the JSON of its error object."""

    code = "rpc_error"

    def __init__(self, message: str, *, trace_id: str = "", raw: bytes = b"") -> None:
        super().__init__(message, trace_id=trace_id)
        self.raw = raw


class LeftAlone(RpcError):
    """The peer wants to hear nothing for `seconds`; nothing has run."""

    code = "left_alone"

    def __init__(self, message: str, *, trace_id: str = "", seconds: int = 0) -> None:
        super().__init__(message, trace_id=trace_id)
        self.seconds = seconds


class NotSent(PeerUnavailable):
    """The request has not left us: nothing has run, so even a write may be sent again."""

    code = "not_sent"


class SessionLost(PeerUnavailable):
    """The peer no longer knows our session: nothing has run, but what the session had is gone as well. Only what does
    not depend on it may be sent again."""

    code = "session_lost"


class TooLarge(BusError):
    """The answer is longer than the limit and was not kept."""

    code = "line_too_long"


Answer = bytes | asyncio.Future[bytes] | None
"""What a request of the peer is answered with: the JSON of a result, now or later, or "method not found"."""


OnNotification = Callable[[str, bytes], None]
"""Called with the method and the JSON of the params (`b""` if absent)."""
OnRequest = Callable[[str, bytes], Answer]
"""Answers a request of the peer. A future may fail with `RpcError`; it is cancelled when the peer takes its request
back, or goes away."""


class Rpc(ABC):
    """The conversation with one peer. A subclass carries the frames and hands what comes in to `_frame`.

    Attributes:
        closed: set when nothing more can be sent or will come; requests in flight have failed by then, or end by
            themselves.
        deaf: nothing more can be sent; what is in flight may still be answered until it is closed.
        junk_lines: frames that are none; junk_sample: the first of them.
        stderr_bytes: noise beside the conversation.
        pid: process id of the peer, 0 when it is no child of ours.
    """

    def __init__(self, name: str, on_notification: OnNotification | None, on_request: OnRequest | None) -> None:
        super().__init__()
        self.name = name
        self.closed = asyncio.Event()
        self.deaf = False
        self.junk_lines = 0
        self.junk_sample = ""
        self.stderr_bytes = 0
        self.pid = 0
        self._on_notification = on_notification
        self._on_request = on_request
        self._numbers = itertools.count(1)  # never 0: some peers ignore a cancel for it
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._asked: dict[bytes, asyncio.Future[bytes]] = {}

    @property
    def in_flight(self) -> int:
        return len(self._waiting)

    def start(self, method: str, params: bytes | None) -> tuple[int, asyncio.Future[bytes]]:
        """Sends a request; returns its id and the future of the result's JSON.

        The future fails with `RpcError`, `TooLarge` or `PeerUnavailable` (the peer went away).

        Raises:
            NotSent: the connection is closed; Busy: the peer does not read.
        """
        number = next(self._numbers)
        self._write(jsonrpc.request(str(number).encode(), method, params))
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        return number, future

    async def request(self, method: str, params: bytes | None, *, timeout: float) -> bytes:
        """Sends a request and returns the JSON of its result; cancels it at the peer when the time runs out.

        Raises:
            as `start`, and DeadlineExceeded.
        """
        number, future = self.start(method, params)
        try:
            return await asyncio.wait_for(future, timeout)
        except TimeoutError:
            self.cancel(number, f"no answer within {timeout:g} s")
            raise DeadlineExceeded(f"{self.name} did not answer {method} within {timeout:g} s") from None
        except asyncio.CancelledError:
            self.cancel(number, "the caller cancelled")
            raise

    def cancel(self, number: int, reason: str) -> None:
        """Forgets a request and tells the peer; a late answer is ignored."""
        future = self._waiting.pop(number, None)
        if future is None:
            return
        future.cancel()
        if not self.closed.is_set():
            with contextlib.suppress(PeerUnavailable):  # who cancels has a reason of its own to tell
                self.notify("notifications/cancelled", jsonrpc.encode({"requestId": number, "reason": reason}))

    def notify(self, method: str, params: bytes | None = None) -> None:
        """Sends a notification; raises as `start`."""
        self._write(jsonrpc.notification(method, params))

    @abstractmethod
    async def close(self) -> None:
        """Ends the conversation, and the peer if it is ours."""

    @abstractmethod
    def end_text(self) -> str:
        """Why the conversation ended, for people: "it exited with code 1"."""

    @abstractmethod
    def _write(self, frame: bytes) -> None:
        """Sends one frame. Raises as `start`."""

    def _frame(self, line: bytes, number: int | None = None) -> None:
        """Takes one frame.

        Args:
            number: the request on whose own channel the frame came; an answer there is its answer, whatever id it has.
        """
        line = line.strip().removeprefix(BOM)
        if line[:1] == b"[":
            self._batch(line, number)
            return
        if line[:1] != b"{":
            if line:
                self._junk(line)
            return
        try:
            frame, line = jsonrpc.parse(line)
        except jsonrpc.FrameError as error:
            future = self._asker(jsonrpc.scan_id(line), number)
            if future is not None and not future.done():
                future.set_exception(RpcError(f"the answer of {self.name} is unreadable: {error.message}"))
            else:
                self._junk(line)
            return
        if frame.method is not msgspec.UNSET:
            params = b"" if frame.params is msgspec.UNSET else bytes(frame.params)
            if frame.id is msgspec.UNSET:
                if self._asked and frame.method == "notifications/cancelled":
                    self._taken_back(params)
                elif self._on_notification is not None:
                    self._on_notification(frame.method, params)
            else:
                self._answer(bytes(frame.id), frame.method, params)
        elif frame.id is not msgspec.UNSET or number is not None:
            self._response(frame, number)
        else:
            self._junk(line)

    def _batch(self, line: bytes, number: int | None) -> None:
        """Several frames in one, as peers of 2025-03-26 may send them."""
        try:
            entries = [] if jsonrpc.is_too_deep(line) else [bytes(entry) for entry in jsonrpc.elements(line)]
        except msgspec.MsgspecError:
            entries = []
        for entry in entries or [line]:
            if entry.startswith(b"{"):
                self._frame(entry, number)
            else:
                self._junk(entry)

    def _asker(self, id_: bytes, number: int | None) -> asyncio.Future[bytes] | None:
        """Who waits for this answer; waits no longer."""
        if number is None:
            number = int(id_) if id_.isdigit() and len(id_) <= MAX_ID_DIGITS else 0
        return self._waiting.pop(number, None)

    def _response(self, frame: jsonrpc.Frame, number: int | None) -> None:
        future = self._asker(b"" if frame.id is msgspec.UNSET else bytes(frame.id), number)
        if future is None or future.done():
            return  # cancelled meanwhile, or never asked
        if frame.error is not msgspec.UNSET and bytes(frame.error) != b"null":
            error = bytes(frame.error)
            try:
                found = _error_decoder.decode(error)
            except msgspec.MsgspecError:
                future.set_exception(RpcError(f"{self.name} answered with an error that is none (no code or message)"))
            else:
                future.set_exception(RpcError(found.message, raw=error))
            return
        result = b"" if frame.result is msgspec.UNSET else bytes(frame.result)
        if result[:1] == b"{":
            future.set_result(result)
        else:
            future.set_exception(RpcError(f"{self.name} answered without a result object"))

    def _answer(self, id_: bytes, method: str, params: bytes) -> None:
        answer = self._on_request(method, params) if self._on_request is not None else None
        if answer is None:
            error = jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, f"{method} is not supported on this connection")
            self._reply(jsonrpc.error(id_, error))
        elif isinstance(answer, bytes):
            self._reply(jsonrpc.result(id_, answer))
        else:
            self._asked[id_] = answer
            answer.add_done_callback(lambda done: self._answered(id_, done))

    def _answered(self, id_: bytes, answer: asyncio.Future[bytes]) -> None:
        if self._asked.get(id_) is answer:
            del self._asked[id_]
        if answer.cancelled() or self.closed.is_set():
            return
        error = answer.exception()
        raw = error.raw if isinstance(error, RpcError) else b""
        if error is None:
            self._reply(jsonrpc.result(id_, answer.result()))
        else:
            self._reply(jsonrpc.error(id_, raw or jsonrpc.error_object(jsonrpc.INTERNAL_ERROR, "not answered")))

    def _reply(self, frame: bytes) -> None:
        with contextlib.suppress(PeerUnavailable):  # nobody there any more, or nobody who reads
            self._write(frame)

    def _taken_back(self, params: bytes) -> None:
        """The peer no longer waits for the answer to a request of its own."""
        try:
            id_ = jsonrpc.members(params).get("requestId")
        except msgspec.MsgspecError:
            return
        asked = self._asked.pop(bytes(id_), None) if id_ is not None else None
        if asked is not None:
            asked.cancel()

    def _junk(self, line: bytes) -> None:
        self.junk_lines += 1
        if self.junk_lines == 1:
            self.junk_sample = line[:SAMPLE_BYTES].decode("utf-8", "replace")

    def _end(self) -> None:
        if not self.closed.is_set():
            self.closed.set()
            self._abandon()

    def _abandon(self) -> None:
        """Fails what is in flight, in both directions."""
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(PeerUnavailable(f"{self.name} went away before it answered"))
        asked, self._asked = self._asked, {}
        for future in asked.values():
            future.cancel()
