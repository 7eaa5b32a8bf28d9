"""Texts with as much structure as fits in them: no path is worse than linear, in time or in memory."""

from __future__ import annotations

import tracemalloc

import pytest

from actors.compressor.html import to_markdown
from tests.bench.compress import DENSE, milliseconds, sized

SMALL, LARGE = 30_000, 240_000
TIMES = 24
"""Linear is eight times, quadratic sixty-four."""
LEAST_MS = 4
MOST_MEMORY = 6


@pytest.mark.parametrize("kind", [*DENSE])
@pytest.mark.parametrize("query", ["", "word 17 item"])
def test_time_grows_no_faster_than_the_text(kind: str, query: str) -> None:
    small, large = (milliseconds(sized(kind, size), 2, query) for size in (SMALL, LARGE))
    assert large <= TIMES * max(small, LEAST_MS)


@pytest.mark.parametrize("kind", ["html cells", "html inline", "html breaks"])
def test_a_page_takes_a_small_multiple_of_its_text_and_the_tree_of_one_piece(kind: str) -> None:
    small, large = (sized(kind, size) for size in (110_000, 2 * LARGE))
    assert peak(large) - peak(small) <= MOST_MEMORY * (len(large) - len(small))


def peak(page: str) -> int:
    """The most bytes that Python holds while a page becomes Markdown."""
    tracemalloc.start()
    try:
        to_markdown(page)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
