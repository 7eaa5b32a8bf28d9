"""Precision, recall, silence and what a useful memory costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.surfacing.situations import Situation


@dataclass(frozen=True, slots=True)
class Answer:
    """What one situation brought.

    Attributes:
        shown: for each memory shown, best first, the ids of the notes that it holds.
        reason: why none was shown.
        chars: code points of the block.
    """

    shown: tuple[frozenset[str], ...] = ()
    reason: str = ""
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares from 0 to 1.

    Attributes:
        precision: of the memories shown, those that fit.
        recall: of the situations with a fitting note, those that showed one among the first two.
        silence: of the situations without, those that showed nothing.
        chars: code points injected per fitting memory.
    """

    situations: int
    precision: float
    recall: float
    silence: float
    chars: float


def figures(situations: Sequence[Situation], answers: Sequence[Answer]) -> Figures:
    pairs = list(zip(situations, answers, strict=True))
    right = sum(bool(ids & set(situation.fitting)) for situation, answer in pairs for ids in answer.shown)
    shown = sum(len(answer.shown) for answer in answers)
    fitting = [(situation, answer) for situation, answer in pairs if situation.fitting]
    found = sum(any(ids & set(s.fitting) for ids in answer.shown[:2]) for s, answer in fitting)
    quiet = [not answer.shown for situation, answer in pairs if not situation.fitting]
    return Figures(
        situations=len(pairs),
        precision=right / shown if shown else 1.0,
        recall=found / len(fitting) if fitting else 1.0,
        silence=sum(quiet) / len(quiet) if quiet else 1.0,
        chars=sum(answer.chars for answer in answers) / right if right else 0.0,
    )


def misses(situations: Sequence[Situation], answers: Sequence[Answer]) -> list[tuple[Situation, Answer]]:
    """The situations that were not answered as labelled."""
    return [
        (situation, answer)
        for situation, answer in zip(situations, answers, strict=True)
        if any(not ids & set(situation.fitting) for ids in answer.shown) or (situation.fitting and not answer.shown)
    ]
