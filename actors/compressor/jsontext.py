"""JSON that keeps its lexemes: numbers and escapes leave as they came.

`msgspec.Raw` gives every value as the bytes it stood in, so nothing is ever formatted anew; only member names are
decoded. Text that nests deeper than the parser's recursion guard is treated as not being JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_raw = msgspec.json.Decoder(msgspec.Raw)
_string = msgspec.json.Decoder(str)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_FRAMES = 200
"""More than lie between here and whoever reads a part of a document."""
_REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeError)


def parse(text: str) -> bytes | None:
    """The minified bytes of a JSON text with its lexemes kept, or `None` where it is not JSON.

    Escapes of lone surrogates, which strict readers refuse, become `\\ufffd`.
    """
    head = text[:64].lstrip()[:1]
    if head not in ("{", "["):
        return None
    data = _readable(text.encode("utf-8", "replace"), _raw.decode)
    return None if data is None else _minified(data)


def parse_lines(text: str) -> bytes | None:
    """The records of an NDJSON text as one array, minified; `None` where a line is not JSON."""
    data = _readable(text.encode("utf-8", "replace"), _raw.decode_lines)
    records = _raw.decode_lines(data) if data is not None else []
    return _minified(b"[" + b",".join(records) + b"]") if records else None


def _readable(data: bytes, decode: Callable[[bytes], object]) -> bytes | None:
    """What a strict reader takes: the data, if need be without lone surrogates; `None` where it refuses that too."""
    try:
        _from_below(decode, data)
    except _REFUSED:
        if rb"\ud" not in data and rb"\uD" not in data:
            return None
        data = _ESCAPE.sub(lambda found: rb"\ufffd" if found.group(1) else found.group(0), data)
        try:
            _from_below(decode, data)
        except _REFUSED:
            return None
    return data


def _from_below(decode: Callable[[bytes], object], data: bytes, frames: int = _FRAMES) -> None:
    """Reads the data from as far down the stack as its parts will be read from, so that none of them is refused."""
    if frames:
        _from_below(decode, data, frames - 1)
    else:
        decode(data)


def _minified(data: bytes) -> bytes | None:
    try:
        return msgspec.json.format(data, indent=-1)
    except _REFUSED:
        return None


def valid(text: str) -> bool:
    """Whether a text is one JSON value of any type."""
    try:
        _raw.decode(text)
    except _REFUSED:
        return False
    return True


def lines(data: bytes) -> str:
    """The items of an array as lines of JSON."""
    return b"\n".join(_array.decode(data)).decode()


class Node:
    """One JSON value as it stood, its parts read once and only when they are asked for."""

    __slots__ = ("_items", "_members", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._members: dict[str, Node] | None = None
        self._items: list[Node] | None = None

    @property
    def members(self) -> dict[str, Node]:
        """The members of an object."""
        if self._members is None:
            self._members = {name: Node(bytes(value)) for name, value in _object.decode(self.raw).items()}
        return self._members

    @property
    def items(self) -> list[Node]:
        """The items of an array."""
        if self._items is None:
            self._items = [Node(bytes(item)) for item in _array.decode(self.raw)]
        return self._items


def string(raw: bytes) -> str:
    """The text of a JSON string."""
    return _string.decode(raw)


def text_in(text: str) -> str | None:
    """The text that a whole JSON string holds; `None` where it is none, or holds lone surrogates."""
    try:
        return _string.decode(text.strip())
    except _REFUSED:
        return None


def quote(text: str) -> str:
    """A text as a JSON string."""
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode()


def equal(left: str, right: str) -> bool:
    """Whether two JSON texts say the same, whatever their white space and member order."""
    first, second = parse(left), parse(right)
    if first is None or second is None:
        return False
    if first == second:
        return True
    try:
        return _canonical(first) == _canonical(second)
    except _REFUSED:
        return False


class _Number:
    """A fraction kept as its lexeme, so that 1.10 and 1.1 are told apart."""

    def __init__(self, lexeme: str) -> None:
        self.lexeme = lexeme

    def __str__(self) -> str:
        return f"number {self.lexeme}"


_values = msgspec.json.Decoder(float_hook=_Number)


def _canonical(raw: bytes) -> bytes:
    return msgspec.json.encode(_values.decode(raw), order="deterministic", enc_hook=str)
