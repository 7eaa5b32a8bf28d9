"""A JSON-RPC peer over the stdio of a child process: many requests in flight, ids of our own, noise counted.

Knows nothing about MCP. Used for upstream servers and for the LTM server.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import msgspec

from bus import jsonrpc
from bus.child import EOF_GRACE_SECONDS, Child, ChildProtocol, spawn
from bus.errors import BusError, Busy, DeadlineExceeded, PeerUnavailable

MAX_LINE_BYTES = 41_943_040
MAX_UNSENT_BYTES = 64 * 1024 * 1024
"""What may wait for a child that does not read its stdin."""
EDGE_BYTES = 4_096
"""Kept from both ends of a line that is too long, to find the id in."""
SAMPLE_BYTES = 200

_ID_AT_EDGE = re.compile(rb'"id"\s*:\s*(\d+)\s*[,}]')


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


class TooLarge(BusError):
    """The answer is longer than the limit and was not kept."""

    code = "line_too_long"


class _Discarding:
    """State while a line that is too long goes by."""

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.tail = b""
        self.size = 0

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        self.tail = (self.tail + data[-EDGE_BYTES:])[-EDGE_BYTES:]

    def id(self) -> int | None:
        found = _ID_AT_EDGE.search(self.head) or next(iter(reversed(list(_ID_AT_EDGE.finditer(self.tail)))), None)
        return int(found[1]) if found else None


class RpcPeer(ChildProtocol):
    """The connection to one child. Made by `RpcPeer.spawn`.

    Attributes:
        closed: set when the child's stdout has ended; requests in flight have failed by then.
        junk_lines: lines on stdout that are no frames; junk_sample: the first of them.
        stderr_bytes: noise on stderr; stderr_tail: the end of it, for an error message.
    """

    def __init__(
        self,
        name: str,
        *,
        max_line: int,
        on_notification: Callable[[str, bytes], None] | None,
        on_request: Callable[[str, bytes], bytes | None] | None,
        on_stderr: Callable[[bytes], None] | None,
    ) -> None:
        super().__init__()
        self.name = name
        self.closed = asyncio.Event()
        self.junk_lines = 0
        self.junk_sample = ""
        self.stderr_bytes = 0
        self.stderr_tail = b""
        self.child: Child
        self._max_line = max_line
        self._on_notification = on_notification
        self._on_request = on_request
        self._on_stderr = on_stderr
        self._numbers = itertools.count(1)  # never 0: some peers ignore a cancel for it
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._discarding: _Discarding | None = None
        self._stdin: asyncio.WriteTransport | None = None

    @classmethod
    async def spawn(
        cls,
        argv: list[str],
        *,
        env: Mapping[str, str],
        name: str,
        cwd: str | None = None,
        group_dir: Path | None = None,
        max_line: int = MAX_LINE_BYTES,
        on_notification: Callable[[str, bytes], None] | None = None,
        on_request: Callable[[str, bytes], bytes | None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> RpcPeer:
        """Starts the child.

        Args:
            env: its whole environment (see `bus.child.environment`).
            group_dir: where its process group is written down.
            on_notification: called with method and the JSON of the params (`b""` if absent).
            on_request: answers a request of the peer with the JSON of a result, or `None` for "method not found".
            on_stderr: called with what the child writes on stderr.

        Raises:
            OSError: it cannot be started.
        """
        peer = cls(
            name,
            max_line=max_line,
            on_notification=on_notification,
            on_request=on_request,
            on_stderr=on_stderr,
        )
        peer.child = await spawn(peer, argv, env=env, cwd=cwd, records=group_dir)
        peer._stdin = cast(asyncio.WriteTransport, peer.child.transport.get_pipe_transport(0))
        return peer

    @property
    def in_flight(self) -> int:
        return len(self._waiting)

    def start(self, method: str, params: bytes | None) -> tuple[int, asyncio.Future[bytes]]:
        """Sends a request; returns its id and the future of the result's JSON.

        The future fails with `RpcError`, `TooLarge` or `PeerUnavailable` (the child went away).

        Raises:
            PeerUnavailable: the connection is closed; Busy: the child does not read.
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
            self.notify("notifications/cancelled", jsonrpc.encode({"requestId": number, "reason": reason}))

    def notify(self, method: str, params: bytes | None = None) -> None:
        """Sends a notification; raises as `start`."""
        self._write(jsonrpc.notification(method, params))

    async def close(self, eof_grace: float = EOF_GRACE_SECONDS) -> None:
        """Ends the child and everything it has started."""
        self._end()
        await self.child.stop(eof_grace)

    # What the event loop calls.

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if fd != 1:
            self.stderr_bytes += len(data)
            self.stderr_tail = (self.stderr_tail + data[-EDGE_BYTES:])[-EDGE_BYTES:]
            if self._on_stderr is not None:
                self._on_stderr(data)
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._line_part(data[start:end])
            self._line_end()
            start = end + 1
        if start < len(data):
            self._line_part(data[start:])

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._end()

    def _line_part(self, data: bytes) -> None:
        if self._discarding is not None:
            self._discarding.feed(data)
            return
        self._parts.append(data)
        self._size += len(data)
        if self._size > self._max_line:
            head = b"".join(self._parts)
            self._discarding = _Discarding(head[:EDGE_BYTES])
            self._discarding.feed(head)
            self._parts.clear()

    def _line_end(self) -> None:
        line, self._parts, self._size = b"".join(self._parts), [], 0
        gone, self._discarding = self._discarding, None
        if gone is not None:
            number = gone.id()
            future = self._waiting.pop(number, None) if number is not None else None
            if future is None:
                self._junk(gone.head)
            elif not future.done():
                limit = f"the limit of {self._max_line} bytes (max_upstream_bytes)"
                size = f"{gone.size / 1_000_000:.0f} MB"
                future.set_exception(TooLarge(f"the answer of {self.name} has {size}, over {limit}"))
            return
        line = line.strip()
        if line:
            self._frame(line)

    def _frame(self, line: bytes) -> None:
        if line[0] != 0x7B:  # "{"
            self._junk(line)
            return
        try:
            frame, line = jsonrpc.parse(line)
        except jsonrpc.FrameError as error:
            id_ = jsonrpc.scan_id(line)
            future = self._waiting.pop(int(id_), None) if id_.isdigit() else None
            if future is not None and not future.done():
                future.set_exception(RpcError(f"the answer of {self.name} is unreadable: {error.message}"))
            else:
                self._junk(line)
            return
        if frame.method is not msgspec.UNSET:
            params = b"" if frame.params is msgspec.UNSET else bytes(frame.params)
            if frame.id is msgspec.UNSET:
                if self._on_notification is not None:
                    self._on_notification(frame.method, params)
            else:
                self._answer(bytes(frame.id), frame.method, params)
        elif frame.id is not msgspec.UNSET:
            self._response(frame)
        else:
            self._junk(line)

    def _response(self, frame: jsonrpc.Frame) -> None:
        assert frame.id is not msgspec.UNSET
        raw = bytes(frame.id)
        future = self._waiting.pop(int(raw), None) if raw.isdigit() else None
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
            self._write(jsonrpc.error(id_, error))
        else:
            self._write(jsonrpc.result(id_, answer))

    def _junk(self, line: bytes) -> None:
        self.junk_lines += 1
        if self.junk_lines == 1:
            self.junk_sample = line[:SAMPLE_BYTES].decode("utf-8", "replace")

    def _write(self, frame: bytes) -> None:
        if self.closed.is_set() or self._stdin is None or self._stdin.is_closing():
            raise PeerUnavailable(f"the connection to {self.name} is closed")
        if self._stdin.get_write_buffer_size() > MAX_UNSENT_BYTES:
            raise Busy(f"{self.name} does not read its input")
        self._stdin.write(frame)

    def _end(self) -> None:
        if self.closed.is_set():
            return
        self.closed.set()
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(PeerUnavailable(f"{self.name} went away before it answered"))
