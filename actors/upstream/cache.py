"""Which responses are cached, under which key, and what is never kept. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from bus import jsonrpc
from config.credentials import may_hold_credential
from config.policy import ToolPolicy

AnnotationPolicy = Literal["strict", "conservative", "ignore"]
SLICE_CHARS = 256 * 1024
"""Looked at in one go: Python's own regular expressions hold up every other thread meanwhile."""
OVERLAP_CHARS = 4 * 1024
"""Longer than the part of a credential that gives it away."""

# The look-behind makes a long run of backslashes one candidate and not as many as it has characters.
_ESCAPED_ASCII = re.compile(r"(?<!\\)\\+u00([2-7][0-9a-fA-F])")
_ESCAPED_SPACE = re.compile(r"(?<!\\)\\+(?:[nrtbf]|u00[01][0-9a-fA-F])")


@dataclass(frozen=True)
class Caching:
    """The responses of a tool are cached for `ttl` seconds; `None` = for ever."""

    ttl: float | None


def caching(policy: ToolPolicy, annotations: AnnotationPolicy, *, read_only: bool, writes: bool) -> Caching | None:
    """How a tool's responses are cached; `None` = not at all.

    `cache: true` adds tools that say nothing about themselves; a tool that declares that it writes is cached only where
    annotations are ignored.

    Args:
        read_only: declares `readOnlyHint: true` without `destructiveHint: true`.
        writes: declares `readOnlyHint: false` or `destructiveHint: true`.
    """
    if policy.cache is False or policy.cache_ttl_seconds == 0:
        return None
    if annotations != "ignore":
        if writes:
            return None
        if not (read_only or policy.cache or annotations == "conservative"):
            return None
    return Caching(policy.cache_ttl_seconds)


def response_key(server: str, tool: str, params: bytes, connection: str, client: str = "") -> bytes | None:
    """Names a call: equal for calls that a server cannot tell apart, 32 bytes.

    Args:
        params: JSON object of the call without `name`; its `_meta` (progress token, trace) does not count.
        connection: fingerprint of what the server was started or reached with.
        client: who calls, where a server serves clients apart.

    Returns:
        `None` when the call is no plain one (more than arguments), or its arguments have no canonical form.
    """
    try:
        parts = jsonrpc.members(params)
    except (msgspec.MsgspecError, RecursionError):
        return None
    if not parts.keys() <= {"arguments", "_meta"}:
        return None
    arguments = canonical(bytes(parts.get("arguments", b"{}")))
    if arguments is None:
        return None
    digest = hashlib.sha256()
    for part in (server.encode("utf-8", "surrogatepass"), tool.encode("utf-8", "surrogatepass"), arguments,
                 connection.encode(), client.encode("utf-8", "surrogatepass")):  # fmt: skip
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def canonical(raw: bytes) -> bytes | None:
    """JSON with its keys sorted and without white space; numbers stay as they were written, since servers can tell 1
    from 1.0. `None` for what two readers may read differently: a key that is there twice, a lone surrogate, a depth
    that is too deep."""
    if jsonrpc.is_too_deep(raw):
        return None
    try:
        return msgspec.json.encode(_decoder.decode(raw.decode()))
    except ValueError:
        return None


def is_complete(result: bytes) -> bool:
    """Whether a result is the answer itself: no tool error, and nothing that a client has to follow up."""
    try:
        head = _head_decoder.decode(result)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return bytes(head.isError) in (b"false", b"null") and bytes(head.resultType) in (b'"complete"', b"null")


def is_sensitive(result: bytes) -> bool:
    """Whether a result looks like it carries a credential, also in JSON that stands as text in JSON; linear."""
    for start in range(0, len(result), SLICE_CHARS - OVERLAP_CHARS):
        text = result[start : start + SLICE_CHARS].decode("utf-8", "replace")
        if may_hold_credential(text) or ("\\" in text and may_hold_credential(_unescaped(text))):
            return True
    return False


class _Head(msgspec.Struct):
    isError: msgspec.Raw = msgspec.Raw(b"false")
    resultType: msgspec.Raw = msgspec.Raw(b"null")


def _number(lexeme: str) -> msgspec.Raw:
    return msgspec.Raw(lexeme.encode())


def _sorted_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(sorted(pairs, key=lambda pair: pair[0]))
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


_head_decoder = msgspec.json.Decoder(_Head)
_decoder = json.JSONDecoder(parse_int=_number, parse_float=_number, object_pairs_hook=_sorted_object)


def _unescaped(text: str) -> str:
    """The text with the escapes of every level of JSON resolved, as far as a credential can hide in them."""
    if "u00" in text:
        text = _ESCAPED_ASCII.sub(lambda found: chr(int(found[1], 16)), text)
    return _ESCAPED_SPACE.sub(" ", text).replace("\\", "")
