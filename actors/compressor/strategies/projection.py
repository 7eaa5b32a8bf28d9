"""JSON made smaller with its shape and its lexemes kept: long arrays sampled, long strings cut, records listed in rows.

The result is JSON. What was left out is marked in place by strings that begin with `…+` and a count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.relevance import score, window
from actors.compressor.strategies import records as sets
from actors.compressor.strategies.branches import draw
from actors.compressor.strategies.fit import FEWEST_LINES, LEAST_EXCERPT, Fit
from actors.compressor.strategies.known import FEW, FEWEST, Known, alike, even, shown
from actors.compressor.strategies.leaves import Path
from actors.compressor.strategies.rungs import INNER, Rung
from actors.compressor.units import safe_cut
from config.tokens import cost

_MOST_MATCHES = 5
_ENDED = (b'"', b"}", b"]")
"""How values end that no text runs on from."""
_SHORT = 40
"""A container up to this long costs no more than the count that would stand for it."""
_LOUD_FLOOR = 240
"""Nor any text of a record that says that something failed."""
_MOST_ALARMS = 16
_FIRST_ROWS, _SURE = 40, 0.7
_SAMPLED, _SURE_OF_SAMPLE = 80, 0.85
_EVENTS = 0.6
"""Share of rows that differ from the one before, up to which records are the events of fewer things."""
_ANSWER = 360
"""How much of a long text is shown around an answer, in code points."""
_CONTINUED = 600
"""What leads to the next page is of no use when it is cut."""
_SMALLEST_TREE, _MOST_INNER = 600, 1_200
_LEAST_DRAWN = 0.5
"""Of the room, that a tree fills with names and fields; where it does not, there is more to say than a tree says."""
_DOCUMENT = 84
"""Room for a text from which on the JSON in it is fitted, into three times as much: it says more than its head."""
_SAME_FROM = 84
"""Rungs with shorter texts do without the values that all records share."""


class TooLong(Exception):
    """The rung keeps more than the limit."""


@dataclass
class Projection:
    """One pass over one document. `kept` of `total` counts the records (or values) of the largest collection.

    Attributes:
        known: what was found out about the document, shared by the passes over it.
        limit: most code points of values; a pass that needs more ends with `TooLong`, so that a rung that cannot fit
            costs no more than one that does.
        most_tokens: the same in estimated tokens, as far as listings are concerned.
        asked: the record being rendered answers the query, so its strings are cut around the answer.
        loud: length up to which texts stay whole, where the record being rendered says that something failed.
    """

    rung: Rung
    query: str
    known: Known
    limit: float
    most_tokens: float = math.inf
    asked: bool = False
    loud: int = 0
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
        if first != b'"':
            return self._spend(node.raw.decode())
        if node in self.known.answers:
            return self._spend(self._answer(node))
        return self._spend(self._string(node, max(floor, self.loud)))

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

    def _string(self, node: Node, floor: int, counted: bool = True) -> str:
        raw = node.raw
        if len(raw) <= 18:
            return raw.decode()
        limit = max(self.rung.text if b" " in raw else self.rung.opaque, floor)
        if len(raw) - 2 <= limit + 8:
            return raw.decode()
        text = jsontext.string(raw)
        if len(text) <= limit + 8:
            return raw.decode()
        if counted and limit >= LEAST_EXCERPT and not self.asked and raw.count(b"\\n") >= FEWEST_LINES:
            return Fit(self._listing, shorten=self.known.shorten).text(node, limit)
        if self.asked and (around := self._around(text, limit)):
            return jsontext.quote(around)
        if raw[1:2] in (b"{", b"[") and max(self.rung.text, floor) >= _DOCUMENT:
            inner = Fit(self._listing).document(node, 3 * max(self.rung.text, floor))
            if inner is not None:
                return inner
        cut = text.rfind(" ", limit // 2, limit + 1)
        cut = cut if cut > 0 and limit - cut < 5 else limit
        cut = safe_cut(text, cut, 1)
        return jsontext.quote(f"{text[:cut]}…+{len(text) - cut}" if counted else f"{text[:cut]}…")

    def _asked(self, node: Node, depth: int) -> str:
        """A value that was chosen as an answer: where there is a query, its strings are cut around that."""
        before, self.asked = self.asked, self.asked or bool(self.query)
        value = self.render(node, depth)
        self.asked = before
        return value

    def _around(self, text: str, limit: int) -> str:
        """The part of a long text that answers the query; `""` where none does, or where its beginning does."""
        at = window(text, self.query, limit // 2)
        if at < limit // 2:
            return ""
        start = safe_cut(text, max(0, at - limit // 4), 0)
        end = safe_cut(text, min(len(text), start + limit), start + 1)
        return f"…+{start}… {text[start:end]}" + (f"…+{len(text) - end}" if end < len(text) else "")

    def _answer(self, node: Node) -> str:
        """A text that answers the query: whole, or the part that does."""
        before, self.asked = self.asked, True
        value = self._string(node, _ANSWER)
        self.asked = before
        return value

    def _object(self, node: Node, depth: int) -> str:
        members = node.members
        found = self.known.records(node) if len(members) >= FEW else None
        if found is not None:
            return "{" + self._records(node, *found, "members", depth) + "}"
        wanted = self.known.answers
        if depth >= self.rung.depth and len(node.raw) > _SHORT:
            kept = [(name, value) for name, value in members.items() if value in wanted]
            if not kept:
                return jsontext.quote(f"…+{len(members)} members")
        else:
            kept = list(members.items())[: self.rung.members]
            if node in wanted:
                kept += [pair for pair in list(members.items())[self.rung.members :] if pair[1] in wanted]
        parts = []
        for name, value in kept:
            quoted, identifies, continues = self.known.name(name)
            floor = _CONTINUED if continues else self.rung.floor if identifies and self.rung.rows else 0
            parts.append(f"{quoted}:{self.render(value, depth + 1, floor)}")
        if len(members) > len(kept):
            parts.append(f'"…":"+{len(members) - len(kept)} members"')
            self._count(len(kept), len(members), "members")
        return "{" + ",".join(parts) + "}"

    def _array(self, node: Node, depth: int) -> str:
        items = node.items
        if depth >= self.rung.depth and len(node.raw) > _SHORT and node not in self.known.answers:
            return jsontext.quote(f"…+{len(items)} items")
        found = self.known.records(node) if len(items) > 2 else None
        if found is not None:
            return "[" + self._records(node, *found, "items", depth) + "]"
        return "[" + self._values(node, depth) + "]"

    def _values(self, node: Node, depth: int) -> str:
        """Plain values, or arrays of arrays: a run from the top and the last one."""
        items = node.items
        nested = any(item.raw[:1] in (b"[", b"{") for item in items[:4])
        room = max(self.rung.scalars // 4 if nested else self.rung.scalars, 3)
        if len(items) <= room + 1:
            self._count(len(items), len(items), "items")
            return ",".join(self.render(item, depth + 1) for item in items)
        self._count(room, len(items), "items")
        wanted = [at for at, item in jsontext.made(items) if item in self.known.answers] if self.known.answers else []
        matches = sorted({*self._matching(node, items)[:_MOST_MATCHES], *wanted, *self.known.odd(node)})
        matches = [at for at in matches if room - 1 <= at < len(items) - 1]
        return self._sampled(
            [self.render(item, depth + 1) for item in items[: room - 1]], items, [*matches, len(items) - 1], depth
        )

    def _sampled(self, head: list[str], items: Sequence[Node], later: list[int], depth: int) -> str:
        parts, before = head, len(head) - 1
        for at in later:
            if at > before + 1:
                parts.append(jsontext.quote(f"…+{at - before - 1} items"))
            parts.append(self._asked(items[at], depth + 1))
            before = at
        return ",".join(parts)

    def _records(self, node: Node, found: list[sets.Record], survey: sets.Survey, noun: str, depth: int) -> str:
        rung = self.rung
        whole = {*range(min(rung.head, len(found))), *range(max(0, len(found) - rung.tail), len(found))}
        asked: set[int] = set()
        if len(found) > rung.head + rung.tail + 1:
            whole |= set(survey.outliers) if rung.head else set()
            if self.query:
                asked = set(self._matching(node, [record.node for record in found])[:_MOST_MATCHES])
            if self.known.answers:
                asked |= {at for at, record in enumerate(found) if record.node in self.known.answers}
            whole |= asked | (set(survey.alarms[:_MOST_ALARMS]) if rung.head else set())
        left = len(found) - len(whole)
        columns = shown(survey, rung, noun == "members")
        names = ["key", *columns] if noun == "members" else columns
        alarms = set(survey.alarms) if len(survey.alarms) <= len(found) // sets.ALARM_SHARE else set()
        listed = min(left, rung.rows) if names else 0
        self._count(len(whole), len(found), noun, listed, names)
        mark = f"+{left} {noun}"
        if not listed:
            rest = jsontext.quote(mark if noun == "members" else f"…{mark}")
        else:
            mark = mark if listed == left else f"{mark}, {listed} of them listed"
            others: Iterator[int] = (at for at in range(len(found)) if at not in whole)
            if listed < left:
                others = self._listed(others, listed, [at for at in survey.alarms if at not in whole])
            rows, once = self._rows((found[at] for at in others), listed, columns, survey.paths, noun == "members")
            mark = f"{mark}, equal neighbours once" if once else mark
            rest = self._table(mark, names, rows, survey.same)
        parts: list[str] = []
        gap = next((at for at in range(len(found)) if at not in whole), len(found))
        for at in sorted(whole):
            if at > gap and rest:
                parts.append(f'"…":{rest}' if noun == "members" else rest)
                rest = ""
            record = found[at]
            before, self.loud = self.loud, max(self.loud, _LOUD_FLOOR if at in alarms else 0)
            value = self._whole(record.node, depth + 1, rung.cap * (2 if at in alarms else 1), at in asked)
            self.loud = before
            parts.append(value if record.key is None else f"{jsontext.quote(record.key)}:{value}")
        if left and rest:
            parts.append(f'"…":{rest}' if noun == "members" else rest)
        return ",".join(parts)

    def _whole(self, node: Node, depth: int, cap: int, asked: bool) -> str:
        """A record with all of its fields; fitted into the cap where it is longer."""
        if asked:
            return self._asked(node, depth)
        spent, limit, before = self.spent, self.limit, self.asked
        self.limit = min(limit, spent + cap)
        try:
            whole = self.render(node, depth)
        except TooLong:
            whole = ""
        finally:
            # Where it is given up within an answer, what follows is none.
            self.limit, self.asked = limit, before
        if whole and len(whole) <= cap:
            return whole
        self.spent = spent
        room = (node, int(min(cap, limit - spent)))
        if room not in self.known.fitted:
            self.known.fitted[room] = self.fitted(*room)
        return self._spend(self.known.fitted[room])

    def fitted(self, node: Node, room: int) -> str:
        """A value in so many code points."""
        known = self.known
        return Fit(self._listing, known.answers, known.shorten, known.weighed).render(node, room)

    def _listing(self, node: Node, room: int) -> str | None:
        """Records as the richest listing that fits so many code points."""
        array = node.raw[:1] == b"["
        tree = self.known.tree(node) if len(node.raw) >= _SMALLEST_TREE else None
        if tree is not None:
            drawn = draw(tree, room, self.known.answers, self._text)
            if drawn is not None and len(drawn) >= _LEAST_DRAWN * room:
                return drawn
        few = len(node.items) < FEWEST if array else len(node.members) < FEW
        found = None if few else self.known.records(node)
        if found is not None and array and not (alike(found[0]) and even(node)):
            return None
        if found is None or (array and not shown(found[1], INNER[0], keyed=False)):
            return None
        for rung in INNER:
            inner = Projection(replace(rung, cap=min(room // 3, _MOST_INNER)), self.query, self.known, room)
            try:
                text = inner.render(node)
            except TooLong:
                continue
            if len(text) <= room:
                return text
        return None

    def _text(self, node: Node, room: int) -> str:
        return node.raw.decode() if len(node.raw) <= room else Fit(self._listing).text(node, room)

    def _listed(self, others: Iterator[int], rows: int, alarms: list[int]) -> Iterator[int]:
        """The records that get a row: from the top, but those that failed take up to half of the rows."""
        first = set(alarms[: rows // 2])
        rest = islice((at for at in others if at not in first), rows - len(first))
        return iter(sorted([*first, *rest]))

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

    def _rows(
        self, records: Iterator[sets.Record], total: int, columns: list[str], paths: dict[str, Path], keyed: bool
    ) -> tuple[list[list[str]], bool]:
        """The rows of a listing, and whether equal neighbours stand there once, as the events of one thing do; where
        the first ones show that all are far too many, no more of them are made."""
        before = self.spent
        # A listing has rows, so what tells records apart is not cut: names, and without these and keys the first text.
        wanted = [
            (name, paths.get(name), self.rung.floor if (not at and not keyed) or self.known.name(name)[1] else 0)
            for at, name in enumerate(columns)
        ]
        first = [*islice(records, _FIRST_ROWS)]
        fresh = [*sets.changed(first, wanted)]
        once = len(fresh) <= _EVENTS * len(first)
        rows = [self._row(record, wanted) for record in (fresh if once else first)]
        self._judge(rows, before, len(first), _SURE * total)
        rest = [*records]
        if not once and len(rest) > _SAMPLED:
            # The first ones may be shorter than those all over the listing.
            spent = self.spent
            sample = [self._row(record, wanted) for record in rest[:: len(rest) // _SAMPLED]]
            self._judge(sample, spent, len(sample), _SURE_OF_SAMPLE * len(rest))
            self.spent = spent
        rows += [self._row(record, wanted) for record in (sets.changed(rest, wanted) if once else rest)]
        return rows, once

    def _judge(self, rows: list[list[str]], before: int, records: int, total: float) -> None:
        """Raises `TooLong` where `total` records are that take so much each as these, for which `before` was spent."""
        mean = (self.spent - before) / max(1, records)
        tokens = cost(",".join(",".join(row) for row in rows)) / max(1, records)
        if before + mean * total > self.limit or tokens * total > self.most_tokens:
            raise TooLong

    def _row(self, record: sets.Record, columns: list[tuple[str, Path | None, int]]) -> list[str]:
        cells = [] if record.key is None else [jsontext.quote(record.key)]
        members = record.members
        for name, path, floor in columns:
            node = members.get(name) if path is None else record.inside(name, path)
            raw = node.raw if node is not None else b"null"
            first = raw[:1]
            if first == b'"' and node is not None:
                cells.append(self._string(node, floor, counted=False))
            elif first in (b"{", b"[") and len(raw) > 2:
                cells.append('"…"')
            else:
                cells.append(raw.decode())
        self._spend("".join(cells))
        return cells

    def _matching(self, container: Node, nodes: Sequence[Node]) -> list[int]:
        """Positions of the parts of a container that answer the query, best first."""
        if not self.query:
            return []
        if container not in self.known.matches:
            self.known.matches[container] = self._answers(nodes)
        return self.known.matches[container]

    def _answers(self, nodes: Sequence[Node]) -> list[int]:
        raws = jsontext.lexemes(nodes)
        # Numbers side by side would be other numbers.
        texts = [raw.decode() if raw[-1:] in _ENDED else f"{raw.decode()}," for raw in raws]
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
