"""Which values of a JSON document answer a query, wherever they stand in it."""

from __future__ import annotations

from actors.compressor.jsontext import Node
from actors.compressor.relevance import near

_MOST_SEARCHED = 8_000_000
_MOST_ANSWERS = 8
_GOOD_ANSWER = 0.7
_BESIDE = 120
"""Code points around a value in which the words of a query count for it."""


def answers(root: Node, query: str) -> frozenset[Node]:
    """The plain values that answer a query best, and everything that holds them."""
    if not query or len(root.raw) > _MOST_SEARCHED:
        return frozenset()
    leaves: list[Node] = []
    texts: list[str] = []
    starts: list[int] = []
    parents: dict[Node, Node] = {}
    position = 0
    stack: list[tuple[str, Node]] = [("", root)]
    while stack:
        name, node = stack.pop()
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
        for pair in reversed(inner):
            parents[pair[1]] = node
            stack.append(pair)
    scores = near("".join(texts), starts, query, _BESIDE)
    found: set[Node] = set()
    best = max(scores.values(), default=0.0)
    for at in sorted(scores, key=lambda at: (-scores[at], at))[:_MOST_ANSWERS]:
        if scores[at] < _GOOD_ANSWER * best:
            break
        node = leaves[at]
        while node not in found:
            found.add(node)
            if node not in parents:
                break
            node = parents[node]
    return frozenset(found)
