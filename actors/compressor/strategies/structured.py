"""JSON: listing (what `auto` takes), `schema_pruning`, `extract_fields`, and the lossless columnar form."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial

from actors.compressor import jsontext
from actors.compressor.budget import Budget
from actors.compressor.strategies.answers import answers
from actors.compressor.strategies.fit import Shorten
from actors.compressor.strategies.inner import inner
from actors.compressor.strategies.known import FEW, FEWEST, Known
from actors.compressor.strategies.projection import Projection, TooLong
from actors.compressor.strategies.rungs import ALL, FIELDS, LISTING, PRUNING, Rung
from actors.compressor.strategies.task import Draft, Task
from config.tokens import cost

_MOST_REPETITION = 12
"""Member names and punctuation are hardly ever more than this many times the values."""
_TEXT_RUNG, _IDENTITY_RUNGS = 7, 14
_MOST_OF = 0.5
_FILLED, _WIDER = 0.8, 1.3
"""A document that takes less of its room is tried in a wider one: parts do not always take what they are given."""
_MEASURED, _MOST_TRIES = 20_000, 5
"""Code points that say how many tokens a document has, and rooms that are tried before one fits."""
_MORE_ROWS, _ABOUT = (1.35, 1.25, 1.16, 1.08, 1.04), 1.03
_HEADS = (5, 10, 20, 40)
_LISTING_SHARE = 1.6
"""Of the soft target, with the fields of all records: they say more than whole ones do."""


def listing(task: Task, data: bytes, shorten: Callable[[Task], Draft]) -> Draft | None:
    """Every record by its telling fields where that fits, a few of them whole.

    The richest rung that fits the soft target, else the richest that fits at all; where what answers the query leaves
    no room for the document around it, without that.

    Args:
        shorten: how a text of any kind is shortened, for those of many lines inside of the document.
    """
    drafts = Drafts(data, task.query, task.budget, partial(_excerpt, task, shorten))
    wide = task.budget.capped(task.soft.scaled(_LISTING_SHARE))
    shape = drafts.shape()
    if shape is not Shape.LIST:
        # Of a tree every name counts.
        fitted = drafts.fitted(task.soft if shape is Shape.OTHER else wide)
        if fitted is not None:
            return fitted
    best = drafts.first(LISTING[:_IDENTITY_RUNGS], wide)
    # Without the identifying fields of every record a listing is worth little: that may use the whole budget.
    best = best or drafts.first(LISTING[_TEXT_RUNG:], task.budget)
    if best is None:
        return listing(replace(task, query=""), data, shorten) if task.query else None
    if best.rows < ALL:
        return drafts.extended(best, task.budget)
    return drafts.filled(best, [replace(best, head=count) for count in _HEADS if count > best.head > 0], task.soft)


def _excerpt(task: Task, shorten: Callable[[Task], Draft], text: str, room: int) -> str:
    """A text of the document in so many code points, as what it is."""
    budget = Budget(room, room)
    return shorten(replace(inner(task, text, budget, budget), query="")).text


def schema_pruning(task: Task, data: bytes) -> Draft | None:
    """First two and last item of each array, outliers, and what the query asks for."""
    return _first_fit(task, data, PRUNING)


def extract_fields(task: Task, data: bytes) -> Draft | None:
    """All members of an object with the structure below them and first values."""
    return _first_fit(task, data, FIELDS)


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

    def __init__(self, data: bytes, query: str, budget: Budget, shorten: Shorten | None = None) -> None:
        self._root = jsontext.Node(data)
        self._query = query
        self._budget = budget
        self._known = Known(answers=answers(self._root, query), shorten=shorten)
        self._made: dict[Rung, Draft | None] = {}

    def shape(self) -> Shape:
        """What makes up most of the document."""
        node, whole = self._root, len(self._root.raw)
        while len(node.raw) >= _MOST_OF * whole:
            parts = node.items if node.raw[:1] == b"[" else list(node.members.values()) if node.raw[:1] == b"{" else []
            if not parts:
                break
            if self._known.tree(node):
                return Shape.TREE
            lengths = [*map(len, jsontext.lexemes(parts))]
            largest = parts[lengths.index(max(lengths))]
            if len(parts) >= (FEWEST if node.raw[:1] == b"[" else FEW) and len(largest.raw) < _MOST_OF * len(node.raw):
                records = self._known.records(node)
                if records or (node.raw[:1] == b"[" and largest.raw[:1] != b"{"):
                    return Shape.LIST
            if node.raw[:1] == b"[" and len(parts) > 1:
                break  # a list inside of an item is but a part of that
            node = largest
        return Shape.OTHER

    def first(self, rungs: Sequence[Rung], room: Budget) -> Rung | None:
        """The first of the rungs, rich to poor, on which the document fits the room."""

        def fits(rung: Rung) -> bool:
            draft = self.of(rung)
            return draft is not None and room.fits(draft.text)

        whole = [rung for rung in rungs if rung.rows >= ALL]
        # Where not even the poorest row of every record fits, the richer ones are not tried.
        if whole and fits(whole[-1]):
            return next(filter(fits, whole))
        fewer = rungs[len(whole) :]
        at = bisect_left(fewer, True, key=fits)
        return fewer[at] if at < len(fewer) else None

    def filled(self, rung: Rung, richer: list[Rung], room: Budget) -> Draft | None:
        """The draft of a rung, or of the richest of the richer ones, poor to rich, that still fits the room."""
        best = self.of(rung)
        for more in richer:
            draft = self.of(more)
            if draft is None or not room.fits(draft.text):
                break
            best = draft
        return best

    def extended(self, rung: Rung, room: Budget) -> Draft | None:
        """The draft of a rung that lists some of the records, with as many more rows as still fit the room."""
        draft = self.of(rung)
        if draft is None:
            return None
        size = Budget.of(draft.text)
        most = min(room.chars / size.chars, room.tokens / size.tokens)
        for more in (more for more in _MORE_ROWS if more <= _ABOUT * most):
            wider = self.of(replace(rung, rows=int(rung.rows * more)))
            if wider is not None and room.fits(wider.text):
                return wider
        return draft

    def fitted(self, room: Budget) -> Draft | None:
        """The document fitted into the room as a whole; `None` where that does not work out."""
        whole = self._root.raw.decode()
        length = min(
            room.chars,
            room.tokens * len(whole) / max(1.0, cost(whole[:_MEASURED]) * len(whole) / len(whole[:_MEASURED])),
        )
        projection = Projection(LISTING[0], self._query, self._known, math.inf)
        best = ""
        low, high = 0.0, math.inf
        for _ in range(_MOST_TRIES):
            text = projection.fitted(self._root, int(length))
            if room.fits(text):
                if low and len(text) <= len(best):
                    break
                best, low = text, length
                if len(text) >= _FILLED * min(room.chars, room.tokens * len(text) / cost(text)):
                    break
                length = min(_WIDER * low, (low + high) / 2)
            else:
                high = length
                less = min(0.97 * room.tokens / cost(text), 0.97) * min(length, len(text))
                length = (low + high) / 2 if low else less
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
