"""Newline-delimited frames on stdin and stdout, whatever those are: pipes, sockets, terminals or files."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable

MAX_LINE_BYTES = 64 * 1024 * 1024
CHUNK = 256 * 1024


class Lines(asyncio.Protocol):
    """Cuts the incoming bytes at newlines, and nowhere else.

    Args:
        on_line: called with each line, without its newline.
        on_too_long: called once for each line above `MAX_LINE_BYTES`, which is skipped.
    """

    def __init__(self, on_line: Callable[[bytes], None], on_too_long: Callable[[], None]) -> None:
        self.ended = asyncio.Event()
        self._on_line = on_line
        self._on_too_long = on_too_long
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def data_received(self, data: bytes) -> None:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._part(data[start:end])
            line, skipped = b"".join(self._parts), self._skipping
            self._parts, self._size, self._skipping = [], 0, False
            if not skipped:
                self._on_line(line)
            start = end + 1
        if start < len(data):
            self._part(data[start:])

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._parts and not self._skipping:
            self._on_line(b"".join(self._parts))  # a last line without its newline counts
            self._parts = []
        self.ended.set()

    def _part(self, data: bytes) -> None:
        if self._skipping:
            return
        self._parts.append(data)
        self._size += len(data)
        if self._size > MAX_LINE_BYTES:
            self._parts, self._skipping = [], True
            self._on_too_long()


class Output(asyncio.BaseProtocol):
    """Writes frames without blocking; counts what the client has not taken."""

    def __init__(self) -> None:
        self.lost = asyncio.Event()
        self._transport: asyncio.WriteTransport | None = None
        self._fd = -1

    async def open(self, fd: int) -> None:
        """Takes over `fd`."""
        if _is_file(fd):
            self._fd = fd
            return
        pipe = os.fdopen(fd, "wb", 0)
        transport, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: self, pipe)
        self._transport = transport

    def write(self, frame: bytes) -> None:
        if self.lost.is_set():
            return
        if self._transport is None:
            view = memoryview(frame)
            while view:
                view = view[os.write(self._fd, view) :]
        else:
            self._transport.write(frame)

    async def flush(self, seconds: float) -> None:
        """Waits until the client has taken everything, `seconds` at most."""
        transport = self._transport
        if transport is None:
            return
        end = asyncio.get_running_loop().time() + seconds
        while transport.get_write_buffer_size() and not self.lost.is_set():
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(0.005)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()

    def pause_writing(self) -> None:
        """The client reads slowly; calls in flight are bounded, so what waits here is too."""

    def resume_writing(self) -> None:
        """The client has caught up."""


async def read(fd: int, lines: Lines) -> None:
    """Feeds `lines` from `fd` until it ends."""
    loop = asyncio.get_running_loop()
    if not _is_file(fd):
        await loop.connect_read_pipe(lambda: lines, os.fdopen(fd, "rb", 0))
        return
    while data := await asyncio.to_thread(os.read, fd, CHUNK):
        lines.data_received(data)
    lines.connection_lost(None)


def take_standard_streams() -> tuple[int, int]:
    """Private descriptors of stdin and stdout; the public ones no longer reach the client, so that a stray print or a
    child cannot corrupt the wire."""
    reader, writer = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return reader, writer


def _is_file(fd: int) -> bool:
    return stat.S_ISREG(os.fstat(fd).st_mode)
