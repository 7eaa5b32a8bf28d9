"""`mms memory add | search | list | import | serve`: the notes of the LTM."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click
import msgspec

from actors.surfacer.messages import AddMemory, SearchMemory
from cli.asking import ASK_SECONDS, START_SECONDS, on_cluster
from cli.context import current_place
from cli.memory_import import Import, Taken, notes_in
from cli.output import Answer, Failure, answers, count, is_terminal, printable, read_input, table
from config.notes import LARGEST_FILE

TITLE_CHARS = 60
PREVIEW_CHARS = 100
HEAD_BYTES = 4_096
PROGRESS_EVERY = 100
SERVED_INDEX = "served.db"
SKIPPED_SHOWN = 10


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
    content = read_input() if text == "-" else text
    if not content.strip():
        raise Failure("usage", "the note is empty", 2)
    request = AddMemory(content=content, title=title, namespace=namespace, tags=tags)
    place = current_place()
    added = on_cluster(place, lambda bus: bus.ask(request, timeout=START_SECONDS + ASK_SECONDS, wait=START_SECONDS))
    return Answer(
        data={"ids": [note.id for note in added.notes], "text": added.text},
        text=next((note.source for note in added.notes if note.source), ""),
        talk=printable(added.text.splitlines()[0] if added.text else "Added."),
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
    if not query.strip():
        raise Failure("usage", "there is nothing to search for", 2)
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
    found = [path for _, path, _ in notes_in(folder) if path.is_file()] if folder.is_dir() else []
    paths = sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
    notes = [
        {"file": str(path.relative_to(folder)), "title": _title(path), "changed": path.stat().st_mtime}
        for path in paths
    ]
    rows = [(note["file"], note["title"], _day(paths[number])) for number, note in enumerate(notes)]
    large = [str(path.relative_to(folder)) for path in paths if path.stat().st_size > LARGEST_FILE]
    return Answer(
        data={"folder": str(folder), "notes": notes, "too_large": large},
        text=table(("FILE", "TITLE", "CHANGED"), rows) if rows else "",
        talk=_about_notes(folder, rows, large),
    )


def _about_notes(folder: Path, rows: Sequence[object], large: Sequence[str]) -> str:
    if not rows:
        return f"There are no notes in {folder}; `mms memory add` makes one."
    if not large:
        return ""
    more = f" and {len(large) - SKIPPED_SHOWN} more" if len(large) > SKIPPED_SHOWN else ""
    return printable(f"Over 1 MB, so not searched: {', '.join(large[:SKIPPED_SHOWN])}{more}. Split them.")


@memory.command("import")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--into", default=None, help="Folder below the memories that they go into; its own name by default.")
@click.option("--dry-run", is_flag=True, help="Only tell what would be done.")
@answers
def import_notes(folder: Path, into: str | None, dry_run: bool) -> Answer:
    """Copy a folder of Markdown notes, folders below it included. Needs no cluster.

    Front matter (title, namespace, tags) is kept. Left out are notes that are there already, links, files over 1 MB,
    and files that look as if they held a credential. Running it again takes over only what is new.

    \b
    Example:
      mms memory import ~/notes --dry-run
    """
    memories = current_place().home / "memories"
    source = folder.resolve()
    if source == memories.resolve() or memories.resolve() in source.parents:
        raise Failure("usage", f"{folder} is the memories folder itself or lies in it; its notes are used already", 2)
    name = source.name if into is None else into.strip("/")
    if name.startswith(".") or ".." in Path(name).parts:
        raise Failure("usage", "--into is a plain folder name below the memories folder", 2)
    taking = Import(memories, name, dry=dry_run)
    taken: list[Taken] = []
    try:
        for number, (relative, path, is_link) in enumerate(notes_in(source), 1):
            taken.append(taking.take(relative, path, is_link=is_link))
            if number % PROGRESS_EVERY == 0 and is_terminal(sys.stderr):
                click.echo(f"\r{number:,} notes looked at", nl=False, err=True)
    except OSError as error:
        raise Failure("memory", f"cannot write the notes to {memories}: {error.strerror or error}", 1) from None
    counts: Counter[str] = Counter(one.outcome for one in taken)
    skipped = [one for one in taken if one.outcome not in ("imported", "duplicate")]
    told = [f"  {printable(one.source)}: {one.outcome}" for one in skipped[:SKIPPED_SHOWN]]
    if len(skipped) > SKIPPED_SHOWN:
        told.append(f"  and {len(skipped) - SKIPPED_SHOWN:,} more")
    return Answer(
        data={
            "folder": str(memories),
            "dry_run": dry_run,
            "imported": [one.target for one in taken if one.outcome == "imported"],
            "skipped": [{"file": one.source, "reason": one.outcome} for one in taken if one.outcome != "imported"],
        },
        talk="\n".join([_summary(counts, memories, dry=dry_run), *told]),
    )


@memory.command()
def serve() -> None:
    """Serve the notes as a plain MCP server on stdio, for any MCP client. Needs no cluster.

    \b
    Example:
      claude mcp add notes -- mms memory serve
    """
    place = current_place()
    place.prepare()
    folder, index = str(place.home / "memories"), str(place.state / SERVED_INDEX)
    argv = [sys.executable, "-P", "-m", "actors.surfacer.embedded", "--memories", folder, "--index", index]
    os.execv(sys.executable, argv)  # noqa: S606 (the interpreter itself)


def _summary(counts: Counter[str], memories: Path, *, dry: bool) -> str:
    number = counts["imported"]
    if not counts:
        return "There are no Markdown notes in this folder."
    done = f"{'Would import' if dry else 'Imported'} {count(number, 'note')} into {memories}"
    known = counts["duplicate"]
    return f"{done}; {count(known, 'duplicate')} left out." if known else f"{done}."


def _title(path: Path) -> str:
    """The title that a note's properties give, else its first heading, else its first line of text."""
    with open(path, "rb") as file:
        lines = file.read(HEAD_BYTES).decode("utf-8", "replace").splitlines()
    if lines[:1] == ["---"] and "---" in lines[1:]:
        end = lines.index("---", 1)
        named = next((line.partition(":")[2] for line in lines[1:end] if line.startswith("title:")), "")
        if named := named.strip().strip("\"'").strip():
            return printable(named)[:TITLE_CHARS]
        del lines[: end + 1]
    texts = [line.strip() for line in lines if line.strip()]
    heading = next((line.lstrip("#") for line in texts if line.startswith("#")), texts[0] if texts else "")
    return printable(heading.strip())[:TITLE_CHARS]


def _preview(content: str) -> str:
    flat = " ".join(content.split())
    return flat if len(flat) <= PREVIEW_CHARS else f"{flat[: PREVIEW_CHARS - 1]}…"


def _day(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(sep=" ", timespec="minutes")[:16]
