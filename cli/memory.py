"""`mms memory add | search | list`: the notes of the LTM."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

import click
import msgspec

from actors.surfacer.messages import AddMemory, SearchMemory
from cli.asking import ASK_SECONDS, START_SECONDS, on_cluster
from cli.context import current_place
from cli.output import Answer, Failure, answers, printable, table

TITLE_CHARS = 60
PREVIEW_CHARS = 100
HEAD_BYTES = 4_096


@click.group()
def memory() -> None:
    """The notes that are surfaced.

    \b
    Example:
      mms memory search "deployment freeze"
    """


@memory.command()
@click.argument("text")
@click.option("--title", default="", help="Heading of the note.")
@click.option("--namespace", default="", help="Namespace that it belongs to.")
@click.option("--tag", "tags", multiple=True, help="May be given several times.")
@answers
def add(text: str, title: str, namespace: str, tags: tuple[str, ...]) -> Answer:
    """Add a note; `-` reads it from stdin.

    \b
    Example:
      mms memory add "Deploys are frozen on Fridays" --title "Deploy policy"
    """
    content = sys.stdin.read() if text == "-" else text
    if not content.strip():
        raise Failure("usage", "the note is empty", 2)
    request = AddMemory(content=content, title=title, namespace=namespace, tags=tags)
    place = current_place()
    added = on_cluster(place, lambda bus: bus.ask(request, timeout=START_SECONDS + ASK_SECONDS, wait=START_SECONDS))
    return Answer(
        data={"ids": [note.id for note in added.notes], "text": added.text},
        text="\n".join(note.id for note in added.notes),
        talk=printable(added.text),
    )


@memory.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="At most so many.")
@click.option("--namespace", default="", help="Only this namespace.")
@answers
def search(query: str, limit: int, namespace: str) -> Answer:
    """Search the notes as surfacing would.

    \b
    Example:
      mms memory search "deployment freeze" --limit 3
    """
    request = SearchMemory(query=query, limit=limit, namespace=namespace)
    place = current_place()
    found = on_cluster(place, lambda bus: bus.ask(request, timeout=START_SECONDS + ASK_SECONDS, wait=START_SECONDS))
    rows = [(f"{note.relevance:.2f}", note.source or note.id, _preview(note.content)) for note in found.notes]
    return Answer(
        data={"notes": msgspec.to_builtins(found.notes)},
        text=table(("RELEVANCE", "SOURCE", "NOTE"), rows) if rows else "",
        talk="" if rows else "Nothing found.",
    )


@memory.command("list")
@answers
def list_notes() -> Answer:
    """The files of the embedded LTM's notes, newest first. Needs no cluster.

    \b
    Example:
      mms memory list
    """
    folder = current_place().home / "memories"
    paths = sorted(folder.rglob("*.md"), key=lambda path: path.stat().st_mtime, reverse=True)
    notes = [
        {"file": str(path.relative_to(folder)), "title": _title(path), "changed": path.stat().st_mtime}
        for path in paths
    ]
    rows = [(note["file"], note["title"], _day(paths[number])) for number, note in enumerate(notes)]
    return Answer(
        data={"folder": str(folder), "notes": notes},
        text=table(("FILE", "TITLE", "CHANGED"), rows) if rows else "",
        talk="" if rows else f"There are no notes in {folder}; `mms memory add` makes one.",
    )


def _title(path: Path) -> str:
    """The first heading of a note, else its first line of text; a block of properties at its head is passed over."""
    with open(path, "rb") as file:
        lines = file.read(HEAD_BYTES).decode("utf-8", "replace").splitlines()
    if lines[:1] == ["---"] and "---" in lines[1:]:
        del lines[: lines.index("---", 1) + 1]
    texts = [line.strip() for line in lines if line.strip()]
    heading = next((line.lstrip("#") for line in texts if line.startswith("#")), texts[0] if texts else "")
    return printable(heading.strip())[:TITLE_CHARS]


def _preview(content: str) -> str:
    flat = " ".join(content.split())
    return flat if len(flat) <= PREVIEW_CHARS else f"{flat[: PREVIEW_CHARS - 1]}…"


def _day(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(sep=" ", timespec="minutes")[:16]
