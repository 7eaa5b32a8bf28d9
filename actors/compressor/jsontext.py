"""JSON that keeps its lexemes: numbers and escapes leave as they came.

`msgspec.Raw` gives every value as the bytes it stood in, so nothing is ever formatted anew; only member names are
decoded. Text that nests deeper than the parser's recursion guard is treated as not being JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import msgspec

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_raw = msgspec.json.Decoder(msgspec.Raw)
_string = msgspec.json.Decoder(str)
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\],]', re.S)
_BETWEEN = re.compile(r"(?<=[}\]])[^\S\n]*\n\s*(?=[{\[])")
"""Where a document ends and the next one begins: within one there is a comma, and no line end in a string."""
_CLOSERS = {"{": "}", "[": "]"}
_FRAMES = 200
"""More than lie between here and whoever reads a part of a document."""
_LAZY_FROM = 4_000
"""Bytes from which an array of plain values is read lazily."""
_NESTED = (b'"{\\', b'"[{', b'"[\\')
_LARGEST, _MOST_NESTED = 60_000, 400
"""Bytes of JSON in a string that is read, and brackets in it: it is read from below, without a test of its depth."""
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


def parse_documents(text: str) -> bytes | None:
    """Documents of several lines each, one behind the other, as one array, minified; `None` where they are none."""
    text = text.strip()
    # Most texts are none, and their beginning shows it.
    ends = [at for at in (text.find("\n{"), text.find("\n[")) if at > 0]
    if not ends or parse(text[: min(ends)]) is None:
        return None
    return parse(f"[{_BETWEEN.sub(',', text)}]")


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


def is_cut_off(text: str) -> bool:
    """Whether a text is JSON that ends before its value does."""
    if text[:64].lstrip()[:1] not in ("{", "["):
        return False
    try:
        _raw.decode(text.encode("utf-8", "replace"))
    except msgspec.DecodeError as error:
        return "truncated" in str(error)
    except _REFUSED:
        return False
    return False


def completed(text: str) -> str | None:
    """A JSON text that was cut off, closed behind its last whole value; `None` where it is not cut off, or no JSON."""
    if not is_cut_off(text):
        return None
    stack: list[str] = []
    stop, depth = 0, 0
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if mark in _CLOSERS:
            stack.append(_CLOSERS[mark])
        elif mark == ",":
            stop, depth = match.start(), len(stack)
        elif mark in "]}":
            if not stack or stack.pop() != mark:
                return None
            stop, depth = match.end(), len(stack)
    if not stop:
        return None
    return text[:stop] + "".join(reversed(stack[:depth]))


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


class Node(msgspec.Struct, gc=False, eq=False):
    """One JSON value as it stood, minified, its parts read once and only when they are asked for.

    A document may have a million of them, in a tree without cycles: the collector need not look at any.
    """

    raw: bytes
    _parts: Any = None

    @property
    def members(self) -> dict[str, Node]:
        """The members of an object."""
        if self._parts is None:
            found: dict[str, Any] = _object.decode(self.raw)
            for name, value in found.items():  # in place: a second table would double what a large object takes
                found[name] = Node(bytes(value))
            self._parts = found
        parts: dict[str, Node] = self._parts
        return parts

    @property
    def items(self) -> Sequence[Node]:
        """The items of an array."""
        if self._parts is None:
            if len(self.raw) >= _LAZY_FROM and _is_flat(self.raw):
                self._parts = _Plain(self.raw[1:-1].split(b","))
            else:
                found: list[Any] = _array.decode(self.raw)
                for at, item in enumerate(found):
                    found[at] = Node(bytes(item))
                self._parts = found
        parts: Sequence[Node] = self._parts
        return parts

    @property
    def document(self) -> Node | None:
        """The JSON object or array that a string holds; `None` where it holds none, or a large or deep one."""
        raw = self.raw
        if raw[:3] not in _NESTED or len(raw) > _LARGEST or raw.count(b"{") + raw.count(b"[") > _MOST_NESTED:
            return None
        if self._parts is None:
            data = string(raw).encode("utf-8", "replace")
            try:
                _raw.decode(data)
                self._parts = Node(msgspec.json.format(data, indent=-1))
            except _REFUSED:
                self._parts = ()
        found: Node | None = self._parts or None
        return found


def lexemes(items: Sequence[Node]) -> Sequence[bytes]:
    """How the items of an array stand there, without a node for each."""
    return items.raws if isinstance(items, _Plain) else [item.raw for item in items]


def made(items: Sequence[Node]) -> Iterable[tuple[int, Node]]:
    """The items of an array that have been looked at, with their positions in order: any that anybody knows of."""
    return sorted(items.nodes.items()) if isinstance(items, _Plain) else enumerate(items)


def _is_flat(raw: bytes) -> bool:
    """Whether an array holds nothing but numbers and literals."""
    return not any(raw.find(mark, 1) >= 0 for mark in (b'"', b"[", b"{"))


class _Plain(Sequence[Node]):
    """Plain values of a long array: of a hundred thousand numbers hardly any is ever looked at, so each becomes a node
    when it is first asked for, and is the same one from then on."""

    __slots__ = ("nodes", "raws")

    def __init__(self, raws: list[bytes]) -> None:
        self.raws = raws
        self.nodes: dict[int, Node] = {}

    def __len__(self) -> int:
        return len(self.raws)

    @overload
    def __getitem__(self, at: int) -> Node: ...
    @overload
    def __getitem__(self, at: slice) -> list[Node]: ...
    def __getitem__(self, at: int | slice) -> Node | list[Node]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self.raws)))]
        raw = self.raws[at]
        at = at if at >= 0 else at + len(self.raws)
        if at not in self.nodes:
            self.nodes[at] = Node(raw)
        return self.nodes[at]


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
