"""What is known of a document, found out once for all the passes over it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import islice

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.strategies import columns as fields
from actors.compressor.strategies.branches import Tree, grow
from actors.compressor.strategies.fit import Shorten, Weighed
from actors.compressor.strategies.records import Record, Survey, read, survey
from actors.compressor.strategies.rungs import Rung
from actors.compressor.strategies.series import odd

FEW, FEWEST = 8, 4
"""Fewer members are the fields of one thing, not records; and fewer items hardly a list."""


@dataclass
class Known:
    """What was found out about the containers of a document: their parts as records, and which answer the query."""

    found: dict[Node, tuple[list[Record], Survey] | None] = field(default_factory=dict)
    matches: dict[Node, list[int]] = field(default_factory=dict)
    outstanding: dict[Node, list[int]] = field(default_factory=dict)
    trees: dict[Node, Tree | None] = field(default_factory=dict)
    fitted: dict[tuple[Node, int], str] = field(default_factory=dict)
    answers: frozenset[Node] = frozenset()
    shorten: Shorten | None = None
    names: dict[str, tuple[str, bool, bool]] = field(default_factory=dict)
    weighed: dict[Node, list[Weighed]] = field(default_factory=dict)

    def name(self, name: str) -> tuple[str, bool, bool]:
        """A member name as JSON, whether it tells records apart, and whether it leads to the next page; there are few
        and they come again and again."""
        if name not in self.names:
            self.names[name] = jsontext.quote(name), fields.identifies(name), fields.continues(name)
        return self.names[name]

    def odd(self, node: Node) -> list[int]:
        """The values of an array that stand out; looked for once."""
        if node not in self.outstanding:
            self.outstanding[node] = odd(node.items)
        return self.outstanding[node]

    def records(self, node: Node) -> tuple[list[Record], Survey] | None:
        """The parts of a container as records of one kind, if they are; read once for all rungs."""
        if node not in self.found:
            array = node.raw[:1] == b"["
            parts: Collection[Node] = node.items if array else node.members.values()
            likely = any(part.raw[:1] == b"{" for part in islice(parts, 4))
            found = read(parts, None if array else node.members) if likely else None
            kept = found is not None and (array or alike(found))
            self.found[node] = (found, survey(found)) if kept and found is not None else None
        return self.found[node]

    def tree(self, node: Node) -> Tree | None:
        """The tree that a container is, if it is one; grown once."""
        if node not in self.trees:
            self.trees[node] = grow(node, self.answers)
        return self.trees[node]


def shown(seen: Survey, rung: Rung, keyed: bool) -> list[str]:
    """The fields that a listing shows. What tells records apart comes first: names, or else a text; a list of nothing
    but states says little. Keys name records by themselves."""
    naming = [name for name, points in seen.scores.items() if points == fields.IDENTITY]
    texts = [name for name, points in seen.scores.items() if points == fields.TEXT]
    fallback = [seen.telling] if seen.telling and not keyed else []
    telling = naming or texts[:1] or fallback
    others = [name for name, points in seen.scores.items() if points >= max(rung.least, 1) and name not in telling]
    return [*telling, *others][: rung.columns]


def even(node: Node) -> bool:
    """Whether no item makes up most of a list."""
    return max(len(item.raw) for item in node.items) < 0.5 * len(node.raw)


def alike(found: list[Record]) -> bool:
    """Whether the values of an object are records of one kind: they share most of their member names."""
    names = [frozenset(record.members) for record in found[:50]]
    union = frozenset().union(*names)
    return sum(len(each) for each in names) >= 0.4 * len(union) * len(names)
