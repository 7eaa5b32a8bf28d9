"""One ZeroMQ socket on the event loop, without a task or a future per message.

ZeroMQ's file descriptor is edge-triggered: after it fires everything must be read, and a send may swallow the edge
that announced a message. Both rules are kept here and nowhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import zmq

from bus.envelope import LARGE_FRAME_BYTES, MAX_FRAME_BYTES, SEND_HIGH_WATER

BURST = 64
"""Messages handled before the loop may do something else."""


def configure(socket: zmq.Socket[bytes]) -> None:
    """Options of every socket of the bus."""
    socket.linger = 0  # the default keeps a process alive for one undelivered message
    socket.sndhwm = socket.rcvhwm = SEND_HIGH_WATER
    socket.maxmsgsize = MAX_FRAME_BYTES  # the default is no limit
    socket.heartbeat_ivl = 2_000  # a peer that vanished without closing its end is noticed
    socket.heartbeat_timeout = 30_000  # longer than any handler may hold its loop


class Wire:
    """Reads a socket as messages arrive and sends without blocking."""

    def __init__(self, socket: zmq.Socket[bytes], on_message: Callable[[list[bytes]], None]) -> None:
        self._socket = socket
        self._on_message = on_message
        self._loop = asyncio.get_running_loop()
        self._fd: int = cast(int, socket.get(zmq.FD))
        self._scheduled = False
        self.closed = False
        self._loop.add_reader(self._fd, self._read)
        self._schedule()

    def send(self, frames: list[bytes]) -> None:
        """Sends, or raises `zmq.Again` (the peer's queue is full, or nobody is connected) or
        `zmq.ZMQError(EHOSTUNREACH)` (a router's peer has gone)."""
        copy = sum(map(len, frames)) < LARGE_FRAME_BYTES
        self._socket.send_multipart(frames, zmq.NOBLOCK, copy=copy)
        if not self._scheduled and cast(int, self._socket.get(zmq.EVENTS)) & zmq.POLLIN:
            self._schedule()

    def drain(self) -> None:
        """Handles everything that has arrived already."""
        while not self.closed and cast(int, self._socket.get(zmq.EVENTS)) & zmq.POLLIN:
            self._on_message(self._socket.recv_multipart(zmq.NOBLOCK))

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._fd)
            self._socket.close()

    def _schedule(self) -> None:
        self._scheduled = True
        self._loop.call_soon(self._read)

    def _read(self) -> None:
        self._scheduled = False
        for _ in range(BURST):
            if self.closed:
                return
            try:
                frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._on_message(frames)
        if not self.closed:
            self._schedule()
