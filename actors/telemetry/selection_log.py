"""The selection log: opt-in JSON lines about which tool was selected among which, rotated by size.

One writer, blocking, for one thread at a time. The file is 0600 in a directory 0700; a line that a crash had torn is
closed with a newline before the next one is written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from actors.telemetry.messages import ExecutionEvent, SelectionEvent, SelectionLabel
from actors.telemetry.recent import RecentIds
from bus.errors import Refused, StateError
from config.credentials import is_credential
from config.schema_proxy import SelectionTelemetrySettings

MARKS = (b'{"kind":"selection"', b'{"kind":"execution"')
"""How the lines begin that belong here; all others belong to the event log."""

_SELECTION = b'"kind":"selection"'
_decoder = msgspec.json.Decoder(SelectionEvent | ExecutionEvent)
_selection = msgspec.json.Decoder(SelectionEvent)
_encoder = msgspec.json.Encoder(order="sorted")


@dataclass
class Screened:
    """A batch, looked at.

    Attributes:
        lines: JSON of the events to be written, their keys sorted.
        ids: of all events that were new.
        rejected: lines that are no such events.
    """

    lines: list[bytes] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    sampled_out: int = 0
    redacted: int = 0
    rejected: int = 0


class SelectionLog:
    """Writes what passes sampling and screening.

    Attributes:
        written / sampled_out / redacted / write_errors: events since the start.

    Args:
        default_path: used while the settings name no file.
    """

    def __init__(self, settings: SelectionTelemetrySettings, default_path: Path) -> None:
        self._default_path = default_path
        self._known = RecentIds()
        self.settings = settings
        self.written = 0
        self.sampled_out = 0
        self.redacted = 0
        self.write_errors = 0

    @property
    def path(self) -> Path:
        return Path(self.settings.path).expanduser() if self.settings.path else self._default_path

    @property
    def backups(self) -> list[Path]:
        """Rotated logs, newest first."""
        found = ((p.suffix[1:], p) for p in self.path.parent.glob(f"{self.path.name}.*"))
        return [path for _, path in sorted((int(number), path) for number, path in found if number.isdigit())]

    def screen(self, lines: Iterable[bytes]) -> Screened:
        """What of these lines is to be written; changes nothing, so that a batch may be screened again."""
        found = Screened()
        for line in lines:
            try:
                event = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError):
                found.rejected += 1
                continue
            if not self.settings.enabled or event.event_id in self._known or event.event_id in found.ids:
                continue
            found.ids.append(event.event_id)
            if share_of(event.selection_id) >= self.settings.sample_rate:
                found.sampled_out += 1
            # Each text by itself: the name of a tool that reads secrets, next to a code, is no credential.
            elif is_credential("\n".join(_texts(msgspec.to_builtins(event)))):
                found.redacted += 1
            else:
                found.lines.append(_encoder.encode(event))
        return found

    def write(self, screened: Screened) -> None:
        """Writes and counts; never raises for a disk that fails, but counts that too."""
        for event_id in screened.ids:
            self._known.add(event_id)
        self.sampled_out += screened.sampled_out
        self.redacted += screened.redacted
        left = len(screened.lines)
        if screened.lines:
            try:
                for lines in self._parts(screened.lines):
                    self._write(b"\n".join(lines) + b"\n")
                    self.written += len(lines)
                    left -= len(lines)
            except OSError:
                self.write_errors += left

    def ranker_of(self, selection_id: str) -> str:
        """The cohort of a selection in the log or a rotated one. Reads all of them, so it is for a thread of its own.

        Raises:
            Refused: the log is off, or the selection is in none. StateError: a log cannot be read.
        """
        if not self.settings.enabled:
            raise Refused("the selection log is off; set proxy.selection_telemetry.enabled")
        mark = selection_id.encode("utf-8", "replace")
        try:
            with ExitStack() as opened:
                files = []
                for path in (self.path, *self.backups):  # all at once: they may be rotated meanwhile
                    with suppress(FileNotFoundError):
                        files.append(opened.enter_context(path.open("rb")))
                for file in files:
                    for line in file:
                        with suppress(msgspec.MsgspecError):
                            if mark in line and (event := _selection.decode(line)).selection_id == selection_id:
                                return event.ranker_version
        except OSError as error:
            raise StateError(f"the selection log {self.path} cannot be read: {error.strerror}") from None
        raise Refused(f"no selection {selection_id[:64]!r} is in {self.path} or a rotated one; take one from there")

    def label(self, selection_id: str, ranker: str, *, user_corrected: bool, operator_override: bool) -> None:
        """Writes a label and has it on the disk before it returns.

        Raises:
            StateError: it cannot be written.
        """
        label = SelectionLabel(
            selection_id=selection_id,
            user_corrected=user_corrected,
            operator_override=operator_override,
            ranker_version=ranker,
        )
        try:
            self._write(_encoder.encode(label) + b"\n", sync=True)
        except OSError as error:
            self.write_errors += 1
            raise StateError(f"the selection log {self.path} cannot be written: {error.strerror}") from None
        self.written += 1

    def _parts(self, lines: list[bytes]) -> Iterator[list[bytes]]:
        """The lines in portions of `max_bytes` at most; a pair that came together stays together, whatever its size."""
        part: list[bytes] = []
        size = 0
        for pair in _pairs(lines):
            length = sum(len(line) + 1 for line in pair)
            if part and size + length > self.settings.max_bytes:
                yield part
                part, size = [], 0
            part += pair
            size += length
        if part:
            yield part

    def _write(self, data: bytes, *, sync: bool = False) -> None:
        if not self.path.parent.is_dir():
            self.path.parent.mkdir(mode=0o700, parents=True)
        size = self.path.stat().st_size if self.path.exists() else 0
        if size and size + len(data) > self.settings.max_bytes:
            self._rotate()
            size = 0
        if size and _is_torn(self.path):
            data = b"\n" + data
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(file, 0o600)  # somebody else may have made the file
            if os.write(file, data) != len(data):
                raise OSError(None, "the disk took only a part of the batch")
            if sync:
                os.fsync(file)
        finally:
            os.close(file)

    def _rotate(self) -> None:
        keep = self.settings.max_backups
        numbered = [(int(path.suffix[1:]), path) for path in self.backups]
        for number, path in reversed(numbered):
            if number >= keep:
                path.unlink(missing_ok=True)
            else:
                path.replace(self.path.with_name(f"{self.path.name}.{number + 1}"))
        if keep:
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        else:
            self.path.unlink()


def share_of(selection_id: str) -> float:
    """A number in [0, 1) that depends on the id only, so that a pair is kept or dropped together."""
    return int.from_bytes(hashlib.sha256(selection_id.encode()).digest()[:8]) / 2**64


def _pairs(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Each selection with what follows it up to the next one."""
    pair: list[bytes] = []
    for line in lines:
        if pair and _SELECTION in line:
            yield pair
            pair = []
        pair.append(line)
    if pair:
        yield pair


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _is_torn(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"
