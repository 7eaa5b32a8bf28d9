"""`input_required`: the stateless era's way for a server to ask its client something during a request.

A server of that era answers with it, and the client repeats the request with its answers. A server of the handshake
era asks while its request stays open: for a stateless client such a request is parked here until the client comes back.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from actors.upstream.library_messages import ServerMessage
from actors.upstream.messages import CallResult
from bus import jsonrpc

PARKED_SECONDS = 600.0
"""How long a parked request waits for its client; nobody tells us when a user has walked away."""
MAX_PARKED = 64
"""Requests of one client that wait for it; one more ends the oldest, whose client has most likely forgotten it."""
MAX_ROUNDS = 10
STATE_PREFIX = "mms-"
_MARK = b'"input_required"'


def interim(raw: bytes) -> dict[str, msgspec.Raw] | None:
    """The members of a result that asks for input; `None` for every other result."""
    if _MARK not in raw:
        return None
    try:
        members = jsonrpc.members(raw)
    except msgspec.MsgspecError:
        return None
    return members if bytes(members.get("resultType", b"")) == _MARK else None


def for_handshake(method: str, params: bytes | None) -> bytes | None:
    """The params of an embedded request as a request of its own: clients of that era refuse a URL without an id."""
    if method != "elicitation/create" or params is None:
        return params
    parts: dict[str, Any] = dict(jsonrpc.members(params))
    if bytes(parts.get("mode", b"")) == b'"url"' and "elicitationId" not in parts:
        parts["elicitationId"] = secrets.token_hex(8)
    return jsonrpc.encode(parts)


def for_stateless(message: ServerMessage) -> dict[str, Any]:
    """A request of a server as it is embedded in an interim result."""
    embedded: dict[str, Any] = {"method": message.method}
    parts: dict[str, Any] = dict(jsonrpc.members(message.params))
    parts.pop("_meta", None)
    if message.method == "elicitation/create":
        parts.setdefault("mode", "form")
        parts.pop("elicitationId", None)
    if parts:
        embedded["params"] = parts
    return embedded


@dataclass(eq=False)
class Open:
    """A request of a stateless client to a server that may ask while it works.

    Attributes:
        questions: requests of the server that the client has not answered, by the pool's number.
        news: set when a question has come.
        on_progress: takes progress while the client waits; nobody does while it is parked.
    """

    server: str
    on_progress: Callable[[bytes], None] | None
    task: asyncio.Task[CallResult] = field(init=False)
    questions: dict[int, ServerMessage] = field(default_factory=dict)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    state: str = ""
    expiry: asyncio.TimerHandle | None = None

    def progressed(self, params: bytes) -> None:
        if self.on_progress is not None:
            self.on_progress(params)


class Parking:
    """The open requests of one client."""

    def __init__(self) -> None:
        self._open: list[Open] = []

    def add(self, entry: Open) -> None:
        self._open.append(entry)

    def leave(self, entry: Open) -> None:
        """The request is over."""
        if entry.expiry is not None:
            entry.expiry.cancel()
        entry.task.cancel()
        if entry in self._open:
            self._open.remove(entry)

    def ask(self, message: ServerMessage) -> bool:
        """Gives a question to the newest open request to its server; false when there is none."""
        entry = next((entry for entry in reversed(self._open) if entry.server == message.server), None)
        if entry is None:
            return False
        entry.questions[message.number] = message
        entry.news.set()
        return True

    def take_back(self, number: int) -> None:
        for entry in self._open:
            entry.questions.pop(number, None)

    def park(self, entry: Open) -> bytes:
        """The JSON of the interim result that carries the open questions."""
        parked = [other for other in self._open if other.state]
        if len(parked) >= MAX_PARKED:
            self.leave(parked[0])
        entry.state = STATE_PREFIX + secrets.token_urlsafe(24)
        entry.on_progress = None
        entry.news.clear()
        entry.expiry = asyncio.get_running_loop().call_later(PARKED_SECONDS, self.leave, entry)
        requests = {str(number): for_stateless(message) for number, message in entry.questions.items()}
        return jsonrpc.encode({"resultType": "input_required", "inputRequests": requests, "requestState": entry.state})

    def resume(self, state: str, server: str) -> Open | None:
        """The parked request of a state that we gave out; each state is good once."""
        entry = next((entry for entry in self._open if entry.state == state and entry.server == server), None)
        if entry is not None:
            entry.state = ""
            if entry.expiry is not None:
                entry.expiry.cancel()
        return entry

    def close(self) -> None:
        for entry in list(self._open):
            self.leave(entry)
