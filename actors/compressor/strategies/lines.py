"""`truncate` and `skeleton`: which lines of a text are kept, by its kind and by the query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from operator import sub

from actors.compressor import labelled, outline, ranks
from actors.compressor.budget import Budget
from actors.compressor.deadlines import due
from actors.compressor.detect import Kind
from actors.compressor.excerpt import ASKED, MUST, SALIENT, USEFUL, Excerpt, Gaps, choose, gap_cost
from actors.compressor.grid import odd, read
from actors.compressor.plans import plans
from actors.compressor.ranks_code import code, narrow
from actors.compressor.ranks_diff import diff
from actors.compressor.ranks_log import log
from actors.compressor.relevance import near, window
from actors.compressor.sentences import unlike
from actors.compressor.stamps import unstamped
from actors.compressor.statements import shapes_of, statements
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.thin import LARGE, thin
from actors.compressor.trouble import outright
from actors.compressor.units import Units, fence_around, merge_fences, split
from config.tokens import cost

_RANKERS: dict[Kind, tuple[Callable[[Units], list[int]], Gaps]] = {
    Kind.LOG: (log, Gaps.BLOCK),
    Kind.REPORT: (log, Gaps.BLOCK),
    Kind.FINDINGS: (log, Gaps.BLOCK),
    Kind.GREP: (ranks.grep, Gaps.BLOCK),
    Kind.DIFF: (diff, Gaps.INLINE),
    Kind.CODE: (code, Gaps.INLINE),
    Kind.MARKDOWN: (ranks.markdown, Gaps.INLINE),
    Kind.CONFIG: (outline.settings, Gaps.INLINE),
    Kind.RECORDS: (labelled.records, Gaps.INLINE),
}
_SAYING_NOTHING_OF_TROUBLE = frozenset({Kind.CODE, Kind.MARKDOWN, Kind.GREP, Kind.BLAME})
"""Kinds whose rankers do not look for words of trouble."""
_MAY_BE_PLANS = frozenset({Kind.RECORDS, Kind.PROSE, Kind.CONFIG, Kind.TABLE})
_MOST_MATCHES = 12
_MOST_WIDE = 4
_GOOD = 0.5
_NEARBY = 200
"""Code points around a unit in which the words of a query count for it."""
_MOST_STATEMENTS, _FREQUENT = 4, 10
_QUOTED = 70
"""Code points of a line that say which statement wrote it."""
_LONG_TABLE = 16


def truncate(task: Task) -> Draft:
    """The lines that matter for this kind of text, both ends, and what answers the query."""
    thinned = thin(task.text, task.query) if len(task.text) > LARGE else None
    units = split(task.text if thinned is None else thinned.text)
    ranker, gaps = _RANKERS.get(task.kind, (outline.prose, Gaps.INLINE))
    if task.kind is Kind.MARKDOWN:
        units = merge_fences(units)
    ranked = ranker(units)
    if task.kind is Kind.MARKDOWN:
        for index in outline.underlined(units):
            ranked[index] = max(ranked[index], SALIENT + 1)
        for index in outline.cues(units):
            ranked[index] = max(ranked[index], MUST)
        for index in outline.amounts(units):
            ranked[index] = max(ranked[index], USEFUL)
        for index in [*due(units), *unlike(units)]:
            ranked[index] = max(ranked[index], SALIENT)
        for index in _odd_rows(units):
            ranked[index] = max(ranked[index], SALIENT)
    if task.kind in _SAYING_NOTHING_OF_TROUBLE:
        for index in outright(units):
            ranked[index] = max(ranked[index], MUST)
    for index in plans(units) if task.kind in _MAY_BE_PLANS else ():
        ranked[index] = MUST
    ask(units, ranked, task.query)
    # What was not read is not counted.
    counts = _frequent(units) if task.kind is Kind.LOG and thinned is None else ""
    if thinned is not None:
        thinned.restore(units)
    budget, soft = task.budget.minus(counts), task.soft.minus(counts)
    if gaps is Gaps.BLOCK:
        return _draft(task, choose(units, ranked, budget, soft, gaps), gaps, counts)
    salient = [index for index, rank in enumerate(ranked) if rank >= SALIENT]
    if _may_fit(units, salient, budget, gaps):
        excerpt = choose(units, ranked, budget, soft, gaps)
        if excerpt.kept >= len({units.lines[index] for index in salient}):
            return _draft(task, excerpt, gaps, counts)
    if task.kind is Kind.CODE:
        units.overrides |= narrow(units, [index for index in salient if ranked[index] < ASKED - 1], budget)
    # Marks in place must not cost lines that matter; nothing else then, so that room for marks never means less.
    return _draft(task, choose(units, ranked, budget, soft, Gaps.SILENT, SALIENT), Gaps.SILENT, counts)


def _may_fit(units: Units, wanted: list[int], budget: Budget, gaps: Gaps) -> bool:
    """Whether units and the marks between them can be within the budget: less than `choose` would count for them."""
    size = units.size(wanted)
    if size > budget.chars:
        return False
    runs = 1 + sum(map((1).__lt__, map(sub, islice(wanted, 1, None), wanted)))
    chars, tokens = gap_cost(units, gaps)
    if size + chars * runs > budget.chars:
        return False
    return cost("\n".join([units.delivered(index) for index in wanted])) + tokens * runs <= budget.tokens


def _odd_rows(units: Units) -> list[int]:
    """Rows of long tables that stand out in their table."""
    runs: list[list[int]] = []
    for index in [at for at, line in enumerate(units.contents) if line.startswith("|")]:
        before = runs[-1][-1] if runs else -1
        if runs and index == before + 1 and units.lines[index] == units.last_lines[before] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    found: list[int] = []
    for run in runs:
        grid = read([units.contents[at] for at in run]) if len(run) >= _LONG_TABLE else None
        found += [run[grid.lines[at]] for at in odd(grid)] if grid is not None else []
    return found


def skeleton(task: Task) -> Draft:
    """Every heading and the first line of each section."""
    units = merge_fences(split(task.text))
    ranked = [rank if rank >= USEFUL else 0 for rank in ranks.markdown(units)]
    ask(units, ranked, task.query)
    return _draft(task, choose(units, ranked, task.budget, task.budget, Gaps.SILENT), Gaps.SILENT, "")


def _draft(task: Task, excerpt: Excerpt, gaps: Gaps, counts: str) -> Draft:
    said = f"{excerpt.kept} of {excerpt.total} lines"
    if excerpt.pieces:
        said = f"{len(excerpt.text)} of {len(task.text)} characters"
    elif gaps is Gaps.INLINE:
        said += ", …+N = N lines left out"
    return Draft(excerpt.text + counts, said, complete=excerpt.complete)


def ask(units: Units, ranked: list[int], query: str) -> None:
    """Lifts the units that answer the query, and their neighbours: of the best ones more of them."""
    scores = near(units.text, units.starts, query, _NEARBY) if query else {}
    best = sorted(scores, key=lambda index: (-scores[index], index))[:_MOST_MATCHES]
    for place, index in enumerate(best):
        if scores[index] >= _GOOD * scores[best[0]]:
            before, after = (4, 6) if place < _MOST_WIDE else (1, 2)
            for other in range(max(0, index - before), min(len(units), index + after + 1)):
                ranked[other] = max(ranked[other], ASKED - 1)
            ranked[index] = ASKED
            if index in units.overrides:
                units.overrides[index] = fence_around(
                    units.contents[index], max(0, window(units.contents[index], query, 1))
                )


def _frequent(units: Units) -> str:
    """How many lines the most frequent statements wrote, each by its first line."""
    written = statements(units, shapes_of(units))
    first: dict[str, int] = {}
    for index, statement in enumerate(written):
        first.setdefault(statement, index)
    counts = Counter(written).most_common(_MOST_STATEMENTS)
    common = [(count, first[statement]) for statement, count in counts if count >= _FREQUENT]
    if not common:
        return ""
    quotes = unstamped([units.contents[index] for _, index in common])
    said = [f"{count} lines like “{_start(line)}”" for (count, _), line in zip(common, quotes, strict=True)]
    return "\n[most frequent: " + ", ".join(said) + "]"


def _start(line: str) -> str:
    """The first words of a line; no part of a word, which might be a number."""
    line = line.strip()
    if len(line) <= _QUOTED:
        return line
    cut = line.rfind(" ", 0, _QUOTED)
    return f"{line[:cut]} …" if cut > 0 else "…"
