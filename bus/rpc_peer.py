"""A JSON-RPC peer over the stdio of a child process.

Knows nothing about MCP. Used for upstream servers and for the LTM server.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from bus import jsonrpc
from bus.child import EOF_GRACE_SECONDS, Child, ChildProtocol, spawn
from bus.errors import Busy
from bus.rpc import MAX_ID_DIGITS, NotSent, OnNotification, OnRequest, Rpc, TooLarge

MAX_LINE_BYTES = 41_943_040
MAX_UNSENT_BYTES = 64 * 1024 * 1024
"""What may wait for a child that does not read its stdin."""
EDGE_BYTES = 4_096
"""Kept from both ends of a line that is too long, to find the id in."""
LONGEST_WORDS = 300
"""Characters of a child's last line in a message."""
LAST_OUTPUT_SECONDS = 0.2
"""After a child's exit, or the end of its reading, for what it has written to arrive."""

_ID_AT_END = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')
"""Of the frame itself, and not of something in its result."""


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
        first = jsonrpc.scan_id(self.head)
        if first.isdigit():
            return int(first[:MAX_ID_DIGITS])
        found = _ID_AT_END.search(self.tail)
        return int(found[1]) if found else None


class RpcPeer(Rpc, ChildProtocol):
    """The connection to one child. Made by `RpcPeer.spawn`; closed when the child's stdout has ended.

    Attributes:
        stderr_tail: the end of what it wrote on stderr, for an error message.
    """

    def __init__(
        self,
        name: str,
        *,
        max_line: int,
        on_notification: OnNotification | None,
        on_request: OnRequest | None,
        on_stderr: Callable[[bytes], None] | None,
        shown_by: str,
    ) -> None:
        super().__init__(name, on_notification, on_request)
        self._shown_by = shown_by
        self.stderr_tail = b""
        self.child: Child
        self._max_line = max_line
        self._on_stderr = on_stderr
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
        on_notification: OnNotification | None = None,
        on_request: OnRequest | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        shown_by: str = "mms logs upstream",
    ) -> RpcPeer:
        """Starts the child.

        Args:
            env: its whole environment (see `bus.child.environment`).
            group_dir: where its process group is written down.
            on_stderr: called with what the child writes on stderr.
            shown_by: the command that shows what it has written there; empty: its last line belongs to `end_text`.

        Raises:
            OSError: it cannot be started.
        """
        peer = cls(
            name,
            max_line=max_line,
            on_notification=on_notification,
            on_request=on_request,
            on_stderr=on_stderr,
            shown_by=shown_by,
        )
        peer.child = await spawn(peer, argv, env=env, cwd=cwd, records=group_dir)
        peer.pid = peer.child.pid
        peer._stdin = cast(asyncio.WriteTransport, peer.child.transport.get_pipe_transport(0))
        return peer

    async def close(self, eof_grace: float = EOF_GRACE_SECONDS) -> None:
        """Ends the child and everything it has started."""
        self._end()
        await self.child.stop(eof_grace)

    def end_text(self) -> str:
        code = self.child.transport.get_returncode()
        closed = "input" if self.deaf else "output"
        text = f"it closed its {closed}" if code is None else f"it exited with code {code}"
        tail = self.stderr_tail.decode("utf-8", "replace").strip()
        if not tail:
            return text
        return f"{text}; its last words are in `{self._shown_by}`" if self._shown_by else f"{text}: {_last_line(tail)}"

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

    def process_exited(self) -> None:
        super().process_exited()
        # Something it has started may hold its output open for ever; what it wrote itself has arrived by then.
        asyncio.get_running_loop().call_later(LAST_OUTPUT_SECONDS, self._end)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._end()
        elif fd == 0 and not self.closed.is_set():  # a server that hears nothing is as good as gone
            self.deaf = True
            asyncio.get_running_loop().call_later(LAST_OUTPUT_SECONDS, self._end)

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

    def _write(self, frame: bytes) -> None:
        if self.closed.is_set() or self._stdin is None or self._stdin.is_closing():
            raise NotSent(f"the connection to {self.name} is closed")
        if self._stdin.get_write_buffer_size() > MAX_UNSENT_BYTES:
            raise Busy(f"{self.name} does not read its input")
        self._stdin.write(frame)


def _last_line(text: str) -> str:
    """What a program that gives up says last, without what could steer a terminal."""
    line = text.rsplit("\n", 1)[-1].strip()
    return "".join(character if character.isprintable() else " " for character in line)[:LONGEST_WORDS]
