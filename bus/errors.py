"""Every error that crosses the bus, in one tree.

::

    BusError                     base; has `code`, `message`, `retryable`
    ├── PeerUnavailable          the actor is not there (yet)                     retryable
    │   ├── PeerRestarted        it was replaced while the request was in flight  retryable
    │   ├── Stopping             it takes nothing in any more; nothing has begun  retryable
    │   └── Busy                 its mailbox is full                              retryable
    ├── DeadlineExceeded         the time the caller gave ran out                 retryable
    ├── ProtocolError            a frame that this wire version cannot read
    │   ├── VersionMismatch      the other side speaks another wire version
    │   ├── UnknownOperation     the actor has no such operation
    │   └── InvalidMessage       the body does not fit the operation's type
    ├── HandlerFailed            the handler raised something that is not a BusError
    ├── AlreadyRunning           another process owns this actor's name
    ├── StateError               a store cannot be used
    │   └── NewerState           it was written by a newer version; left alone
    ├── ConfigError              a configuration that cannot be used
    └── Refused                  the request is understood and declined (bad argument, unknown key)

A `BusError` crosses the wire as `code`, `message` and `retryable` (never a traceback, never a secret) and is
raised again at the caller as the class that owns the code. `retryable` says that the same request may succeed
later; whether it may be *repeated* is decided by the request type (`Request.idempotent`).
"""

from __future__ import annotations

from typing import ClassVar


class BusError(Exception):
    """Base of the tree.

    Args:
        message: one line for people: what happened, to what, and what to do about it.
        trace_id: the call this belongs to, if known.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, trace_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.trace_id = trace_id


class PeerUnavailable(BusError):
    code = "peer_unavailable"
    retryable = True


class PeerRestarted(PeerUnavailable):
    code = "peer_restarted"


class Stopping(PeerUnavailable):
    code = "stopping"


class Busy(PeerUnavailable):
    code = "busy"


class DeadlineExceeded(BusError):
    code = "deadline_exceeded"
    retryable = True


class ProtocolError(BusError):
    code = "protocol_error"


class VersionMismatch(ProtocolError):
    code = "version_mismatch"


class UnknownOperation(ProtocolError):
    code = "unknown_operation"


class InvalidMessage(ProtocolError):
    code = "invalid_message"


class HandlerFailed(BusError):
    code = "handler_failed"


class AlreadyRunning(BusError):
    code = "already_running"


class StateError(BusError):
    code = "state_error"


class NewerState(StateError):
    code = "newer_state"


class ConfigError(BusError):
    code = "config_error"


class Refused(BusError):
    code = "refused"


def _tree(root: type[BusError]) -> dict[str, type[BusError]]:
    found = {root.code: root}
    for child in root.__subclasses__():
        found |= _tree(child)
    return found


def from_wire(code: str, message: str, trace_id: str = "") -> BusError:
    """The error a peer sent, as the class that owns `code` (a plain `BusError` for a code not known here)."""
    return _tree(BusError).get(code, BusError)(message, trace_id=trace_id)
