"""Notes as plain Markdown files: front matter, headings, chunks, and the atomic writing of a new one.

A note of the user is never rewritten.
"""

from __future__ import annotations

import os
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bus.files import write_new
from config.notes import DEEPEST, LARGEST_FILE, MOST_FILES, is_note

DEFAULT_NAMESPACE = "default"
LONGEST_CHUNK = 2000
_IDS = uuid.UUID("6f7a1c52-6d9e-4f0c-9a77-3d1f6a0b9a11")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A searchable piece of a note: the text under one heading, or part of it.

    Attributes:
        id: UUID from source, heading and ordinal: the same after an edit of its text.
        source: path below the notes folder.
        hierarchy: title and headings, outermost first, joined by ` > `.
    """

    id: str
    source: str
    hierarchy: str
    namespace: str
    tags: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells that a file has changed."""

    modified_ns: int
    size: int


def scan(folder: Path, left_out: Callable[[str], None] = lambda why: None) -> dict[str, FileState]:
    """The Markdown files below `folder` (hidden ones, linked folders and files over 1 MB left out), at most 20,000.

    Args:
        left_out: told, in a line, of each file that is too large, and that there are too many.
    """
    found: dict[str, FileState] = {}
    pending = [(folder, "", 0)]
    while pending and len(found) < MOST_FILES:
        directory, prefix, depth = pending.pop()
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError:
            continue  # vanished or unreadable: its notes are not there
        for entry in entries:
            if entry.name.startswith("."):
                continue
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    pending.append((Path(entry.path), f"{name}/", depth + 1))
            elif is_note(entry.name) and entry.is_file():
                state = entry.stat()
                if state.st_size <= LARGEST_FILE:
                    found[name] = FileState(state.st_mtime_ns, state.st_size)
                else:
                    left_out(f"{entry.path} is not searched: it has over {LARGEST_FILE:,} bytes; split it")
    if pending or len(found) > MOST_FILES:
        left_out(f"{folder} has over {MOST_FILES:,} notes, of which the others are not searched; move some away")
    return dict(list(found.items())[:MOST_FILES])


def chunks(source: str, text: str) -> list[Chunk]:
    """The chunks of a note.

    Args:
        source: path below the notes folder, with `/`.
        text: the whole file.
    """
    fields, body = front_matter(text.replace("\r\n", "\n"))
    namespace = (fields.get("namespace") or [DEFAULT_NAMESPACE])[0] or DEFAULT_NAMESPACE
    title = (fields.get("title") or [""])[0]
    tags = tuple(tag.lstrip("#") for tag in fields.get("tags", []))
    seen: dict[str, int] = {}
    found: list[Chunk] = []
    for headings, section in list(_sections(body)) or _headings_only(body):
        names = [title, *headings] if title and (not headings or headings[0] != title) else headings
        hierarchy = " > ".join(names)
        for part in _parts(section):
            ordinal = seen[hierarchy] = seen.get(hierarchy, -1) + 1
            chunk_id = uuid.uuid5(_IDS, f"{source}\0{hierarchy}\0{ordinal}")
            found.append(Chunk(str(chunk_id), source, hierarchy, namespace, tags, part))
    return found


def front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """(fields, rest). Understands `key: value`, `key: [a, b]` and `key:` followed by `- item` lines."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    key = ""
    for line in match[1].split("\n"):
        item = line.strip()
        if item.startswith("- ") and key:
            fields[key].append(_unquoted(item[2:]))
        elif ":" in line and not line.startswith((" ", "\t", "#")):
            name, _, value = line.partition(":")
            key, value = name.strip().casefold(), value.strip()
            if value.startswith("[") and value.endswith("]"):
                fields[key] = [v for part in value[1:-1].split(",") if (v := _unquoted(part))]
            elif key == "tags":
                fields[key] = [v for part in value.split(",") if (v := _unquoted(part))]
            else:
                fields[key] = [_unquoted(value)] if value else []
    return fields, text[match.end() :]


def write_note(folder: Path, content: str, *, title: str = "", namespace: str = "", tags: Iterable[str] = ()) -> str:
    """Writes a new note and returns its path below `folder`. Atomic, 0600, never over an existing file.

    Raises:
        OSError: the folder cannot be written.
    """
    fields = [("title", _quoted(title)), ("namespace", _quoted(namespace))]
    lines = [f"{name}: {value}" for name, value in fields if value]
    kept = [_quoted(tag) for tag in tags if tag.strip()]
    if kept:
        lines.append(f"tags: [{', '.join(kept)}]")
    head = "---\n" + "\n".join(lines) + "\n---\n\n" if lines else ""
    data = (head + content.strip() + "\n").encode("utf-8", "replace")
    stem = f"{datetime.now(UTC):%Y-%m-%d}-{_slug(title or content)}"
    return write_new(folder / f"{stem}.md", data).name


def _sections(body: str) -> Iterator[tuple[list[str], str]]:
    """(headings, text) of each stretch between headings that has any text; fences hide headings."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1][0] * 3
        elif mark and mark[1].startswith(fence):
            fence = ""
        heading = None if fence or mark else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if text := "\n".join(lines).strip():
            yield [name for _, name in headings], text
        lines = []
        level = len(heading[1])
        headings = [*((depth, name) for depth, name in headings if depth < level), (level, heading[2])]
    if text := "\n".join(lines).strip():
        yield [name for _, name in headings], text


def _headings_only(body: str) -> Iterator[tuple[list[str], str]]:
    """The same for a note that says all that it says in its headings."""
    if text := "\n".join(found[2] for found in map(_HEADING.match, body.split("\n")) if found):
        yield [], text


def _parts(text: str) -> Iterator[str]:
    """`text` in pieces of at most 2000 code points, cut at paragraphs where possible."""
    while len(text) > LONGEST_CHUNK:
        cut = max(text.rfind("\n\n", 0, LONGEST_CHUNK), text.rfind("\n", LONGEST_CHUNK // 2, LONGEST_CHUNK))
        if cut < LONGEST_CHUNK // 2:
            cut = text.rfind(" ", LONGEST_CHUNK // 2, LONGEST_CHUNK)
        cut = cut if cut > 0 else LONGEST_CHUNK
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _unquoted(value: str) -> str:
    return value.strip().strip("\"'").strip()


def _quoted(value: str) -> str:
    """A front-matter value on one line; what our reader would misread is left out."""
    return re.sub(r"[\[\],\"'\x00-\x1f]+", " ", value).strip()[:200]


def _slug(text: str) -> str:
    words = re.findall(r"\w+", unicodedata.normalize("NFC", text).casefold())
    slug = ""
    for word in words[:8]:
        if len((slug + word).encode()) > 80:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or "note"
