"""`truncate` and `skeleton`: which lines of a text are kept, by its kind and by the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from actors.compressor import ranks
from actors.compressor.detect import Kind
from actors.compressor.excerpt import MUST, NOISE, SALIENT, USEFUL, Excerpt, Gaps, choose
from actors.compressor.relevance import score
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.units import Units, merge_fences, split

_RANKERS: dict[Kind, tuple[Callable[[Units], list[int]], Gaps]] = {
    Kind.LOG: (ranks.log, Gaps.BLOCK),
    Kind.REPORT: (ranks.log, Gaps.BLOCK),
    Kind.GREP: (ranks.grep, Gaps.BLOCK),
    Kind.DIFF: (ranks.diff, Gaps.INLINE),
    Kind.CODE: (ranks.code, Gaps.INLINE),
    Kind.MARKDOWN: (ranks.markdown, Gaps.INLINE),
}
_MOST_MATCHES = 12
_MOST_SHAPES = 6


def truncate(task: Task) -> Draft:
    """The lines that matter for this kind of text, both ends, and what answers the query."""
    units = split(task.text)
    ranker, gaps = _RANKERS.get(task.kind, (ranks.prose, Gaps.BLOCK))
    if task.kind is Kind.MARKDOWN:
        units = merge_fences(units)
    ranked = ranker(units)
    ask(units, ranked, task.query)
    counts = _shapes(units) if task.kind is Kind.LOG else ""
    excerpt = choose(units, ranked, task.budget.minus(counts), task.soft.minus(counts), gaps)
    if gaps is Gaps.INLINE and excerpt.kept < len(
        {units.lines[index] for index, rank in enumerate(ranked) if rank >= SALIENT}
    ):
        # Marks in place must not cost lines that matter; nothing else then, so that room for marks never means less.
        gaps = Gaps.SILENT
        excerpt = choose(units, [rank if rank >= SALIENT else NOISE for rank in ranked], task.budget, task.soft, gaps)
    return _draft(excerpt, gaps, counts)


def skeleton(task: Task) -> Draft:
    """Every heading and the first line of each section."""
    units = merge_fences(split(task.text))
    ranked = [rank if rank >= USEFUL else 0 for rank in ranks.markdown(units)]
    ask(units, ranked, task.query)
    return _draft(choose(units, ranked, task.budget, task.budget, Gaps.SILENT), Gaps.SILENT, "")


def _draft(excerpt: Excerpt, gaps: Gaps, counts: str) -> Draft:
    said = f"{excerpt.kept} of {excerpt.total} lines"
    if gaps is Gaps.INLINE:
        said += ", …+N = N lines left out"
    return Draft(excerpt.text + counts, said, complete=excerpt.complete)


def ask(units: Units, ranked: list[int], query: str) -> None:
    """Lifts the units that answer the query, and their neighbours."""
    scores = score(units.text, units.starts, query) if query else {}
    best = sorted(scores, key=lambda index: (-scores[index], index))[:_MOST_MATCHES]
    for index in best:
        if scores[index] >= 0.4 * scores[best[0]]:
            ranked[index] = max(ranked[index], MUST)
            for near in (index - 1, index + 1, index + 2):
                if 0 <= near < len(units):
                    ranked[near] = max(ranked[near], SALIENT)


def _shapes(units: Units) -> str:
    """How many lines the most frequent statements wrote, each by the number of its first line."""
    shapes = ranks.shapes_of(units)
    first: dict[bytes, int] = {}
    for index, shape in enumerate(shapes):
        first.setdefault(shape, units.lines[index])
    common = [(count, first[shape]) for shape, count in Counter(shapes).most_common(_MOST_SHAPES) if count >= 10]
    if not common:
        return ""
    return "\n[most frequent: " + ", ".join(f"{count} lines like line {line}" for count, line in common) + "]"
