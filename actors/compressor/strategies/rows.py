"""JSON whose records are written as rows: arrays of arrays, or of name and value pairs, as objects with names."""

from __future__ import annotations

from collections.abc import Sequence

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.strategies.leaves import TAGS

_BULK = 0.6
_DEEPEST = 3
_FEWEST, _NARROWEST, _WIDEST = 8, 2, 60
_MOST = 1_000_000
_PAIRS = (("field", "value"), *TAGS)
_CONTAINERS = (b"{", b"[")


def as_records(data: bytes) -> bytes | None:
    """The document with its rows as objects; `None` where rows do not make up most of it.

    Names come from the first row where that has nothing but different texts, else they are the numbers of the columns.
    """
    if len(data) > _MOST or b"[[" not in data:
        return None
    node, path = Node(data), list[str]()
    while node.raw[:1] == b"{" and len(path) < _DEEPEST:
        name, node = max(node.members.items(), key=lambda member: len(member[1].raw), default=("", Node(b"")))
        path.append(name)
        if len(node.raw) < _BULK * len(data):
            return None
    rows = _rows(node)
    return None if rows is None else _put(Node(data), path, rows)


def _rows(node: Node) -> bytes | None:
    if node.raw[:2] != b"[[":
        return None
    items = node.items
    if len(items) < _FEWEST or any(item.raw[:1] != b"[" for item in items):
        return None
    rows = [item.items for item in items]
    return _paired(rows) or _plain(rows)


def _plain(rows: Sequence[Sequence[Node]]) -> bytes | None:
    """Rows of plain values of about one length."""
    width = max(map(len, rows))
    if not _NARROWEST <= width <= _WIDEST or sum(map(len, rows)) < 0.5 * width * len(rows):
        return None
    if any(value.raw[:1] in _CONTAINERS for row in rows for value in row):
        return None
    head = [value.raw for value in rows[0]]
    named = len(head) == width == len(set(head)) and all(raw[:1] == b'"' and len(raw) > 2 for raw in head)
    # Rows of nothing but texts have no header that could be told from them.
    named = named and any(value.raw[:1] != b'"' for row in rows[1:] for value in row)
    names = head if named else [b'"%d"' % number for number in range(1, width + 1)]
    return _objects([list(zip(names, row, strict=False)) for row in (rows[1:] if named else rows)])


def _paired(rows: Sequence[Sequence[Node]]) -> bytes | None:
    """Rows of objects that each hold a name and a value."""
    first = rows[0][0] if rows[0] else None
    if first is None or first.raw[:1] != b"{":
        return None
    pair = next((pair for pair in _PAIRS if [*first.members] == [*pair]), None)
    if pair is None:
        return None
    found: list[list[tuple[bytes, Node]]] = []
    for row in rows:
        if any(cell.raw[:1] != b"{" or [*cell.members] != [*pair] for cell in row):
            return None
        cells = [(cell.members[pair[0]].raw, cell.members[pair[1]]) for cell in row]
        if any(name[:1] != b'"' for name, _ in cells) or len({name for name, _ in cells}) < len(cells):
            return None
        found.append(cells)
    return _objects(found)


def _objects(rows: Sequence[Sequence[tuple[bytes, Node]]]) -> bytes:
    return (
        b"[" + b",".join(b"{" + b",".join(name + b":" + value.raw for name, value in row) + b"}" for row in rows) + b"]"
    )


def _put(node: Node, path: list[str], value: bytes) -> bytes:
    """The document with the value at the path replaced."""
    if not path:
        return value
    return (
        b"{"
        + b",".join(
            jsontext.quote(name).encode() + b":" + (_put(member, path[1:], value) if name == path[0] else member.raw)
            for name, member in node.members.items()
        )
        + b"}"
    )
