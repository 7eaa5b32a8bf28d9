"""JSON that keeps its lexemes: numbers and escapes leave as they came.

`msgspec.Raw` gives every value as the bytes it stood in, so nothing is ever formatted anew; only member names are
decoded. Text that nests deeper than the parser's recursion guard is treated as not being JSON.
"""

from __future__ import annotations

import re
from functools import cached_property

import msgspec

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_raw = msgspec.json.Decoder(msgspec.Raw)
_string = msgspec.json.Decoder(str)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_REFUSED = (msgspec.MsgspecError, RecursionError, UnicodeError)


def parse(text: str) -> bytes | None:
    """The minified bytes of a JSON text with its lexemes kept, or `None` where it is not JSON.

    Escapes of lone surrogates, which strict readers refuse, become `\\ufffd`.
    """
    head = text[:64].lstrip()[:1]
    if head not in ("{", "["):
        return None
    data = text.encode("utf-8", "replace")
    try:
        _raw.decode(data)
    except _REFUSED:
        if rb"\ud" not in data and rb"\uD" not in data:
            return None
        data = _ESCAPE.sub(lambda found: rb"\ufffd" if found.group(1) else found.group(0), data)
        try:
            _raw.decode(data)
        except _REFUSED:
            return None
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


def minify(text: str) -> str | None:
    """The same JSON without white space between tokens; `None` where the text is not JSON."""
    data = parse(text)
    return None if data is None else data.decode()


def parse_lines(text: str) -> list[bytes] | None:
    """The records of an NDJSON text, minified; `None` where a line is not a JSON object or array."""
    found = []
    for line in text.splitlines():
        if line.strip():
            data = parse(line)
            if data is None:
                return None
            found.append(data)
    return found or None


class Node:
    """One JSON value as it stood, its parts read once and only when they are asked for."""

    __slots__ = ("__dict__", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def members(self) -> dict[str, Node]:
        """The members of an object."""
        return {name: Node(bytes(value)) for name, value in _object.decode(self.raw).items()}

    @cached_property
    def items(self) -> list[Node]:
        """The items of an array."""
        return [Node(bytes(item)) for item in _array.decode(self.raw)]


def string(raw: bytes) -> str:
    """The text of a JSON string."""
    return _string.decode(raw)


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
