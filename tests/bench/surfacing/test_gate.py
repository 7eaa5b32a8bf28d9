"""The bench's floors: what a change must not make worse, in front of the embedded memory server.

They lie a little below what docs/surfacing.md reports, so that they catch a worse rule and not a lucky one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.surfacing.figures import Answer, Figures, figures, misses
from tests.bench.surfacing.runner import embedded, run
from tests.bench.surfacing.situations import SETS, Situation, load

FLOORS = {
    "own_first": (0.90, 0.92, 0.90),
    "own_second": (0.92, 0.90, 0.95),
    "own_third": (0.92, 0.90, 0.95),
    "strangers_tune": (0.95, 0.80, 0.95),
    "strangers_held_out": (0.95, 0.85, 0.95),
    "paraphrases_tune": (0.80, 0.80, 0.75),
    "paraphrases_held_out": (0.90, 0.80, 0.90),
}
"""Precision, recall@2, silence."""


@pytest.mark.parametrize("name", SETS)
async def test_the_floors_hold(name: str, tmp_path: Path) -> None:
    labelled = load(name)
    async with embedded(labelled, tmp_path) as ltm:
        found = figures(labelled.situations, await run(labelled, ltm, tmp_path))
    precision, recall, silence = FLOORS[name]
    assert (found.precision >= precision, found.recall >= recall, found.silence >= silence) == (True,) * 3, found
    assert found.chars < 450


@pytest.mark.parametrize("name", SETS)
def test_a_third_of_each_set_fits_nothing_and_every_note_is_known(name: str) -> None:
    labelled = load(name)
    silent = [situation for situation in labelled.situations if not situation.fitting]
    assert 1 / 3 <= len(silent) / len(labelled.situations) <= 1 / 2
    assert all(note in labelled.notes for situation in labelled.situations for note in situation.fitting)


def test_figures_count_what_they_say() -> None:
    fits, silent = Situation("read", ("a", "b")), Situation("read", ())
    right, wrong = frozenset({"a"}), frozenset({"c"})
    answers = [Answer((right,), chars=300), Answer((wrong, right), chars=500), Answer(), Answer((wrong,), chars=100)]
    situations = [fits, fits, fits, silent]
    assert figures(situations, answers) == Figures(4, 2 / 4, 2 / 3, 0.0, 450.0)
    assert [pair[1] for pair in misses(situations, answers)] == answers[1:]
    assert figures([], []) == Figures(0, 1.0, 1.0, 1.0, 0.0)
