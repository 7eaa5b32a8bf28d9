"""Listings of files, as `ls -l`, `tar -tv` and file servers print them: the names in each folder, with their sizes if
there is room."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from actors.compressor.strategies.paths import asked, cut, tree
from actors.compressor.strategies.task import Draft, Task

_ENTRY = re.compile(
    r"(?P<mode>[-dlbcpsD][-rwxsStTlL]{9})[.+@]? +(?:\d+ +)?(?P<owner>[^\s/]+(?:/| +)\S+) +(?P<size>\d[\d.,]*[KMGTB]?)"
    r"(?:, *\d+)? +(?:\d{4}-\d\d-\d\d \d\d:\d\d\S*(?: [+-]\d{4})?|\S+ +\d{1,2} +[\d:]{4,5}|\d{1,2} +\S+ +[\d:]{4,5}) "
    r"(?P<name>.+)"
)
_TAGS = ("[FILE] ", "[DIR] ")
_SIZE = re.compile(r"\d[\d.]* ?[KMGT]?B")
_FOLDER = re.compile(r"(\S.{0,300}):$")
_TOTAL = re.compile(r"(?:total|insgesamt) [\d.,]+[KMGT]?$")
_MOSTLY = 0.9
_SELDOM, _MOST_SELDOM = 0.02, 3
"""A mode or an owner is odd that at most so many have: a share, and a number."""
_MOST_ODD = 8
_MOST_OTHERS = 12
_EACH = (800, 400, 200, 100, 60, 40, 25, 15, 8, 4)
"""Names of each folder that are shown where not all of them fit."""


@dataclass(frozen=True)
class _File:
    """One entry. `line` is as it was printed."""

    line: str
    name: str
    size: str
    mode: str = ""
    owner: str = ""

    def sized(self) -> str:
        return f"{self.name} {self.size}" if self.size else self.name


_Folders = dict[str, list[_File]]


def files(task: Task) -> Draft | None:
    """What is said besides, the lines that differ from all others and that of the largest file; then each folder with
    the names of what is in it, and their sizes if these fit in the soft target; else the first names of each; else the
    numbers of entries. `None` where not even these fit, and for listings of other forms."""
    lines = [line for line in task.text.splitlines() if line.strip()]
    folders, others = _folders(lines)
    if not folders or len(others) > (1 - _MOSTLY) * len(lines):
        return None
    total = sum(map(len, folders.values()))
    entries = [file for found in folders.values() for file in found]
    first = [*map(cut, (*others[:_MOST_OTHERS], *asked(lines, task.query), *_odd(entries)))]
    text = _text(first, folders, _File.sized, total)
    if task.soft.fits(text):
        return Draft(text, f"names and sizes of all {total} entries")
    text = _text(first, folders, _name, total)
    if task.budget.fits(text):
        return Draft(text, f"names of all {total} entries")
    for most in _EACH:
        text = _text(first, folders, _name, most)
        if (task.budget if most == _EACH[-1] else task.soft).fits(text):
            return Draft(text, f"the first {most} names of each folder, of {total} entries")
    numbers = tree({folder: len(found) for folder, found in folders.items()}, first, task.budget)
    return Draft(numbers, f"numbers of entries in each folder, {total} in all") if numbers else None


def _folders(lines: list[str]) -> tuple[_Folders, list[str]]:
    """The entries of each folder, in order, and the lines that are none."""
    found: _Folders = {}
    others: list[str] = []
    folder = ""
    for line in lines:
        if file := _file(line):
            # Archives name the folder in front of each entry instead.
            inside, slash, name = ("", "", file.name) if folder or not file.mode else _inside(file.name)
            found.setdefault(folder or inside + slash, []).append(
                _File(file.line, name, file.size, file.mode, file.owner)
            )
        elif heading := _FOLDER.match(line):
            folder = heading[1]
            found.setdefault(folder, [])
        elif not _TOTAL.match(line) and _ENTRY.match(line) is None:
            others.append(line)
    return found, others


def _file(line: str) -> _File | None:
    """The entry that a line shows; `None` for the folder itself and the one above it too."""
    if entry := _ENTRY.match(line):
        name, folder = entry["name"], entry["mode"][0] == "d"
        if name.rstrip("/") in (".", ".."):
            return None
        return _File(line, _marked(name, folder), "" if folder else entry["size"], entry["mode"], entry["owner"])
    if line.startswith(_TAGS):
        name, _, size = line.partition("] ")[2].partition("  ")
        return _File(
            line, _marked(name, line.startswith("[DIR")), size.strip() if _SIZE.fullmatch(size.strip()) else ""
        )
    return None


def _marked(name: str, folder: bool) -> str:
    return cut(f"{name.rstrip('/')}/" if folder else name)


def _inside(name: str) -> tuple[str, str, str]:
    """The folder in front of a name, and the name with its own mark."""
    path, arrow, target = name.partition(" -> ")
    folder, slash, last = path.rstrip("/").rpartition("/")
    return folder, slash, last + path[len(path.rstrip("/")) :] + arrow + target


def _odd(entries: list[_File]) -> Iterator[str]:
    """The lines with a mode or owner that hardly any other has, and that of the largest file."""
    few = min(_MOST_SELDOM, _SELDOM * len(entries))
    modes, owners = Counter(file.mode for file in entries), Counter(file.owner for file in entries)
    largest = max(entries, key=lambda file: int(file.size) if file.size.isdecimal() else -1, default=None)
    shown = 0
    for file in entries:
        if file is largest and file.size.isdecimal():
            yield file.line
        elif file.mode and shown < _MOST_ODD and (modes[file.mode] <= few or owners[file.owner] <= few):
            shown += 1
            yield file.line


def _name(file: _File) -> str:
    return file.name


def _text(first: list[str], folders: _Folders, form: Callable[[_File], str], most: int) -> str:
    out = [*first]
    for folder, found in folders.items():
        out += [f"{folder}:"] if folder else []
        left = len(found) - most
        out.append(", ".join(map(form, found[:most])) + (f" …+{left}" if left > 0 else ""))
    return "\n".join(out)
