"""JSON: listing (what `auto` takes), `schema_pruning`, `extract_fields`, and the lossless columnar form."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import Enum

from actors.compressor import jsontext
from actors.compressor.budget import Budget, cost
from actors.compressor.strategies import columns as fields
from actors.compressor.strategies.answers import answers
from actors.compressor.strategies.projection import FEW, Known, Projection, Rung, TooLong
from actors.compressor.strategies.task import Draft, Task

# From rich to poor. Every rung delivers at most the records and values of the one before it.
# At worst a string that says how much there is, and nothing of it.
_LEAST = (
    Rung(text=8, opaque=8, scalars=3, head=0, tail=0, rows=0, depth=1, members=2),
    Rung(text=8, opaque=8, scalars=3, head=0, tail=0, rows=0, depth=0, members=0),
)
_LISTING = (
    Rung(text=600, opaque=120, scalars=400, head=2, tail=1, rows=100_000, least=fields.MINOR, cap=2000),
    Rung(text=300, opaque=80, scalars=300, head=2, tail=1, rows=100_000, least=fields.PLAIN, cap=1600),
    Rung(text=160, opaque=40, scalars=200, head=1, tail=1, rows=100_000, least=fields.PLAIN, cap=1300),
    Rung(text=120, opaque=20, scalars=120, head=1, tail=0, rows=100_000, least=fields.PLAIN, columns=4, cap=1000),
    Rung(text=120, opaque=24, scalars=120, head=1, tail=1, rows=100_000, least=fields.TEXT, cap=1000),
    Rung(text=84, opaque=20, scalars=120, head=1, tail=0, rows=100_000, least=fields.TEXT, cap=800),
    Rung(text=72, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=fields.TEXT, cap=700),
    Rung(text=60, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=fields.TEXT, cap=600),
    Rung(text=60, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=fields.STATE, cap=500),
    Rung(text=60, opaque=16, scalars=60, head=1, tail=0, rows=100_000, least=fields.STATE, columns=3, cap=500),
    Rung(
        text=48, opaque=16, scalars=40, head=1, tail=0, rows=100_000, least=fields.IDENTITY, columns=2, depth=6, cap=400
    ),
    Rung(
        text=48, opaque=16, scalars=40, head=1, tail=0, rows=100_000, least=fields.IDENTITY, columns=1, depth=6, cap=400
    ),
    *(
        Rung(
            text=40,
            opaque=16,
            scalars=40,
            head=1,
            tail=0,
            rows=100_000,
            least=fields.IDENTITY,
            columns=1,
            depth=6,
            floor=floor,
            cap=400,
        )
        for floor in (110, 80, 56)
    ),
    *(
        Rung(
            text=40,
            opaque=16,
            scalars=max(3, rows // 4),
            head=1,
            tail=0,
            rows=rows,
            least=fields.IDENTITY,
            columns=1,
            members=2 * rows,
            depth=5,
            floor=56,
            cap=300,
        )
        for rows in (2000, 1400, 1000, 700, 500, 400, 320, 260, 210, 170, 140, 110, 90, 70, 50, 35, 24, 16, 10)
    ),
    Rung(text=24, opaque=12, scalars=3, head=1, tail=0, rows=4, least=fields.IDENTITY, columns=1, members=16, depth=3),
    Rung(text=16, opaque=8, scalars=3, head=1, tail=0, rows=0, depth=2, members=8),
    Rung(text=12, opaque=8, scalars=3, head=0, tail=0, rows=0, depth=1, members=5),
    *_LEAST,
)
_MOST_REPETITION = 12
"""Member names and punctuation are hardly ever more than this many times the values."""
_TEXT_RUNG, _IDENTITY_RUNGS = 5, 12
_MOST_OF, _FEWEST = 0.5, 4
_FILLED, _WIDER = 0.8, 1.3
"""A document that takes less of its room is tried in a wider one: parts do not always take what they are given."""
_MEASURED, _MOST_TRIES = 20_000, 5
"""Code points that say how many tokens a document has, and rooms that are tried before one fits."""
_ALL, _MORE_ROWS = 100_000, (1.35, 1.25, 1.16, 1.08)
_HEADS = (40, 20, 10, 5)
_LISTING_SHARE = 1.6
"""Of the soft target, with the fields of all records: they say more than whole ones do."""
_RICH = (160, 80, 40, 20, 10, 5, 2)

_PRUNING = tuple(
    Rung(text=text, opaque=opaque, scalars=3, head=2, tail=1, rows=0, members=members, depth=depth)
    for text, opaque, members, depth in (
        (100_000_000, 100_000_000, 100_000, 12), (2000, 300, 100_000, 12), (600, 120, 100_000, 12),
        (300, 80, 100_000, 10), (120, 40, 1000, 8),
        (60, 24, 200, 6), (40, 16, 60, 5), (24, 12, 20, 4), (16, 8, 8, 2), (12, 8, 5, 1),
    )
) + _LEAST  # fmt: skip

_FIELDS = tuple(
    Rung(text=text, opaque=opaque, scalars=scalars, head=1, tail=0, rows=0, members=100_000, depth=depth)
    for text, opaque, scalars, depth in (
        (600, 120, 20, 8), (300, 80, 10, 6), (120, 40, 6, 5), (80, 32, 4, 4), (60, 24, 3, 3),
        (40, 16, 3, 2), (24, 12, 3, 1),
    )
) + _PRUNING[-4:]  # fmt: skip


_NESTED = tuple(
    Rung(
        text=text, opaque=opaque, scalars=scalars, head=1, tail=0, rows=12, columns=2, members=100_000, depth=depth,
        peek=peek,
    )
    for text, opaque, scalars, depth, peek in (
        (300, 80, 12, 8, 2), (160, 60, 8, 8, 2), (100, 40, 4, 7, 2), (100, 40, 4, 6, 2), (60, 32, 3, 5, 2),
        (40, 24, 3, 5, 2), (60, 32, 3, 4, 2), (40, 24, 3, 4, 1),
        (84, 32, 3, 3, 2), (40, 24, 3, 3, 2), (40, 24, 3, 3, 1),
        (24, 12, 3, 3, 0), (84, 32, 3, 2, 2), (40, 16, 3, 2, 1), (24, 12, 3, 2, 0), (24, 12, 3, 1, 1),
        (24, 12, 3, 1, 0),
    )
)  # fmt: skip
"""For documents without lists of any weight: ever less of the depth, never less of the top."""


def listing(task: Task, data: bytes) -> Draft | None:
    """Every record by its telling fields where that fits, a few of them whole.

    The richest rung that fits the soft target, else the richest that fits at all; where what answers the query leaves
    no room for the document around it, without that.
    """
    drafts = Drafts(data, task.query, task.budget)
    wide = task.budget.capped(task.soft.scaled(_LISTING_SHARE))
    shape = drafts.shape()
    if shape is not Shape.LIST:
        # Of a tree every name counts.
        fitted = drafts.fitted(task.soft if shape is Shape.OTHER else wide)
        if fitted is not None:
            return fitted
    best = drafts.first(_LISTING[:_IDENTITY_RUNGS], wide)
    # Without the identifying fields of every record a listing is worth little: that may use the whole budget.
    best = best or drafts.first(_LISTING[_TEXT_RUNG:], task.budget)
    if best is None:
        return listing(replace(task, query=""), data) if task.query else None
    if best.rows < _ALL:
        return drafts.filled(best, [replace(best, rows=int(best.rows * more)) for more in _MORE_ROWS], task.budget)
    return drafts.filled(best, [replace(best, head=count) for count in _HEADS if count > best.head > 0], task.soft)


def schema_pruning(task: Task, data: bytes) -> Draft | None:
    """First two and last item of each array, outliers, and what the query asks for."""
    return _first_fit(task, data, _PRUNING)


def extract_fields(task: Task, data: bytes) -> Draft | None:
    """All members of an object with the structure below them and first values."""
    return _first_fit(task, data, _FIELDS)


def columnar(data: bytes, limit: float) -> str | None:
    """An array of flat records with the same members in the same order as names once and rows of values.

    Every lexeme of every value is kept, so the array can be written back exactly. `None` where the records differ, or
    where it would be far above `limit` bytes.
    """
    if data[:1] != b"[" or len(data) > _MOST_REPETITION * limit:
        return None
    items = jsontext.Node(data).items
    if len(items) < 3 or any(item.raw[:1] != b"{" for item in items):
        return None
    # Where all have the same names, each row is shorter than its record by as much as the first one is.
    first = items[0]
    saved = len(first.raw) - 1 - sum(len(value.raw) + 1 for value in first.members.values())
    if len(data.decode()) - saved * len(items) > limit:
        return None
    names: list[str] | None = None
    rows = []
    for item in items:
        if names is None:
            names = list(item.members)
        values = [value.raw for value in item.members.values()]
        if list(item.members) != names or any(value[:1] in (b"{", b"[") for value in values):
            return None
        rows.append(b"[" + b",".join(values) + b"]")
    header = ",".join(jsontext.quote(name) for name in names or [])
    return f'{{"columns":[{header}],"rows":[' + b",\n".join(rows).decode() + "]}"


def _first_fit(task: Task, data: bytes, rungs: tuple[Rung, ...]) -> Draft | None:
    drafts = Drafts(data, task.query, task.budget)
    draft = next((draft for rung in rungs if (draft := drafts.of(rung)) is not None), None)
    return _first_fit(replace(task, query=""), data, rungs) if draft is None and task.query else draft


class Shape(Enum):
    """What most of a document is: records of one kind, or things that hold things of their kind, or neither."""

    LIST = "list"
    TREE = "tree"
    OTHER = "other"


class Drafts:
    """Projections of one document, each made once."""

    def __init__(self, data: bytes, query: str, budget: Budget) -> None:
        self._root = jsontext.Node(data)
        self._query = query
        self._budget = budget
        self._known = Known(answers=answers(self._root, query))
        self._made: dict[Rung, Draft | None] = {}

    def shape(self) -> Shape:
        """What makes up most of the document."""
        node, whole = self._root, len(self._root.raw)
        while len(node.raw) >= _MOST_OF * whole:
            parts = node.items if node.raw[:1] == b"[" else list(node.members.values()) if node.raw[:1] == b"{" else []
            if not parts:
                break
            if Projection(_LISTING[0], "", self._known, 0).tree(node):
                return Shape.TREE
            largest = max(parts, key=lambda part: len(part.raw))
            if len(parts) >= (_FEWEST if node.raw[:1] == b"[" else FEW) and len(largest.raw) < _MOST_OF * len(node.raw):
                records = Projection(_LISTING[0], "", self._known, 0).records(node)
                if records or (node.raw[:1] == b"[" and largest.raw[:1] != b"{"):
                    return Shape.LIST
            if node.raw[:1] == b"[":
                break  # a list inside of an item is but a part of that
            node = largest
        return Shape.OTHER

    def first(self, rungs: Iterable[Rung], room: Budget) -> Rung | None:
        """The first of the rungs on which the document fits the room."""
        return next((rung for rung in rungs if (draft := self.of(rung)) is not None and room.fits(draft.text)), None)

    def filled(self, rung: Rung, richer: list[Rung], room: Budget) -> Draft | None:
        """The draft of a rung, or of the first of the richer ones that still fits the room."""
        return self.of(self.first(richer, room) or rung)

    def fitted(self, room: Budget) -> Draft | None:
        """The document fitted into the room as a whole; `None` where that does not work out."""
        whole = self._root.raw.decode()
        length = min(
            room.chars,
            room.tokens * len(whole) / max(1.0, cost(whole[:_MEASURED]) * len(whole) / len(whole[:_MEASURED])),
        )
        projection = Projection(_LISTING[0], self._query, self._known, math.inf)
        best = ""
        for _ in range(_MOST_TRIES):
            text = projection.fitted(self._root, int(length))
            if room.fits(text):
                if len(text) <= len(best):
                    break
                best = text
                if len(text) >= _FILLED * min(room.chars, room.tokens * len(text) / cost(text)):
                    break
                length *= _WIDER
            elif best:
                break
            else:
                length = min(length, len(text)) * min(0.97 * room.tokens / cost(text), 0.97)
        return Draft(best, "long values and nested parts cut") if best else None

    def of(self, rung: Rung) -> Draft | None:
        """The document on this rung; `None` where it does not fit the budget."""
        if rung not in self._made:
            self._made[rung] = self._make(rung)
        return self._made[rung]

    def _make(self, rung: Rung) -> Draft | None:
        projection = Projection(rung, self._query, self._known, self._budget.chars, self._budget.tokens)
        try:
            text = projection.render(self._root)
        except TooLong:
            return None
        return Draft(text, projection.said()) if self._budget.fits(text) else None
