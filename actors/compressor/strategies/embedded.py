"""A JSON object whose bulk is one long text (`content`, `stdout`, …): it is shortened in place, as what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from actors.compressor import jsontext
from actors.compressor.budget import Budget
from actors.compressor.jsontext import Node
from actors.compressor.strategies.inner import inner
from actors.compressor.strategies.known import Known
from actors.compressor.strategies.projection import Projection, TooLong
from actors.compressor.strategies.rungs import Rung
from actors.compressor.strategies.task import Draft, Task

_BULK = 0.6
_SHORTEST = 2_000
_DEEPEST = 3
_MOST_WITHIN = 4
"""Texts in texts; each may be tried in several rooms, so that time would grow by a power of them."""
_SHARES = (0.9, 0.75, 0.55, 0.35)
_BESIDE = Rung(text=300, opaque=80, scalars=40, head=2, tail=1, rows=60, members=60)


def embedded(task: Task, data: bytes, shorten: Callable[[Task], Draft]) -> Draft | None:
    """The object with its long text shortened; `None` where no single text makes up most of it, or nothing fits.

    Args:
        shorten: how a text of any kind is shortened.
    """
    found = _bulk(data) if task.depth < _MOST_WITHIN else None
    if found is None:
        return None
    path, raw = found
    text = jsontext.string(raw)
    within = inner(task, text, task.budget, task.soft)
    for share in _SHARES:
        room = task.budget.scaled(share)
        draft = shorten(replace(within, budget=room, soft=task.soft.capped(room)))
        try:
            whole = _put(Node(data), path, jsontext.quote(draft.text), task.budget)
        except TooLong:
            return None
        if task.budget.fits(whole):
            cleaned = f", cleaned: {', '.join(within.cleaned)}" if within.cleaned else ""
            return Draft(whole, f"{draft.said} of {path[-1][:40]}{cleaned}")
    return None


def _bulk(data: bytes) -> tuple[list[str], bytes] | None:
    """Where the text stands that makes up most of an object, and its JSON."""
    node, path = Node(data), list[str]()
    while node.raw[:1] == b"{" and len(path) < _DEEPEST:
        name, node = max(node.members.items(), key=lambda member: len(member[1].raw), default=("", Node(b"")))
        path.append(name)
        if len(node.raw) < max(_SHORTEST, _BULK * len(data)):
            return None
        if node.raw[:1] == b'"':
            return path, node.raw
    return None


def _put(node: Node, path: list[str], value: str, budget: Budget) -> str:
    """The object with the value at the path replaced, and its other members pruned.

    Raises:
        TooLong: the other members alone are beyond the budget.
    """
    parts = []
    for name, member in node.members.items():
        if name != path[0]:
            text = Projection(_BESIDE, "", Known(), budget.chars).render(member)
        else:
            text = value if len(path) == 1 else _put(member, path[1:], value, budget)
        parts.append(f"{jsontext.quote(name)}:{text}")
    return "{" + ",".join(parts) + "}"
