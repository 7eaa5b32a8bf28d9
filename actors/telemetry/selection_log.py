"""The selection log: opt-in JSON lines about which tool was selected among which, rotated by size.

One writer, blocking, for one thread at a time. The file is 0600 in a directory 0700; a line that a crash had torn is
closed with a newline before the next one is written.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from actors.telemetry.messages import ExecutionEvent, SelectionEvent
from config.credentials import is_credential
from config.schema_proxy import SelectionTelemetrySettings

MARKS = (b'{"kind":"selection"', b'{"kind":"execution"')
"""How the lines begin that belong here; all others belong to the event log."""
REMEMBERED_IDS = 20_000
"""Events are handed over at least once; a repeat is recognised among the last so many."""

_decoder = msgspec.json.Decoder(SelectionEvent | ExecutionEvent)
_encoder = msgspec.json.Encoder(order="sorted")


class SelectionLog:
    """Writes what passes sampling and screening.

    Attributes:
        written / sampled_out / redacted / write_errors: events since the start.

    Args:
        default_path: used while the settings name no file.
    """

    def __init__(self, settings: SelectionTelemetrySettings, default_path: Path) -> None:
        self._default_path = default_path
        self._known: set[str] = set()
        self._order: deque[str] = deque()
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

    def append(self, lines: Iterable[bytes]) -> int:
        """Writes the events of these lines; never raises for a disk that fails, but counts.

        Returns:
            How many lines are no such events.
        """
        rejected = 0
        kept: list[bytes] = []
        for line in lines:
            try:
                event = _decoder.decode(line)
            except (msgspec.MsgspecError, RecursionError):
                rejected += 1
                continue
            if self.settings.enabled and self._is_new(event.event_id) and self._passes(event):
                kept.append(_encoder.encode(event) + b"\n")
        if kept:
            try:
                self._write(kept)
                self.written += len(kept)
            except OSError:
                self.write_errors += len(kept)
        return rejected

    def _is_new(self, event_id: str) -> bool:
        if event_id in self._known:
            return False
        self._known.add(event_id)
        self._order.append(event_id)
        if len(self._order) > REMEMBERED_IDS:
            self._known.discard(self._order.popleft())
        return True

    def _passes(self, event: SelectionEvent | ExecutionEvent) -> bool:
        if share_of(event.selection_id) >= self.settings.sample_rate:
            self.sampled_out += 1
            return False
        # Each text by itself: the name of a tool that reads secrets, next to a code, is no credential.
        if is_credential("\n".join(_texts(msgspec.to_builtins(event)))):
            self.redacted += 1
            return False
        return True

    def _write(self, lines: list[bytes]) -> None:
        data = b"".join(lines)
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
            if os.write(file, data) != len(data):
                raise OSError(None, "the disk took only a part of the batch")
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
