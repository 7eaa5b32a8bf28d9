"""A text inside of another one as a task of its own: seen and cleaned as any text is."""

from __future__ import annotations

from dataclasses import replace

from actors.compressor.budget import Budget
from actors.compressor.clean import clean
from actors.compressor.detect import look
from actors.compressor.strategies.task import Task


def inner(task: Task, text: str, budget: Budget, soft: Budget) -> Task:
    """What `task` is for its whole text, for a text in it."""
    seen = look(text)
    cleaned = clean(text, seen, task.policy.cleaning)
    return replace(
        task,
        raw=text,
        text=cleaned.text,
        kind=cleaned.kind,
        document=seen.document,
        budget=budget,
        soft=soft.capped(budget),
        cleaned=cleaned.dropped,
        depth=task.depth + 1,
    )
