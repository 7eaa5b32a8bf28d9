"""Which values of a JSON document answer a query, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from actors.compressor.jsontext import Node
from actors.compressor.relevance import near

_MOST_SEARCHED = 8_000_000
_DEEPEST = 24
"""Levels that are searched: what holds an answer is rendered level by level, however deep."""
_MOST_ANSWERS = 8
_GOOD_ANSWER = 0.7
_MOST_WHOLE = 3
_LARGEST_WHOLE = 1_500
"""Bytes of a record that is given whole: who asks for it by one of its fields may be after another."""
_BESIDE = 120
"""Code points around a value in which the words of a query count for it."""


def answers(root: Node, query: str) -> frozenset[Node]:
    """The plain values that answer a query best, everything that holds them, and the best one's records."""
    if not query or len(root.raw) > _MOST_SEARCHED:
        return frozenset()
    leaves: list[Node] = []
    texts: list[str] = []
    starts: list[int] = []
    parents: dict[Node, Node] = {}
    position = 0
    stack: list[tuple[str, Node, int]] = [("", root, 0)]
    while stack:
        name, node, depth = stack.pop()
        first = node.raw[:1]
        inner: list[tuple[str, Node]] = []
        if first == b"{":
            inner = list(node.members.items())
        elif first == b"[":
            inner = [("", item) for item in node.items]
        else:
            text = f"{name} {node.raw.decode()}\n"
            leaves.append(node)
            texts.append(text)
            starts.append(position)
            position += len(text)
        for inner_name, value in reversed(inner) if depth < _DEEPEST else ():
            parents[value] = node
            stack.append((inner_name, value, depth + 1))
    scores = near("".join(texts), starts, query, _BESIDE)
    found: set[Node] = set()
    best = max(scores.values(), default=0.0)
    for rank, at in enumerate(sorted(scores, key=lambda at: (-scores[at], at))[:_MOST_ANSWERS]):
        if scores[at] < _GOOD_ANSWER * best:
            break
        node = leaves[at]
        if rank < _MOST_WHOLE and node in parents and len(parents[node].raw) <= _LARGEST_WHOLE:
            found.update(_inside(parents[node], parents))
        found.add(node)
        while node in parents:
            node = parents[node]
            if node in found:
                break
            found.add(node)
    return frozenset(found)


def _inside(node: Node, searched: Collection[Node]) -> Iterator[Node]:
    """Everything that a node holds, as deep as was searched."""
    first = node.raw[:1]
    for inner in node.members.values() if first == b"{" else node.items if first == b"[" else ():
        if inner in searched:
            yield inner
            yield from _inside(inner, searched)
