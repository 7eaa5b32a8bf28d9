"""JSON made smaller with its shape and its lexemes kept: long arrays sampled, long strings cut, records listed in rows.

The result is JSON. What was left out is marked in place by strings that begin with `…+` and a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.relevance import fold, score, terms
from actors.compressor.strategies import records as sets
from actors.compressor.units import safe_cut

_FEW = 8
"""Fewer members are the fields of one thing, not records."""
_MOST_MATCHES = 5
_SHORT = 40
"""A container up to this long costs no more than the count that would stand for it."""
_IDENTITY_FLOOR = 160
"""Titles and names are not cut below this many code points while records are listed."""
_SAME_FROM = 84
"""Rungs with shorter texts do without the values that all records share."""


@dataclass(frozen=True)
class Rung:
    """How hard to prune.

    Attributes:
        text / opaque: longest string with and without spaces, in code points.
        scalars: most plain values kept of one array.
        head / tail: records kept whole at each end.
        rows: most records listed; 0 = no listing, a count stands for them.
        least / columns: lowest field score and most fields that a listing shows.
        members: most members kept of one object.
        depth: containers below this level become a count.
    """

    text: int
    opaque: int
    scalars: int
    head: int
    tail: int
    rows: int
    least: int = sets.PLAIN
    columns: int = 8
    members: int = 100_000
    depth: int = 12


class TooLong(Exception):
    """The rung keeps more than the limit."""


@dataclass
class Known:
    """What was found out about the containers of a document: their parts as records, and which answer the query."""

    sets: dict[Node, tuple[list[sets.Record], sets.Survey] | None] = field(default_factory=dict)
    matches: dict[Node, list[int]] = field(default_factory=dict)


@dataclass
class Projection:
    """One pass over one document. `kept` of `total` counts the records (or values) of the largest collection.

    Attributes:
        known: what was found out about the document, shared by the passes over it.
        limit: most code points of values; a pass that needs more ends with `TooLong`, so that a rung that cannot fit
            costs no more than one that does.
        asked: the record being rendered answers the query, so its strings are cut around the answer.
    """

    rung: Rung
    query: str
    known: Known
    limit: float
    asked: bool = False
    spent: int = 0
    kept: int = 0
    listed: int = 0
    total: int = 0
    noun: str = "items"
    columns: Sequence[str] = ()

    def render(self, node: Node, depth: int = 0, floor: int = 0) -> str:
        """One value. `floor` is a length up to which a string stays whole whatever the rung says."""
        first = node.raw[:1]
        if first == b"{":
            return self._object(node, depth)
        if first == b"[":
            return self._array(node, depth)
        return self._spend(self._string(node.raw, floor) if first == b'"' else node.raw.decode())

    def _spend(self, text: str) -> str:
        self.spent += len(text)
        if self.spent > self.limit:
            raise TooLong
        return text

    def said(self) -> str:
        """What was kept, in the source's units."""
        if self.listed:
            which = "the others" if self.listed + self.kept == self.total else f"{self.listed} more"
            return f"{self.kept} of {self.total} {self.noun} whole, {which} by {', '.join(self.columns[:6])}"
        return (
            f"{self.kept} of {self.total} {self.noun}" if self.total > self.kept else "long values and nested parts cut"
        )

    def _string(self, raw: bytes, floor: int, counted: bool = True) -> str:
        if len(raw) <= 18:
            return raw.decode()
        limit = max(self.rung.text if b" " in raw else self.rung.opaque, floor)
        if len(raw) - 2 <= limit + 8:
            return raw.decode()
        text = jsontext.string(raw)
        if len(text) <= limit + 8:
            return raw.decode()
        if self.asked and (around := self._around(text, limit)):
            return jsontext.quote(around)
        cut = text.rfind(" ", limit // 2, limit + 1)
        cut = cut if cut > 0 and limit - cut < 5 else limit
        cut = safe_cut(text, cut, 1)
        return jsontext.quote(f"{text[:cut]}…+{len(text) - cut}" if counted else f"{text[:cut]}…")

    def _asked(self, node: Node, depth: int, asked: bool) -> str:
        """A value, its strings cut around the answer where it was chosen for that."""
        before, self.asked = self.asked, self.asked or (asked and bool(self.query))
        value = self.render(node, depth)
        self.asked = before
        return value

    def _around(self, text: str, limit: int) -> str:
        """The part of a long text that answers the query; `""` where none does, or where its beginning does."""
        folded = fold(text)
        at = next((place for term in terms(self.query) if (place := folded.find(term)) >= 0), 0)
        if at < limit * 3 // 4:
            return ""
        start = safe_cut(text, max(0, at - limit // 3), 0)
        end = safe_cut(text, min(len(text), start + limit), start + 1)
        return f"…+{start}… {text[start:end]}" + (f"…+{len(text) - end}" if end < len(text) else "")

    def _object(self, node: Node, depth: int) -> str:
        members = node.members
        found = self._set(node) if len(members) >= _FEW else None
        if found is not None:
            return "{" + self._records(node, *found, "members", depth) + "}"
        if depth >= self.rung.depth and len(node.raw) > _SHORT:
            return jsontext.quote(f"…+{len(members)} members")
        kept = list(members.items())[: self.rung.members]
        parts = [f"{jsontext.quote(name)}:{self.render(value, depth + 1, self._floor(name))}" for name, value in kept]
        if len(members) > len(kept):
            parts.append(f'"…":"+{len(members) - len(kept)} members"')
            self._count(len(kept), len(members), "members")
        return "{" + ",".join(parts) + "}"

    def _array(self, node: Node, depth: int) -> str:
        items = node.items
        if depth >= self.rung.depth and len(node.raw) > _SHORT:
            return jsontext.quote(f"…+{len(items)} items")
        found = self._set(node) if len(items) > 2 else None
        if found is not None:
            return "[" + self._records(node, *found, "items", depth) + "]"
        return "[" + self._values(node, depth) + "]"

    def _set(self, node: Node) -> tuple[list[sets.Record], sets.Survey] | None:
        """The parts of a container as records of one kind, if they are; read once for all rungs."""
        if node not in self.known.sets:
            array = node.raw[:1] == b"["
            parts: list[tuple[str | None, Node]] = (
                [(None, item) for item in node.items] if array else [*node.members.items()]
            )
            likely = any(part.raw[:1] == b"{" for _, part in parts[:4])
            found = sets.read(parts) if likely else None
            alike = found is not None and (array or _alike(found))
            self.known.sets[node] = (found, sets.survey(found)) if alike and found is not None else None
        return self.known.sets[node]

    def _floor(self, name: str) -> int:
        return _IDENTITY_FLOOR if self.rung.rows and sets.identifies(name) else 0

    def _values(self, node: Node, depth: int) -> str:
        """Plain values, or arrays of arrays: a run from the top and the last one."""
        items = node.items
        nested = any(item.raw[:1] in (b"[", b"{") for item in items[:4])
        room = max(self.rung.scalars // 4 if nested else self.rung.scalars, 3)
        if len(items) <= room + 1:
            self._count(len(items), len(items), "items")
            return ",".join(self.render(item, depth + 1) for item in items)
        self._count(room, len(items), "items")
        matches = [at for at in self._matching(node, items) if room - 1 <= at < len(items) - 1][:_MOST_MATCHES]
        return self._sampled(
            [self.render(item, depth + 1) for item in items[: room - 1]], items, [*matches, len(items) - 1], depth
        )

    def _sampled(self, head: list[str], items: list[Node], later: list[int], depth: int) -> str:
        parts, before = head, len(head) - 1
        for at in later:
            if at > before + 1:
                parts.append(jsontext.quote(f"…+{at - before - 1} items"))
            parts.append(self._asked(items[at], depth + 1, True))
            before = at
        return ",".join(parts)

    def _records(self, node: Node, found: list[sets.Record], survey: sets.Survey, noun: str, depth: int) -> str:
        rung = self.rung
        whole = {*range(min(rung.head, len(found))), *range(max(0, len(found) - rung.tail), len(found))}
        asked: set[int] = set()
        if len(found) > rung.head + rung.tail + 1:
            whole |= set(survey.outliers) if rung.head else set()
            asked = set(self._matching(node, [record.node for record in found])[:_MOST_MATCHES])
            whole |= asked
        others = [at for at in range(len(found)) if at not in whole]
        columns = [name for name, points in survey.scores.items() if points >= max(rung.least, 1)][: rung.columns]
        names = ["key", *columns] if noun == "members" else columns
        listed = self._listed(others, survey.alarms) if names else []
        self._count(len(whole), len(found), noun, len(listed), names)
        mark = f"+{len(others)} {noun}"
        if not listed:
            rest = jsontext.quote(mark if noun == "members" else f"…{mark}")
        else:
            mark = mark if len(listed) == len(others) else f"{mark}, {len(listed)} of them listed"
            rest = self._table(mark, names, [self._row(found[at], columns) for at in listed], survey.same)
        parts: list[str] = []
        for at, record in enumerate(found):
            if at in whole:
                value = self._asked(record.node, depth + 1, at in asked)
                parts.append(value if record.key is None else f"{jsontext.quote(record.key)}:{value}")
            elif rest:
                parts.append(f'"…":{rest}' if noun == "members" else rest)
                rest = ""
        return ",".join(parts)

    def _listed(self, others: list[int], alarms: list[int]) -> list[int]:
        """The records that get a row: from the top, but those that failed take up to half of the rows."""
        if len(others) <= self.rung.rows:
            return others
        free = set(others)
        first = [at for at in alarms if at in free][: self.rung.rows // 2]
        taken = set(first)
        rest = [at for at in others if at not in taken][: self.rung.rows - len(first)]
        return sorted([*first, *rest])

    def _table(self, mark: str, names: list[str], rows: list[list[str]], same: dict[str, bytes]) -> str:
        """What stands for records that are not whole: their telling fields, and what all of them have."""
        parts = [f'"left out":{jsontext.quote(mark)}']
        if same and self.rung.text >= _SAME_FROM:
            common = ",".join(f"{jsontext.quote(name)}:{raw.decode()}" for name, raw in same.items())
            parts.append(f'"all have":{{{common}}}')
        if len(names) == 1:
            parts.append(f"{jsontext.quote(names[0])}:[" + ",".join(row[0] for row in rows) + "]")
        else:
            parts.append('"columns":[' + ",".join(map(jsontext.quote, names)) + "]")
            parts.append('"rows":[' + ",".join("[" + ",".join(row) + "]" for row in rows) + "]")
        return "{" + ",".join(parts) + "}"

    def _row(self, record: sets.Record, columns: list[str]) -> list[str]:
        cells = [] if record.key is None else [jsontext.quote(record.key)]
        for name in columns:
            raw = record.members[name].raw if name in record.members else b"null"
            if raw[:1] in (b"{", b"["):
                cells.append('"…"' if len(raw) > 2 else raw.decode())
            elif raw[:1] == b'"':
                cells.append(self._string(raw, self._floor(name), counted=False))
            else:
                cells.append(raw.decode())
        self._spend("".join(cells))
        return cells

    def _matching(self, container: Node, nodes: list[Node]) -> list[int]:
        """Positions of the parts of a container that answer the query, best first."""
        if not self.query:
            return []
        if container not in self.known.matches:
            self.known.matches[container] = self._answers(nodes)
        return self.known.matches[container]

    def _answers(self, nodes: list[Node]) -> list[int]:
        texts = [node.raw.decode() for node in nodes]
        starts, position = [], 0
        for text in texts:
            starts.append(position)
            position += len(text)
        scores = score("".join(texts), starts, self.query)
        best = max(scores.values(), default=0.0)
        return [at for at in sorted(scores, key=lambda at: (-scores[at], at)) if scores[at] >= 0.5 * best]

    def _count(self, kept: int, total: int, noun: str, listed: int = 0, columns: Sequence[str] = ()) -> None:
        if total > self.total:
            self.kept, self.total, self.noun, self.listed, self.columns = kept, total, noun, listed, columns


def _alike(found: list[sets.Record]) -> bool:
    """Whether the values of an object are records of one kind: they share most of their member names."""
    names = [frozenset(record.members) for record in found[:50]]
    union = frozenset().union(*names)
    return sum(len(each) for each in names) >= 0.4 * len(union) * len(names)
