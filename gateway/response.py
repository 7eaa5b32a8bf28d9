"""A tool result taken apart and put together again. Pure; what is not replaced stays as the bytes that came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from bus import jsonrpc
from gateway.eras import STATELESS_ONLY, result_meta

MAX_FRAME_BYTES = 10 * 1024 * 1024 - 4_096
"""TypeScript peers close the connection on a line above 10 MiB."""


class _Block(msgspec.Struct):
    type: str = ""
    text: str | UnsetType = UNSET


class _Shape(msgspec.Struct):
    content: list[_Block]
    isError: bool | None = None
    structuredContent: msgspec.Raw | UnsetType = UNSET


_decoder = msgspec.json.Decoder(_Shape)


class Response:
    """What a result says, as far as the pipeline must know it.

    Attributes:
        raw: the result's JSON as it came.
        texts: position in `content` → text, for every text block.
        is_error: the tool says that it failed.
        structured: JSON of `structuredContent`, if present.
        regular: it has the shape of a tool result; if not, it is made to have it as far as that goes.
    """

    __slots__ = ("is_error", "raw", "regular", "structured", "texts")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.texts: dict[int, str] = {}
        self.is_error = False
        self.structured: bytes | None = None
        try:
            shape = _decoder.decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            self.regular = False
            return
        self.regular = True
        for position, block in enumerate(shape.content):
            if block.type != "text":
                continue
            if block.text is UNSET:
                self.regular = False
            else:
                self.texts[position] = block.text
        self.is_error = shape.isError is True
        if shape.structuredContent is not UNSET and bytes(shape.structuredContent) != b"null":
            self.structured = bytes(shape.structuredContent)

    @property
    def chars(self) -> int:
        """Code points of all text blocks."""
        return sum(map(len, self.texts.values()))


def assemble(
    raw: bytes,
    *,
    stateless: bool,
    regular: bool = True,
    texts: Mapping[int, str] | None = None,
    keep_structured: bool = True,
    before: str | None = None,
    after: str | None = None,
    stand_in: str | None = None,
) -> bytes:
    """The result's JSON for one client.

    Args:
        stateless: for a client of the stateless era.
        regular: `Response.regular`.
        texts: replacements, by position in `content`; annotations and `_meta` of a block stay.
        keep_structured: whether `structuredContent` stays.
        stand_in: a text block behind those of the result, which says what `structuredContent` said.
        before / after: a text block of our own in front of, or behind, everything else.
    """
    untouched = regular and not texts and keep_structured and before is None and after is None
    if untouched and b"null" not in raw and not _has_stateless_members(raw):
        return raw if not stateless else b'{"resultType":"complete",' + raw.lstrip()[1:]
    try:
        members = jsonrpc.members(raw)
    except (msgspec.MsgspecError, RecursionError):
        return raw
    parts: dict[str, object] = {"resultType": "complete"} if stateless else {}
    for key, value in members.items():
        if key in STATELESS_ONLY or bytes(value) == b"null":
            continue
        if key == "content":
            parts[key] = _content(value, texts or {}, before, after, regular=regular)
        elif key == "structuredContent":
            if keep_structured and (stateless or bytes(value)[:1] == b"{"):
                parts[key] = value
        elif key == "_meta":
            meta = result_meta(bytes(value), stateless)
            if meta is not None:
                parts[key] = msgspec.Raw(meta)
        elif key == "isError" and bytes(value) not in (b"true", b"false"):
            parts[key] = bool(jsonrpc.value(value))  # clients refuse anything else
        else:
            parts[key] = value
    if "content" not in parts:
        parts["content"] = _content(msgspec.Raw(b"[]"), {}, before, after, regular=regular)
    content = parts["content"]
    if stand_in is not None and isinstance(content, list):
        content.insert(len(content) - (after is not None), _own_block(stand_in))
    return jsonrpc.encode(parts)


def text_result(*texts: str, is_error: bool = False, stateless: bool = False) -> bytes:
    """JSON of a result of our own, a text block each."""
    parts: dict[str, object] = {"resultType": "complete"} if stateless else {}
    parts["content"] = [_own_block(text) for text in texts]
    parts["isError"] = is_error
    return jsonrpc.encode(parts)


def safe(text: str) -> str:
    """`text` with lone surrogates replaced by U+FFFD, which no peer survives otherwise."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _content(
    raw: msgspec.Raw, texts: Mapping[int, str], before: str | None, after: str | None, *, regular: bool
) -> Sequence[object]:
    try:
        blocks = jsonrpc.elements(raw)
    except msgspec.MsgspecError:
        return [_own_block(bytes(raw).decode("utf-8", "replace"))]  # clients refuse anything but a list
    made: list[object] = [_own_block(before)] if before is not None else []
    for position, block in enumerate(blocks):
        if bytes(block)[:1] == b"{":
            made.append(_block(block, texts.get(position), regular=regular))
        elif bytes(block) != b"null":  # clients refuse anything but objects
            made.append(_own_block(bytes(block).decode("utf-8", "replace")))
    if after is not None:
        made.append(_own_block(after))
    return made


def _block(raw: msgspec.Raw, text: str | None, *, regular: bool) -> object:
    """One block: its text replaced, and what clients refuse a result for repaired (members that are `null`, a text
    block whose text is missing or no string)."""
    if text is None and regular and b"null" not in bytes(raw):
        return raw
    members = jsonrpc.members(raw)
    parts: dict[str, object] = {key: value for key, value in members.items() if bytes(value) != b"null"}
    if text is not None:
        parts["text"] = safe(text)
    elif "type" in members and bytes(members["type"]) == b'"text"':
        found = bytes(members.get("text", b'""'))
        if found[:1] != b'"':
            parts["text"] = "" if found == b"null" else found.decode("utf-8", "replace")
        else:
            parts.setdefault("text", "")
    return parts


def _own_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": safe(text)}


def _has_stateless_members(raw: bytes) -> bool:
    return any(f'"{name}"'.encode() in raw for name in STATELESS_ONLY)
