"""Trace ids: one for each call, kept by everything that belongs to it; and what they are to OpenTelemetry."""

from __future__ import annotations

import hashlib
import re
import secrets

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_WITHIN = re.compile(r"([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{16}")
_OWN = re.compile(r"[0-9a-f]{16}")
_SAMPLED = 1


def new_trace_id(traceparent: str = "") -> str:
    """A fresh id, 16 hex digits; within a client's own trace `TRACE-SPAN-` stands before them.

    The client's context is a part of the id, so that whatever happens later to what the call left behind (a follow-up
    read, a rating) can still be put into that trace.

    Args:
        traceparent: of W3C Trace Context; one that is invalid, or that the client does not record, counts as none.
    """
    own = secrets.token_hex(8)
    match = _TRACEPARENT.fullmatch(traceparent)
    if match is None or traceparent.startswith("ff"):
        return own
    trace, span, flags = match.groups()
    if not int(trace, 16) or not int(span, 16) or not int(flags, 16) & _SAMPLED:
        return own
    return f"{trace}-{span}-{own}"


def otel_ids(trace_id: str) -> tuple[int, int | None]:
    """What a trace id is to OpenTelemetry: the 128-bit trace id, and the span that the call hangs under, if any.

    Ids of ours are filled up with zeros, as W3C Trace Context has it, so that they can be looked up; any other text is
    digested.
    """
    if match := _WITHIN.fullmatch(trace_id):
        return int(match[1], 16), int(match[2], 16)
    if _OWN.fullmatch(trace_id) and int(trace_id, 16):
        return int(trace_id, 16), None
    return int.from_bytes(hashlib.sha256(trace_id.encode("utf-8", "replace")).digest()[:16]), None


def span_id(trace_id: str, what: str) -> int:
    """The 64-bit id of one span of a trace, the same whenever it is asked for."""
    digest = hashlib.sha256(f"{trace_id}\0{what}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8]) or 1
