"""Which values of a JSON document answer a query, wherever they stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from actors.compressor.jsontext import Node, lexemes
from actors.compressor.relevance import fold, near, spellings

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
_CONTAINERS = (b"{", b"[")
_TOGETHER = 50
"""Values that are searched at once: hardly any holds a word of the query."""


def answers(root: Node, query: str) -> frozenset[Node]:
    """The plain values that answer a query best, everything that holds them, and the best one's records."""
    if not query or len(root.raw) > _MOST_SEARCHED:
        return frozenset()
    search = _Search(spellings(query))
    search.run(root)
    scores = near("".join(search.texts), search.starts, query, _BESIDE, search.total)
    found: set[Node] = set()
    best = max(scores.values(), default=0.0)
    for rank, at in enumerate(sorted(scores, key=lambda at: (-scores[at], at))[:_MOST_ANSWERS]):
        if scores[at] < _GOOD_ANSWER * best:
            break
        node = search.leaves[at]
        holder, depth = search.holders.get(node, (root, 0))
        if rank < _MOST_WHOLE and node is not root and len(holder.raw) <= _LARGEST_WHOLE:
            found.update(_inside(holder, depth))
        found.add(node)
        while node in search.holders:
            node = search.holders[node][0]
            if node in found:
                break
            found.add(node)
    return frozenset(found)


@dataclass
class _Search:
    """The plain values that hold a word, in order, as one text in which they stand as far apart as in the document.

    Attributes:
        words: in lower case.
        starts: where each of the `leaves` begins in the text.
        total: plain values of the document, about.
        holders: what each value that was looked into stands in, and how deep that is.
    """

    words: Sequence[str]
    leaves: list[Node] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    total: int = 0
    holders: dict[Node, tuple[Node, int]] = field(default_factory=dict)
    _position: int = 0

    def run(self, root: Node) -> None:
        """Reads a document; parts without any of the words are passed by."""
        stack: list[tuple[str, Node | int, int]] = [("", root, 0)]
        while stack:
            name, node, depth = stack.pop()
            if isinstance(node, int):
                self._add("\n" * min(node, _BESIDE + 1))
            elif node.raw[:1] not in _CONTAINERS:
                self.leaves.append(node)
                self.starts.append(self._position)
                self.total += 1
                self._add(f"{name} {node.raw.decode()}\n")
            elif depth < _DEEPEST:
                inner = self._inner(node)
                for inner_name, value in reversed(inner):
                    if isinstance(value, Node):
                        self.holders[value] = (node, depth)
                    stack.append((inner_name, value, depth + 1))

    def _add(self, text: str) -> None:
        self.texts.append(text)
        self._position += len(text)

    def _inner(self, node: Node) -> list[tuple[str, Node | int]]:
        """The parts of a container that hold a word, by name, and the length of what stands between them."""
        keyed = node.raw[:1] == b"{"
        nodes = list(node.members.values()) if keyed else node.items
        names = list(node.members) if keyed else [""] * len(nodes)
        raws = lexemes(nodes)
        found: list[tuple[str, Node | int]] = []
        passed = 0
        for start in range(0, len(raws), _TOGETHER):
            group = raws[start : start + _TOGETHER]
            likely = self._holds(" ".join(names[start : start + _TOGETHER]) + b"\n".join(group).decode())
            for at, raw in enumerate(group, start) if likely else ():
                text = f"{names[at]} {raw.decode()}\n"
                small = raw[:1] in _CONTAINERS and len(raw) <= _BESIDE
                if small or self._holds(text):
                    # Next to an answer it counts to the letter how far apart things stand.
                    found += [("", passed), (names[at], nodes[at])] if passed else [(names[at], nodes[at])]
                    passed = 0
                else:
                    passed += len(text)
                    self.total += 1 + raw.count(b",")
            if not likely:
                passed += sum(map(len, group))
                self.total += len(group) + sum([raw.count(b",") for raw in group])
        return [*found, ("", passed)] if passed else found

    def _holds(self, text: str) -> bool:
        folded = fold(text)
        return any(word in folded for word in self.words)


def _inside(node: Node, depth: int) -> Iterator[Node]:
    """Everything that a node of some depth holds, as deep as is searched."""
    first = node.raw[:1]
    for inner in node.members.values() if first == b"{" else node.items if first == b"[" else ():
        yield inner
        if depth + 1 < _DEEPEST:
            yield from _inside(inner, depth + 1)
