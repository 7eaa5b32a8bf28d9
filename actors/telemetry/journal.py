"""The record: events as JSON lines in numbered segments, appended before they are acknowledged.

A segment is `events-000001.jsonl`, 0600, in a directory 0700. Only the newest one is written, in whole lines, so what
a reader may read is always the acknowledged size of an `Extent`. What kill -9 leaves at the end of a segment is closed
with a newline at the next start; readers skip that line.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from actors.telemetry.messages import AnyEvent
from bus.errors import Busy, StateError

SEGMENT_BYTES = 16 * 1024 * 1024
KEEP_BYTES = 512 * 1024 * 1024
KEEP_DAYS = 90
MAX_BYTES = KEEP_BYTES + 256 * 1024 * 1024
"""While the store cannot be loaded nothing is deleted and the record grows to this size; then batches are refused
(`Busy`), and their producers count what they have to drop."""
MAX_LINE_BYTES = 1024 * 1024

_SEGMENT = re.compile(r"events-(\d{6,})\.jsonl")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
_EVENT_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


@dataclass(frozen=True)
class Extent:
    """One segment, as far as it may be read: `size` bytes, all of them whole lines."""

    number: int
    path: Path
    size: int


class Journal:
    """Appends events; one writer, blocking, to be used from one thread at a time.

    Attributes:
        appended / rejected: lines since the start; a rejected one is not an event.
        torn: a line that a crash had torn was found at the start.

    Args:
        directory: where the segments are.
        segment_bytes: a segment is closed before it grows beyond this.
        keep_bytes / keep_days: closed segments beyond these are deleted once they are loaded; 0 days = any age.
        max_bytes: see `MAX_BYTES`.
    """

    def __init__(
        self,
        directory: Path,
        *,
        segment_bytes: int = SEGMENT_BYTES,
        keep_bytes: int = KEEP_BYTES,
        keep_days: float = KEEP_DAYS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.directory = directory
        self.appended = 0
        self.rejected = 0
        self.torn = False
        self._segment_bytes = segment_bytes
        self._keep_bytes = keep_bytes
        self.keep(keep_days)
        self._max_bytes = max_bytes
        self._decoder = msgspec.json.Decoder(AnyEvent)
        self._file = -1
        self._unclean = False
        self._loaded: dict[int, int] = {}
        self._extents: tuple[Extent, ...] = ()

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The segments, oldest first; a snapshot that any thread may take."""
        return self._extents

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(extent.size for extent in self._extents)

    def keep(self, days: float) -> None:
        """Changes after how long closed segments may be deleted; 0 = never for their age."""
        self._keep_seconds = days * 86_400 or math.inf

    def open(self) -> None:
        """Finds the segments and opens the newest for appending; a torn last line is closed.

        Raises:
            StateError: the directory or a segment cannot be used.
        """
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.directory.chmod(0o700)
            segments = sorted(
                (int(match[1]), path) for path in self.directory.iterdir() if (match := _SEGMENT.fullmatch(path.name))
            )
            if not segments:
                self._start_segment(1)
                return
            self._extents = tuple(Extent(number, path, path.stat().st_size) for number, path in segments)
            newest = self._extents[-1]
            self._file = _open_for_append(newest.path)
            if newest.size and not _ends_with_newline(newest.path):
                os.write(self._file, b"\n")
                self._grow(1)
                self.torn = True
        except OSError as error:
            raise StateError(f"the event log {self.directory} cannot be opened: {error.strerror}") from None

    def append(self, data: bytes) -> int:
        """Appends the valid lines of a batch in one write; on return they are in the file.

        A line that is not an event is left out and counted; it never keeps the others back.

        Args:
            data: newline-terminated JSON objects.

        Returns:
            How many lines were rejected.

        Raises:
            Busy: too much waits to be loaded; send the batch again later.
            StateError: the write failed; nothing of the batch is in the file.
        """
        lines = [line for line in data.split(b"\n") if line]
        events = [line for line in lines if self._is_event(line)]
        if events:
            self._write(b"\n".join(events) + b"\n")
        self.appended += len(events)
        self.rejected += len(lines) - len(events)
        return len(lines) - len(events)

    def note_loaded(self, offsets: Mapping[int, int]) -> None:
        """Takes note of how many bytes of each segment are loaded; any thread may tell."""
        self._loaded = dict(offsets)

    def retire(self, now: float | None = None) -> None:
        """Deletes the oldest closed segments beyond the limits, never one that is not fully loaded.

        Args:
            now: seconds since the epoch.
        """
        now = time.time() if now is None else now
        for extent in self._extents[:-1]:
            if self._loaded.get(extent.number, 0) < extent.size:
                return
            with contextlib.suppress(FileNotFoundError):  # somebody tidied up by hand; it is gone either way
                if self.size <= self._keep_bytes and now - extent.path.stat().st_mtime <= self._keep_seconds:
                    return
                extent.path.unlink()
            self._extents = self._extents[1:]

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _is_event(self, line: bytes) -> bool:
        """Whether the line is an event that the store can hold under the id and time written in it."""
        if len(line) > MAX_LINE_BYTES:
            return False
        try:
            event = self._decoder.decode(line)
            if not (_TIME.fullmatch(event.ts) and _EVENT_ID.fullmatch(event.event_id)):
                return False
            datetime.fromisoformat(event.ts)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return False
        # Decoding fills in what is missing; an id made up here would not be in the file.
        return event.event_id.encode() in line and event.ts.encode() in line

    def _write(self, data: bytes) -> None:
        if self.size + len(data) > self._max_bytes:
            raise Busy("the event log is full: its events wait for the analytics store; see `mms health`")
        try:
            self._repair()
            newest = self._extents[-1]
            if newest.size and newest.size + len(data) > self._segment_bytes:
                self._start_segment(newest.number + 1)
            self._unclean = True
            if os.write(self._file, data) != len(data):
                raise OSError(None, "the disk took only a part of the batch")
            self._unclean = False
        except OSError as error:
            with contextlib.suppress(OSError):
                self._repair()
            raise StateError(f"the event log {self.directory} cannot be written: {error.strerror}") from None
        self._grow(len(data))

    def _repair(self) -> None:
        """Cuts off what a failed write left, so that the file ends where the acknowledged lines end."""
        if self._unclean:
            os.ftruncate(self._file, self._extents[-1].size)
            self._unclean = False

    def _grow(self, count: int) -> None:
        newest = self._extents[-1]
        self._extents = (*self._extents[:-1], Extent(newest.number, newest.path, newest.size + count))

    def _start_segment(self, number: int) -> None:
        path = self.directory / f"events-{number:06d}.jsonl"
        file = _open_for_append(path)
        self.close()
        self._file = file
        self._extents = (*self._extents, Extent(number, path, 0))


def _open_for_append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
