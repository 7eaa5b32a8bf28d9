"""The wire message: which frames there are, what stands in them, and how a contract becomes frames and back.

`PROTOCOL.md` beside this file explains the why. Encoding and decoding happen on the event loop only: the list of
blobs that the codec hooks share is not thread-safe.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgpack
import msgspec

from bus.errors import InvalidMessage, ProtocolError, VersionMismatch
from bus.message import Blob

WIRE_VERSION = 1

# Kinds from a caller to an actor.
ASK = 1
TELL = 2
WATCH = 3
CANCEL = 4
PING = 5
# Kinds from an actor to a caller.
REPLY = 16
ERROR = 17
ITEM = 18
END = 19
PONG = 20

# Header fields. A header is an open map: a field that is not known is ignored, so that neighbouring versions can talk.
ID = "i"
TARGET = "a"
OPERATION = "o"
DEADLINE_MS = "d"
TRACE = "t"
SENDER = "s"
CODE = "c"
MESSAGE = "m"
INCARNATION = "n"
BUILD = "b"
PROCESS = "p"
READY = "r"

BLOB_EXTENSION = 1
MAX_FRAME_BYTES = 128 * 1024 * 1024
"""Above every limit on what an upstream may send, below what would exhaust a small machine."""
SEND_HIGH_WATER = 4_096
"""Messages that may wait for a slow peer before a send answers `Busy`."""
LARGE_FRAME_BYTES = 64 * 1024
"""From here on ZeroMQ sends without a copy; below, the copy is cheaper than the bookkeeping."""

_prefixes = {
    kind: bytes((WIRE_VERSION, kind)) for kind in (ASK, TELL, WATCH, CANCEL, PING, REPLY, ERROR, ITEM, END, PONG)
}
_blobs: list[bytes] = []


def _encode_blob(value: object) -> msgspec.msgpack.Ext:
    if isinstance(value, Blob):
        _blobs.append(value.data)
        return msgspec.msgpack.Ext(BLOB_EXTENSION, len(_blobs).to_bytes(2, "big"))
    raise NotImplementedError(f"{type(value).__name__} cannot travel over the bus")  # what msgspec expects of a hook


def _decode_blob(code: int, data: memoryview) -> Blob:
    number = int.from_bytes(data, "big")
    if code != BLOB_EXTENSION or not 1 <= number <= len(_blobs):
        raise ValueError("attachment is missing")
    return Blob(_blobs[number - 1])


_encoder = msgspec.msgpack.Encoder(enc_hook=_encode_blob)


@lru_cache(maxsize=256)
def _decoder(contract: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(contract, ext_hook=_decode_blob)


def pack(kind: int, header: dict[str, Any], body: msgspec.Struct | None = None) -> list[bytes]:
    """The frames of one message: version and kind, header, body, attachments."""
    _blobs.clear()
    encoded = b"" if body is None else _encoder.encode(body)
    return [_prefixes[kind], msgpack.packb(header), encoded, *_blobs]


def unpack(frames: list[bytes]) -> tuple[int, dict[str, Any]]:
    """Kind and header of a message.

    Raises:
        VersionMismatch: it is of another wire version; ProtocolError: it is not a message of ours.
    """
    if len(frames) < 3 or len(frames[0]) != 2:
        raise ProtocolError(f"a message has 3 or more frames, the first of 2 bytes; got {len(frames)} frames")
    version, kind = frames[0]
    if version != WIRE_VERSION:
        raise VersionMismatch(f"the peer speaks wire version {version}, this process {WIRE_VERSION}: run `mms restart`")
    try:
        header = msgpack.unpackb(frames[1])
    except (ValueError, msgpack.UnpackException) as error:
        raise ProtocolError(f"unreadable header: {error}") from None
    if not isinstance(header, dict) or not isinstance(header.get(ID), int):
        raise ProtocolError("the header is not a map with a message id")
    return kind, header


def body(contract: Any, frames: list[bytes]) -> Any:
    """The body of a message as `contract`, validated (unknown fields are ignored).

    Raises:
        InvalidMessage: it does not fit; the message names the field.
    """
    if contract is None:
        return None
    _blobs[:] = frames[3:]
    try:
        return _decoder(contract).decode(frames[2])
    except (msgspec.DecodeError, ValueError) as error:
        raise InvalidMessage(f"{contract.__name__}: {error}") from None
    finally:
        _blobs.clear()
