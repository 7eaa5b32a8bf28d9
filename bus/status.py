"""What every actor answers about itself."""

from __future__ import annotations

from bus.message import Reply, Request


class ActorStatus(Reply, frozen=True, kw_only=True):
    """One actor as it is now.

    Attributes:
        started: UTC seconds; rss_bytes: resident memory.
        running / waiting: handlers at work, messages in the mailbox; watches: open streams.
        handled / failed / refused: messages since start; refused ones met a full mailbox.
    """

    actor: str
    pid: int
    build: str
    incarnation: str
    started: float
    rss_bytes: int = 0
    running: int = 0
    waiting: int = 0
    watches: int = 0
    handled: int = 0
    failed: int = 0
    refused: int = 0


class GetStatus(Request[ActorStatus], frozen=True, kw_only=True):
    """Understood by every actor; the caller names it in `ask(…, actor=…)`."""

    actor = ""
    reply = ActorStatus
    idempotent = True
