"""Contract of the upstream pool apart from tools: what servers offer beside them, and who is told what.

A gateway opens one `Attend` for each of its clients. It is the client's lease: server processes of its own
(`session: dedicated`) end with it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from actors.upstream.messages import CallResult, Progress
from bus.message import Blob, Reply, Request

Kind = Literal["resources", "templates", "prompts"]
LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What one server lists: the JSON of each entry, as it came."""

    server: str
    prefix: str
    entries: tuple[bytes, ...] = ()


class Library(Reply, frozen=True, kw_only=True):
    """The offers of every server that answered in time, in the order of the configuration."""

    offers: tuple[Offer, ...] = ()


class ListLibrary(Request[Library], frozen=True, kw_only=True):
    """Lists what the servers offer; a server that is down or slow is left out."""

    actor = "upstream"
    reply = Library
    idempotent = True

    kind: Kind
    session: str = ""
    capabilities: bytes = b""


class AskServer(Request[CallResult], frozen=True, kw_only=True):
    """A request of a client that only reads (`resources/read`, `prompts/get`, `completion/complete`).

    Attributes:
        params: JSON object, in the server's own names.
        progress, capabilities, log_level, handshake: as in `CallTool`.

    Raises:
        as `CallTool`.
    """

    actor = "upstream"
    reply = CallResult
    item = Progress
    idempotent = True

    server: str
    method: str
    params: Blob
    progress: bool = False
    session: str = ""
    capabilities: bytes = b""
    log_level: str = ""
    handshake: bool = False


class Subscribe(Request[CallResult], frozen=True, kw_only=True):
    """Begins (`on`) or ends the reports of changes of one resource to one session; as `AskServer`."""

    actor = "upstream"
    reply = CallResult
    idempotent = True

    session: str
    server: str
    uri: str
    on: bool = True
    capabilities: bytes = b""
    handshake: bool = False


class ServerMessage(Reply, frozen=True, kw_only=True):
    """Something that a server says of its own accord.

    Attributes:
        params: JSON object, in the server's own names.
        number: for a request, by which `AnswerServer` names it; 0 for a notification. A request that the server has
            taken back comes once more as the notification `notifications/cancelled` with the same number.
    """

    server: str
    method: str
    params: bytes = b"{}"
    number: int = 0


class Attend(Request[ServerMessage], frozen=True, kw_only=True):
    """Streams what servers say to one client's session, until the gateway leaves it.

    Attributes:
        cwd: the client's working directory, where server processes of its own run; empty = the home directory.
        log_level: what `SetLogLevel` said last; empty = never asked for.
        subscriptions: `(server, uri)` of each resource subscribed so far (after a restart of the pool).
    """

    actor = "upstream"
    reply = ServerMessage

    session: str
    cwd: str = ""
    log_level: str = ""
    subscriptions: tuple[tuple[str, str], ...] = ()


class AnswerServer(Request[None], frozen=True, kw_only=True):
    """The client's answer to a request of a server; exactly one of the JSON of a result and of an error object."""

    actor = "upstream"

    session: str
    number: int
    result: Blob | None = None
    error: Blob | None = None


class ClientProgress(Request[None], frozen=True, kw_only=True):
    """The client tells how it gets on with a request of a server.

    Attributes:
        number: of the request, as in `ServerMessage`.
        params: JSON object of the notification, without `progressToken`.
    """

    actor = "upstream"

    session: str
    number: int
    params: bytes


class SetLogLevel(Request[None], frozen=True, kw_only=True):
    """Servers log from this level on, as long as no other client of a shared server wants more."""

    actor = "upstream"
    idempotent = True

    session: str
    level: str


class RootsChanged(Request[None], frozen=True, kw_only=True):
    """The client's roots have changed: its own servers are told."""

    actor = "upstream"
    idempotent = True

    session: str


def lies_within(uri: str, followed: str) -> bool:
    """Whether a change of a resource is reported to those who follow another: it is the same, or contained in it by its
    path."""
    return uri == followed or uri.startswith(followed.rstrip("/") + "/")
