"""Labelled situations: what an agent is doing, and which notes a colleague would have put on its desk.

A third of the situations and more has no fitting note; many of those share a word or two with some note on purpose.
Among the notes are superseded ones, ones of other projects, and hostile ones.

| set | written | used for |
|---|---|---|
| `own_first`, `own_second`, `own_third` | by the authors of the scorer, in its vocabulary | choosing its constants |
| `strangers_tune` | later, for other trades and tools, in other words, unseen by the scorer | finding general rules |
| `strangers_held_out` | together with it | its first run is the figure for unseen situations |
| `paraphrases_tune` | after those: fewer shared words, nearer misses | finding general rules |
| `paraphrases_held_out` | every second one of the same list | as `strangers_held_out` |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A note; those of one namespace and source stand in one file."""

    namespace: str
    source: str
    heading: str
    text: str


class Situation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call and the notes that fit it, best first; none means: say nothing."""

    tool: str
    fitting: tuple[str, ...]
    arguments: dict[str, Any] = {}
    context_query: str = ""


class Labelled(msgspec.Struct, frozen=True):
    """Notes by id, and the situations."""

    notes: dict[str, Note]
    situations: tuple[Situation, ...]


SETS = (
    "own_first",
    "own_second",
    "own_third",
    "strangers_tune",
    "strangers_held_out",
    "paraphrases_tune",
    "paraphrases_held_out",
)


def load(name: str) -> Labelled:
    """One set, by its name in `SETS`."""
    return msgspec.json.decode(Path(__file__).with_name(f"{name}.json").read_bytes(), type=Labelled)


def write_notes(labelled: Labelled, folder: Path) -> None:
    """The notes as files; the namespace stands in the front matter and, but for `default`, as a folder."""
    files: dict[tuple[str, str], list[Note]] = {}
    for note in labelled.notes.values():
        files.setdefault((note.namespace, note.source), []).append(note)
    for (namespace, source), notes in files.items():
        path = folder / source if namespace == "default" else folder / namespace / source
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join(f"## {note.heading}\n\n{note.text}" for note in notes)
        path.write_text(f"---\nnamespace: {namespace}\n---\n\n{text}\n", encoding="utf-8")
