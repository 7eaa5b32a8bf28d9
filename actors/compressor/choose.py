"""Which strategy serves a text, and what happens when it does not fit: `auto`, the ten names, and their fallbacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from actors.compressor.budget import Budget
from actors.compressor.detect import Kind
from actors.compressor.strategies import (
    blame,
    contents,
    embedded,
    files,
    findings,
    history,
    lines,
    matches,
    minified,
    parts,
    paths,
    rows,
    structured,
    table,
)
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.units import safe_cut

SOFT_SHARE = 0.24
"""Where a lossy result should end up, as a share of the original, when what matters fits in it."""
SOFT_LEAST = Budget(6_800, 1_700)
_HEADINGS = re.compile(r"^#{1,6} \S", re.M)
_FEWEST_HEADINGS = 3
_SPECIAL: dict[Kind, Callable[[Task], Draft | None]] = {
    Kind.TABLE: table.table,
    Kind.COMMITS: history.history,
    Kind.BLAME: blame.blame,
    Kind.FINDINGS: findings.findings,
    Kind.MINIFIED: minified.minified,
    Kind.GREP: matches.matches,
    Kind.PATHS: paths.paths,
    Kind.FILES: files.files,
}
_TIGHTER = (0.9, 0.75, 0.5, 0.25)

Summarise = Callable[[Task], Draft | str]
"""A summary from elsewhere that fits the task's budget, or why there is none, in a word or two."""


def soft_target(size: Budget, budget: Budget) -> Budget:
    """The share of its own size that a long text should end up with; never above the budget."""
    share = size.scaled(SOFT_SHARE)
    return budget.capped(Budget(max(share.chars, SOFT_LEAST.chars), max(share.tokens, SOFT_LEAST.tokens)))


def shorten(task: Task, raw_kind: Kind, summarise: Summarise | None = None) -> Draft:
    """A draft that fits the task's budget, with the path of strategies that made it.

    Args:
        summarise: what serves `llm_summary`; without it, or where it says why not, `auto` does.
    """
    name = task.policy.strategy
    if name == "llm_summary":
        made = summarise(task) if summarise is not None else ""
        if isinstance(made, Draft):
            return _keep_floor(task, raw_kind, replace(made, path=name))
        draft = _auto(task)
        reason = f" ({made})" if made else ""
        return _keep_floor(task, raw_kind, replace(draft, path=f"{name}→auto:{draft.path}{reason}"))
    draft = _auto(task) if name == "auto" else _named(name, task, raw_kind)
    if name == "auto":
        draft = replace(draft, path=f"auto:{draft.path}")
    return _keep_floor(task, raw_kind, draft)


def _auto(task: Task) -> Draft:
    data = task.document
    if data is not None:
        form = structured.columnar(data, task.budget.chars)
        if form is not None and task.budget.fits(form):
            return Draft(form, complete=True, path="columnar")
        draft = embedded.embedded(task, data, _auto)
        if draft is not None:
            return replace(draft, path="truncate")
        draft = structured.listing(task, rows.as_records(data) or data, _auto)
        if draft is not None:
            sampled = data[:1] == b"[" or "whole" in draft.said
            return replace(draft, path="schema_pruning" if sampled else "extract_fields")
    composed = parts.parts(task, _auto) if data is None else None
    if composed is not None:
        return replace(composed, path="parts")
    special = _SPECIAL.get(task.kind)
    if special is not None:
        draft = special(task)
        if draft is not None and task.budget.fits(draft.text):
            return replace(draft, path="truncate")
    return replace(_truncated(task), path="truncate")


def _named(name: str, task: Task, raw_kind: Kind) -> Draft:
    """A strategy that was asked for; where the text is not of its kind, `truncate`, which the path shows."""
    draft: Draft | None = None
    data = task.document
    if name == "schema_pruning" and data is not None:
        draft = structured.schema_pruning(task, data)
    elif name == "extract_fields" and data is not None:
        draft = structured.extract_fields(task, data)
    elif name == "truncate" and data is not None:
        draft = embedded.embedded(task, data, _auto) or structured.listing(task, data, _auto)
    elif name == "skeleton" and len(_HEADINGS.findall(task.text)) >= _FEWEST_HEADINGS:
        draft = lines.skeleton(task)
    elif name == "selective":
        draft = contents.selective(task, raw_kind)
    elif name == "hybrid":
        draft = contents.hybrid(task, raw_kind)
    if draft is not None and task.budget.fits(draft.text):
        return replace(draft, path=name)
    return replace(
        _auto(task) if name != "truncate" and data is not None else _truncated(task),
        path=name if name == "truncate" else f"{name}→truncate",
    )


def _truncated(task: Task) -> Draft:
    """Lines, in an ever smaller budget where marks and fences made the result too long; at worst the head."""
    for share in (1.0, *_TIGHTER):
        draft = lines.truncate(
            replace(task, budget=task.budget.scaled(share), soft=task.soft.capped(task.budget.scaled(share)))
        )
        if task.budget.fits(draft.text) and (draft.text.strip() or not task.text.strip()):
            return draft
    return head(task)


def excerpt(task: Task) -> str:
    """What matters of the text, as lines of it, in the task's budget."""
    return _truncated(task).text


def head(task: Task) -> Draft:
    """The beginning of the text, as much as fits."""
    text = clamp(task.text, task.budget)
    return Draft(text, f"the first {len(text)} of {len(task.text)} characters")


def clamp(text: str, room: Budget) -> str:
    """The text cut to the room, whatever it is."""
    text = text[: int(room.chars)]
    while text and not room.fits(text):
        text = text[: safe_cut(text, len(text) * 9 // 10, 0)]
    return text


def _keep_floor(task: Task, raw_kind: Kind, draft: Draft) -> Draft:
    """The ladder for people who want a share of the text inline whatever the budget says."""
    floor = task.policy.retention_floor
    if floor <= 0 or draft.complete or draft.noted or len(draft.text) >= floor * len(task.raw):
        return draft
    if len(task.raw) > task.policy.progressive.chunk_size:
        return replace(contents.progressive(task, raw_kind), path=f"{draft.path}→progressive_fallback")
    wide = Budget(len(task.raw) * floor, Budget.of(task.raw).scaled(floor).tokens)
    wider = replace(task, budget=wide, soft=wide)
    if len(_HEADINGS.findall(task.raw)) >= _FEWEST_HEADINGS:
        return replace(contents.hybrid(wider, raw_kind), path=f"{draft.path}→hybrid_fallback")
    return replace(_truncated(wider), path=f"{draft.path}→truncate_fallback")
