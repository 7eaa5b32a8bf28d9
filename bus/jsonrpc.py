"""JSON-RPC frames as bytes: the envelope is read, everything else is carried as it came.

A frame that msgspec refuses only because of a lone surrogate escape, or because it is not UTF-8, is repaired with
U+FFFD in place: numbers, key order and all other bytes stay.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAX_DEPTH = 500
"""Levels of nesting. Peers differ in what they survive (200 to some thousands), and so do versions of Python; none of
them can be trusted with more than this."""

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)",
    re.DOTALL,
)
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}:,]|[^\s"\[\]{}:,]+', re.DOTALL)
_ID = re.compile(rb'-?\d+|"(?:[^"\\]|\\.)*"', re.DOTALL)


class Frame(msgspec.Struct):
    """The envelope of one frame; parts that are absent are `UNSET`, present ones are their JSON bytes."""

    jsonrpc: str | UnsetType = UNSET
    id: msgspec.Raw | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: msgspec.Raw | UnsetType = UNSET
    result: msgspec.Raw | UnsetType = UNSET
    error: msgspec.Raw | UnsetType = UNSET


class FrameError(ValueError):
    """A line that is not a frame.

    Attributes:
        code: JSON-RPC error code; id: JSON of the id, if one could be read, else `b"null"`.
    """

    def __init__(self, code: int, message: str, id_: bytes = b"null") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.id = id_


_frame_decoder = msgspec.json.Decoder(Frame)
_object_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list_decoder = msgspec.json.Decoder(list[msgspec.Raw])
_any_decoder = msgspec.json.Decoder()
_string_decoder = msgspec.json.Decoder(str)
_encoder = msgspec.json.Encoder()


def repair(line: bytes) -> bytes:
    """The same JSON with every invalid UTF-8 sequence and lone surrogate escape replaced by U+FFFD."""
    try:
        line.decode()
    except UnicodeDecodeError:
        line = line.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(
        lambda found: (
            b"\\ufffd" if found[0][1:2] == b"u" and len(found[0]) == 6 and found[0][2:3] in b"dD" else found[0]
        ),
        line,
    )


def parse(line: bytes) -> tuple[Frame, bytes]:
    """Reads one line; returns the frame and the line it was read from (repaired where that was needed).

    Raises:
        FrameError: not JSON, not an object, or nested too deeply; carries the id when it is readable.
    """
    if is_too_deep(line):
        raise FrameError(INVALID_REQUEST, f"the message is nested deeper than {MAX_DEPTH} levels", scan_id(line))
    try:
        line.decode()
        return _frame_decoder.decode(line), line
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass
    line = repair(line)
    try:
        return _frame_decoder.decode(line), line
    except msgspec.ValidationError as error:
        raise FrameError(INVALID_REQUEST, f"not a JSON-RPC message: {error}", scan_id(line)) from None
    except msgspec.DecodeError as error:
        raise FrameError(PARSE_ERROR, f"not valid JSON: {error}") from None


def is_too_deep(line: bytes) -> bool:
    """Whether JSON is nested deeper than `MAX_DEPTH`. Cheap for what is not: first by counting, then by brackets alone
    (those in strings included), and only on suspicion by reading token after token."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    depth = deepest = 0
    for bracket in line.translate(None, _NOT_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    if deepest <= MAX_DEPTH:
        return False
    depth = 0
    for match in TOKEN.finditer(line):
        if match[0] in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif match[0] in (b"]", b"}"):
            depth -= 1
    return False


def is_valid_id(raw: bytes) -> bool:
    """Whether it is a string or an integer: nothing else survives every peer."""
    return _ID.fullmatch(raw) is not None


def scan_id(line: bytes) -> bytes:
    """The JSON of the top-level `id` of a frame that cannot be decoded, `b"null"` if there is no usable one.

    Iterative, so that no depth is too deep.
    """
    depth = 0
    previous = key = b""
    for match in TOKEN.finditer(line):
        token = match[0]
        if depth == 1 and previous == b":" and key == b'"id"':
            return token if _ID.fullmatch(token) else b"null"
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token == b":":
            key = previous
        previous = token
    return b"null"


def members(raw: bytes) -> dict[str, msgspec.Raw]:
    """The members of a JSON object, each as its bytes, in order. Raises `msgspec.DecodeError` if it is none."""
    return _object_decoder.decode(raw)


def elements(raw: bytes) -> list[msgspec.Raw]:
    """The elements of a JSON array, each as its bytes."""
    return _list_decoder.decode(raw)


def string(raw: bytes) -> str:
    return _string_decoder.decode(raw)


def value(raw: bytes) -> Any:
    """The value. Numbers that Python cannot hold (`1E400`, thousands of digits) come as the text that stands there.

    Raises `msgspec.DecodeError` for what is no JSON.
    """
    try:
        return _any_decoder.decode(raw)
    except msgspec.DecodeError:
        try:
            return json.loads(bytes(raw), parse_int=_integer, parse_float=_number)
        except ValueError:
            pass
        raise


def _integer(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def encode(data: Any) -> bytes:
    """Compact JSON; `msgspec.Raw` parts are copied as they are."""
    return _encoder.encode(data)


def join(parts: dict[str, Any]) -> bytes:
    """A JSON object from members that are `Raw`, bytes of JSON, or values."""
    return _encoder.encode({key: msgspec.Raw(part) if isinstance(part, bytes) else part for key, part in parts.items()})


def request(id_: bytes, method: str, params: bytes | None) -> bytes:
    tail = b',"params":' + params if params is not None else b""
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"method":' + _encoder.encode(method) + tail + b"}\n"


def notification(method: str, params: bytes | None = None) -> bytes:
    tail = b',"params":' + params if params is not None else b""
    return b'{"jsonrpc":"2.0","method":' + _encoder.encode(method) + tail + b"}\n"


def result(id_: bytes, raw: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"result":' + raw + b"}\n"


def error(id_: bytes, raw: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + id_ + b',"error":' + raw + b"}\n"


def error_object(code: int, message: str, data: Any = UNSET) -> bytes:
    """JSON of an error object; `data` is left out when not given."""
    parts = {"code": code, "message": message}
    if data is not UNSET:
        parts["data"] = data
    return _encoder.encode(parts)
