"""`selective`, `hybrid` and `progressive`: a table of contents, a head and a table, or the first slice."""

from __future__ import annotations

import json

from actors.compressor.budget import Budget
from actors.compressor.detect import Kind
from actors.compressor.pages import page, valid
from actors.compressor.sections import Section, names, outline
from actors.compressor.strategies.lines import truncate
from actors.compressor.strategies.task import Draft, Task
from actors.compressor.units import safe_cut
from config.tokens import cost

_PREVIEWS = (80, 40, 20, 0)
_SHORTEST_ENTRY = len('{"key":"","type":"array","size":9,"preview":""},')


def selective(task: Task, kind: Kind) -> Draft:
    """A table of contents of the raw text, nothing else."""
    return Draft(_contents(task, kind, 0, task.budget), noted=True)


def hybrid(task: Task, kind: Kind) -> Draft:
    """The head, then a table of contents of what follows it, or an excerpt of it."""
    options = task.policy.hybrid
    least = Budget(options.min_toc_budget, options.min_toc_budget / 2)
    share = min(max(options.head_ratio, 0.0), 1.0)
    head = min(options.head_chars, int(task.budget.chars * share), int(task.budget.chars - least.chars))
    head = max(head, min(options.min_head_chars, int(task.budget.chars * 0.9)))
    end = _boundary(task.raw, head, Budget(task.budget.chars, task.budget.tokens * share))
    shown = valid(task.raw[:end]).rstrip() + "\n\n"
    left = task.budget.minus(shown)
    if options.tail_mode == "truncate":
        rest = task.raw[end:]
        tail = truncate(Task(rest, rest, task.kind, left, left, task.query, task.policy, task.key, task.ttl))
        return Draft(shown + tail.text, f"the first {end} of {len(task.raw)} characters and an excerpt of the rest")
    return Draft(shown + _contents(task, kind, end, left), noted=True)


def progressive(task: Task, kind: Kind) -> Draft:
    """The first slice of the raw text."""
    options = task.policy.progressive
    hints = names(task.raw, kind) if options.include_structure_hint else ()
    return Draft(page(task.raw, 0, max(1, options.chunk_size), task.key, task.ttl, task.budget, hints).text, noted=True)


def _boundary(text: str, end: int, room: Budget) -> int:
    """A line or word end near `end` within the room."""
    end = min(end, len(text))
    while end > 1 and cost(text[:end]) > room.tokens:
        end = end * 9 // 10
    for mark in ("\n", " "):
        cut = text.rfind(mark, end * 3 // 4, end)
        if cut > 0:
            return cut + 1
    return safe_cut(text, end, 0)


def _contents(task: Task, kind: Kind, start: int, room: Budget) -> str:
    """The table of contents from `start` on as JSON: shorter previews first, then fewer entries, until it fits."""
    form, found = outline(task.raw, kind, task.policy.selective.json_depth)
    found = _merged(
        [section for section in found if section.end > start],
        task.policy.selective.min_section_chars if form == "text" else 0,
    )
    total = len(found)
    found = found[: int(room.chars) // _SHORTEST_ENTRY]
    for length in _PREVIEWS:
        text = _toc(task, form, found, length, total)
        if room.fits(text):
            return text
    low, high = 0, len(found)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if room.fits(_toc(task, form, found[:middle], 0, total)) else (low, middle - 1)
    return _toc(task, form, found[:low], 0, total)


def _merged(found: list[Section], least: int) -> list[Section]:
    """Without paragraphs too short to be worth an entry."""
    return [section for section in found if section.size >= least] or found


def _toc(task: Task, form: str, found: list[Section], preview: int, total: int) -> str:
    entries = [
        {
            "key": valid(section.key),
            "type": section.type,
            "size": section.size,
            "preview": valid(section.preview(task.raw, preview)),
        }
        for section in found
    ]
    table = {
        "type": "toc",
        "selection_key": task.key,
        "format": form,
        "total_chars": len(task.raw),
        "ttl_seconds_remaining": task.ttl,
        "entries": entries,
        **({"entries_left_out": total - len(found)} if total > len(found) else {}),
        "hint": f'stm_proxy_select_chunks(key="{task.key}", sections=["…"]) or stm_proxy_read_more(…, find="…")',
    }
    return json.dumps(table, ensure_ascii=False, separators=(",", ":"))
