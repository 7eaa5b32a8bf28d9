"""Asks actors without an event loop: one question, one answer, within a deadline. asyncio alone would cost a hook half
of its time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import zmq

from bus import envelope
from bus.endpoint import Runtime
from bus.errors import BusError
from bus.message import Request

SENDER = "hook"
HANDSHAKE_SECONDS = 0.5
"""An actor that lives accepts a connection within a few milliseconds, however busy it is: libzmq does it in a thread of
its own. One that does not is stopped or hung."""
_NUMBER = 1


def ask_all(runtime: Runtime, requests: Sequence[Request[Any]], deadline: float, trace_id: str) -> list[Any]:
    """The reply to each request, all asked at once; `None` in the place of one that failed or came too late.

    Args:
        deadline: `time.monotonic()`.
    """
    replies: list[Any] = [None] * len(requests)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    poller = zmq.Poller()
    open_: dict[zmq.Socket[bytes], int] = {}
    for number, request in enumerate(requests):
        socket = _connect(context, runtime.address(request.actor))
        poller.register(socket, zmq.POLLOUT)  # possible once the other side has shaken hands
        open_[socket] = number
    connected_by = min(deadline, time.monotonic() + HANDSHAKE_SECONDS)
    unsent = set(open_)
    while open_:
        left = (connected_by if unsent else deadline) - time.monotonic()
        ready = dict(poller.poll(max(0, int(left * 1000) + 1)))
        for socket, number in list(open_.items()):
            if socket in unsent and ready.get(socket):
                unsent.remove(socket)
                poller.modify(socket, zmq.POLLIN)
                socket.send_multipart(_frames(requests[number], deadline, trace_id), zmq.NOBLOCK)
            elif ready.get(socket):
                answered, reply = _reply(requests[number], socket.recv_multipart(zmq.NOBLOCK))
                if answered:
                    replies[number] = reply
                    poller.unregister(socket)
                    open_.pop(socket)
        now = time.monotonic()
        if unsent and now >= connected_by:
            for socket in unsent:
                poller.unregister(socket)
                open_.pop(socket)
            unsent.clear()
        if now >= deadline:
            break
    return replies


def _connect(context: zmq.Context[zmq.Socket[bytes]], address: str) -> zmq.Socket[bytes]:
    socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
    socket.linger = 0
    socket.immediate = True  # nothing is queued for an actor that is not there
    socket.maxmsgsize = envelope.MAX_FRAME_BYTES
    socket.connect(address)
    return socket


def _frames(request: Request[Any], deadline: float, trace_id: str) -> list[bytes]:
    header = {
        envelope.ID: _NUMBER,
        envelope.TARGET: request.actor,
        envelope.OPERATION: type(request).__name__,
        envelope.TRACE: trace_id,
        envelope.SENDER: SENDER,
        envelope.DEADLINE_MS: max(0, int((deadline - time.monotonic()) * 1000)),
    }
    return envelope.pack(envelope.ASK, header, request)


def _reply(request: Request[Any], frames: list[bytes]) -> tuple[bool, Any]:
    """Whether this is the end of the question, and the reply if it is one."""
    try:
        kind, header = envelope.unpack(frames)
        if kind == envelope.REPLY and header[envelope.ID] == _NUMBER:
            return True, envelope.body(request.reply, frames)
    except BusError:
        return True, None
    return kind == envelope.ERROR, None
