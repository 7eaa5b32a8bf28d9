"""`mms logs`: the structured logs of the actors, put together by time."""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from bus.replicas import actor_of
from cli.context import current_place
from cli.output import Failure, Role, printable, style, talk, write
from config.place import Place

POLL_SECONDS = 0.2
TAIL_BYTES = 4 * 1024 * 1024
"""At most so much of each file is read for its last lines."""
LEVELS: dict[str, Role] = {"warning": "warning", "error": "bad"}
LEFT_OUT = ("ts", "level", "event", "process", "exception")


class Line(NamedTuple):
    """One line of a log. A line of raw output carries no time of its own and stands where it was found."""

    ts: str
    name: str
    text: str


@click.command()
@click.argument("actor", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on with new lines until Ctrl-C.")
@click.option("--lines", "-n", "count", type=click.IntRange(min=0), default=50, show_default=True, help="Last lines.")
@click.option("--trace", "trace_id", default="", metavar="ID", help="Only lines about this call; `mms trace` finds it.")
@click.option("--json", "as_json", is_flag=True, help="Lines of JSON, as they are in the files.")
def logs(actor: str | None, follow: bool, count: int, trace_id: str, as_json: bool) -> None:
    """The structured logs, oldest first.

    \b
    Example:
      mms logs upstream -f
    """
    place = current_place()
    wanted = partial(_is_about, trace_id)
    tails = [Tail(path) for path in _files(place, actor)]
    if not tails and not follow:
        known = sorted({path.stem for path in place.logs.glob("*.log")})
        there = f"; there are logs of {', '.join(known)}" if known else f"; {place.logs} is empty"
        none = f"there are no logs in {place.logs} yet; `mms up` starts the cluster"
        raise Failure("no_log", f"no log of {actor}{there}" if actor else none)
    found = sorted((line for tail in tails for line in tail.read() if wanted(line)), key=lambda line: line.ts)
    if trace_id and not found and not follow:
        talk(f"No line of the logs is about {printable(trace_id)}; `mms trace {printable(trace_id)}` shows its events.")
    for line in found[len(found) - count :] if count else ():
        _show(line, as_json)
    while follow:
        time.sleep(POLL_SECONDS)
        known_paths = {tail.path for tail in tails}
        tails += [Tail(path) for path in _files(place, actor) if path not in known_paths]
        for line in heapq.merge(*(tail.read() for tail in tails), key=lambda line: line.ts):
            if wanted(line):
                _show(line, as_json)


class Tail:
    """Reads a file on from where it stopped; a file that was rotated or emptied is read from its beginning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._inode = 0
        self._position = -1
        self._rest = b""
        self._ts = ""

    def read(self) -> list[Line]:
        """The complete lines since the last time; at first the end of the file."""
        try:
            with open(self.path, "rb") as file:
                found = os.fstat(file.fileno())
                cut = False
                if self._position < 0:
                    self._position, self._inode = max(0, found.st_size - TAIL_BYTES), found.st_ino
                    cut = self._position > 0
                elif found.st_ino != self._inode or found.st_size < self._position:
                    self._position, self._inode, self._rest = 0, found.st_ino, b""
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if cut:
            del lines[:1]  # of the first one only the end
        return [self._line(line.decode("utf-8", "replace")) for line in lines if line.strip()]

    def _line(self, text: str) -> Line:
        document = _document(text)
        if document is not None and isinstance(document.get("ts"), str):
            self._ts = document["ts"]
        elif not self._ts:
            self._ts = _time_of(self.path)
        return Line(self._ts, self.path.stem, text)


def lines_of_trace(place: Place, trace_id: str) -> list[Line]:
    """What the logs say about one call, oldest first; of each file only the end is looked at."""
    found = (line for path in _files(place, None) for line in Tail(path).read() if _is_about(trace_id, line))
    return sorted(found, key=lambda line: line.ts)


def _is_about(trace_id: str, line: Line) -> bool:
    """Whether a line belongs to the call whose id begins so; all do for an empty one."""
    if not trace_id:
        return True
    document = _document(line.text) if trace_id in line.text else None
    return document is not None and str(document.get("trace_id", "")).startswith(trace_id)


def _files(place: Place, actor: str | None) -> Iterator[Path]:
    """The logs, and the raw output beside them, which holds what a process said that could not start."""
    for path in sorted([*place.logs.glob("*.log"), *place.logs.glob("*.out")]):
        if actor in (None, path.stem, actor_of(path.stem)):
            yield path


def _show(line: Line, as_json: bool) -> None:
    if as_json:
        raw = {"ts": line.ts, "name": line.name, "output": line.text}
        document = _document(line.text)
        write(msgspec.json.encode(raw if document is None else {"name": line.name, **document}).decode())
    else:
        write(rendered(line))


def rendered(line: Line) -> str:
    """A line for people: local time, level, actor, event, fields, and a traceback below."""
    document = _document(line.text)
    if document is None:
        return f"{style(_clock(line.ts), 'dim')} {'output':<7} {line.name}: {printable(line.text)}"
    level = str(document.get("level", ""))
    shown = style(f"{level:<7}", LEVELS[level]) if level in LEVELS else f"{level:<7}"
    fields = " ".join(f"{key}={_value(value)}" for key, value in document.items() if key not in LEFT_OUT)
    first = f"{style(_clock(line.ts), 'dim')} {shown} {line.name}: {printable(str(document.get('event', '')))} {fields}"
    trace = [f"    {printable(part)}" for part in str(document.get("exception", "")).splitlines()]
    return "\n".join([first.rstrip(), *trace])


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return printable(text if text and " " not in text else repr(text))


def _document(text: str) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _clock(ts: str) -> str:
    """Local time, milliseconds."""
    try:
        return datetime.fromisoformat(ts).astimezone().isoformat(sep=" ", timespec="milliseconds")[:23]
    except ValueError:
        return f"{ts:<23}"


def _time_of(path: Path) -> str:
    """When a file was last written, in the form of the logs."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
