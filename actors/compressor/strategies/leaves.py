"""The plain values inside of a record, each under the path that leads to it.

Most APIs put what people want to know inside: `fields.summary`, `metadata.name`, `Tags[Name]`,
`status.containerStatuses[0].state.waiting.reason`. Lists are entered at their first item, lists of tags at each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from actors.compressor import jsontext
from actors.compressor.jsontext import Node

_DEEPEST = 7
_MOST = 120
"""Leaves of one record; the shallow ones come first."""
_LARGEST = 60_000
"""Bytes of a part that is still entered."""
_LONGEST_TAG = 60
_MOST_TAGS = 20
TAGS = (("Key", "Value"), ("key", "value"), ("name", "value"), ("Name", "Value"))
_KINDS = ("type", "kind", "object")
_EMPTY = (b"{}", b"[]")
_CONTAINERS = (b"{", b"[")


class Step(Protocol):
    """One step from a value to a part of it."""

    def of(self, node: Node) -> Node | None:
        """The part; `None` where the value has none of the sort."""


@dataclass(frozen=True)
class Member:
    """The member of a name."""

    name: str

    def of(self, node: Node) -> Node | None:
        return node.members.get(self.name) if node.raw[:1] == b"{" else None


@dataclass(frozen=True)
class First:
    """The first item of a list."""

    def of(self, node: Node) -> Node | None:
        items = node.items if node.raw[:1] == b"[" else []
        return items[0] if items else None


@dataclass(frozen=True)
class Chosen:
    """The member that another one names: `{"type": "heading", "heading": …}`."""

    kind: str

    def of(self, node: Node) -> Node | None:
        return _chosen(node.members, self.kind) if node.raw[:1] == b"{" else None


@dataclass(frozen=True)
class Tag:
    """The value of a tag in a list of names and values."""

    key: str
    value: str
    name: str

    def of(self, node: Node) -> Node | None:
        for item in node.items[:_MOST_TAGS] if node.raw[:1] == b"[" else ():
            members = item.members if item.raw[:1] == b"{" else {}
            if self.key in members and _text(members[self.key]) == self.name:
                return members.get(self.value)
        return None


@dataclass(frozen=True)
class Document:
    """The JSON that a string holds."""

    def of(self, node: Node) -> Node | None:
        return node.document


Path = tuple[Step, ...]


def at(node: Node, path: Path) -> Node | None:
    """The value at the end of a path."""
    found: Node | None = node
    for step in path:
        found = step.of(found) if found is not None else None
    return found


def leaves(node: Node) -> dict[str, tuple[Path, Node]]:
    """The plain values in a record by the names of their paths, shallow ones first."""
    found: dict[str, tuple[Path, Node]] = {}
    waiting = deque[tuple[str, Path, Node]]([("", (), node)] if node.raw[:1] in _CONTAINERS else [])
    while waiting and len(found) < _MOST:
        prefix, path, outer = waiting.popleft()
        for step, name, inner in _parts(outer):
            label, reached = f"{prefix}{name}" if prefix else name.removeprefix("."), (*path, step)
            if inner.raw[:1] in _CONTAINERS:
                if len(reached) < _DEEPEST and len(inner.raw) <= _LARGEST and inner.raw not in _EMPTY:
                    waiting.append((label, reached, inner))
                continue
            parsed = inner.document if len(reached) < _DEEPEST else None
            if parsed is not None:
                waiting.append((label, (*reached, Document()), parsed))
            else:
                found.setdefault(label, (reached, inner))
    return found


def _parts(node: Node) -> Iterator[tuple[Step, str, Node]]:
    """The parts of a container that are entered."""
    if node.raw[:1] == b"{":
        members = node.members
        kind = next((kind for kind in _KINDS if _chosen(members, kind) is not None), "")
        chosen = _chosen(members, kind) if kind else None
        for name, value in members.items():
            yield (Member(name), f".{name}", value) if value is not chosen else (Chosen(kind), f".<{kind}>", value)
        return
    items = node.items
    tags = _tags(items)
    if tags is not None:
        for item in items[:_MOST_TAGS]:
            name = _text(item.members[tags[0]])
            yield Tag(*tags, name), f"[{name}]", item.members[tags[1]]
    elif items:
        yield First(), "[0]", items[0]


def _chosen(members: dict[str, Node], kind: str) -> Node | None:
    if kind not in members or members[kind].raw[:1] != b'"':
        return None
    value = members.get(_text(members[kind]))
    return value if value is not None and value.raw[:1] in _CONTAINERS else None


def _tags(items: Sequence[Node]) -> tuple[str, str] | None:
    """The names of name and value, where all items are such pairs."""
    if not items or items[0].raw[:1] != b"{":
        return None
    first = items[0].members
    for key, value in TAGS:
        if key in first and value in first:
            alike = all(
                item.raw[:1] == b"{"
                and {key, value} <= item.members.keys()
                and item.members[key].raw[:1] == b'"'
                and len(item.members[key].raw) <= _LONGEST_TAG
                for item in items[:_MOST_TAGS]
            )
            return (key, value) if alike else None
    return None


def _text(node: Node) -> str:
    return jsontext.string(node.raw) if node.raw[:1] == b'"' else ""
