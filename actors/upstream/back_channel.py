"""What is said where a server wants to ask its client something and nobody can be asked. Pure.

Clients that share a server cannot be asked by it: it does not say whose call a question belongs to. A server that
speaks both eras is spoken to in the stateless one then; many know only one way to ask, that of the handshake, and fail
the call with words that help nobody.
"""

from __future__ import annotations

from bus import jsonrpc

_WORDS = b"no back-channel"
_FAILED = b'"isError":true'
MOST_BYTES = 4_096
"""No such failure is longer."""


def refusal(server: str, method: str) -> bytes:
    """JSON of the error that a shared server is given for a question."""
    what = f"{method} is not supported: several clients share this connection, so it is not known whom to ask"
    return jsonrpc.error_object(jsonrpc.METHOD_NOT_FOUND, f"{what}; {_fix(server)}")


def explained(answer: bytes, server: str, *, failed: bool) -> bytes:
    """The answer of a shared server, with the way out behind its words if it fails for want of somebody to ask.

    Args:
        answer: the JSON of a result, or of an error object.
        failed: it is an error object.
    """
    if len(answer) > MOST_BYTES or _WORDS not in answer:
        return answer
    if not failed and _FAILED not in answer.replace(b" ", b""):
        return answer
    return answer.replace(_WORDS, _WORDS + jsonrpc.encode(f" ({_fix(server)})")[1:-1], 1)


def _fix(server: str) -> str:
    return f"`mms set {server} session=dedicated` gives each client one of its own"
