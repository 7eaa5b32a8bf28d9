"""Which tools fail so often, through no fault of their callers, that they are withheld for a while. Pure.

A failure is a time-out, a server that went away, an answer that is none, or a JSON-RPC error that does not blame the
caller's arguments. Where several calls were under way when a server went away, none of their tools is blamed. A result
with `isError` is an answer: most of them tell the caller what it did wrong.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import msgspec

from actors.upstream.messages import CallResult, UpstreamDied, UpstreamError, UpstreamInvalid, UpstreamTimeout
from bus import jsonrpc
from config.schema_proxy import ExposureSettings

SLICES = 24
"""Parts of the window that are forgotten one by one."""
FIRST_PROBE_SECONDS = 60.0
MAX_PROBE_SECONDS = 3_600.0

_CALLERS_FAULT = (jsonrpc.INVALID_REQUEST, jsonrpc.INVALID_PARAMS)


class _Code(msgspec.Struct):
    code: int = 0


_code_decoder = msgspec.json.Decoder(_Code)


class _Record:
    """The calls of one tool, in slices `[number, calls, failures]`, oldest first."""

    __slots__ = ("probe_after", "slices", "withheld_at")

    def __init__(self) -> None:
        self.slices: list[list[int]] = []
        self.withheld_at: float | None = None
        self.probe_after = FIRST_PROBE_SECONDS


class ToolHealth:
    """Counts calls by server and tool.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, settings: ExposureSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._records: dict[tuple[str, str], _Record] = {}
        self._serial = 0
        self._running: Counter[str] = Counter()
        self._crowded: dict[str, int] = {}

    def begin(self, server: str) -> int:
        """A call begins; `end` must follow, with what this returns."""
        self._serial += 1
        if self._running[server]:
            self._crowded[server] = self._serial
        self._running[server] += 1
        return self._serial

    def end(self, server: str, tool: str, serial: int, outcome: CallResult | UpstreamError | None) -> bool:
        """The call is over; true when it made the tool unhealthy.

        Args:
            outcome: `None` = it was cancelled.
        """
        self._running[server] -= 1
        alone = self._crowded.get(server, 0) < serial
        failed = None if outcome is None else has_failed(outcome, alone=alone)
        return failed is not None and self.count(server, tool, failed=failed)

    def count(self, server: str, tool: str, *, failed: bool) -> bool:
        """Takes note of a call; true when it made the tool unhealthy."""
        key = (server, tool)
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record()
        number = int(self._clock() / (self.settings.health_window_hours * 3600 / SLICES))
        slices = record.slices
        if not slices or slices[-1][0] != number:
            slices.append([number, 0, 0])
            while slices[0][0] <= number - SLICES:
                del slices[0]
        slices[-1][1] += 1
        if not failed:
            return False
        slices[-1][2] += 1
        if record.withheld_at is not None or not self._is_over(record):
            return False
        record.withheld_at = self._clock()
        return True

    def why(self, server: str, tool: str) -> str:
        """What people shall know of an unhealthy tool; empty for one that is well."""
        record = self._records.get((server, tool))
        if record is None or record.withheld_at is None:
            return ""
        calls, failures = _sums(record)
        when = max(0, round(record.withheld_at + record.probe_after - self._clock()))
        return (
            f"{failures} of {calls} calls failed in {self.settings.health_window_hours:g} h; "
            f"it comes back by itself when its server answers a probe, the next in {when} s"
        )

    def due(self) -> set[str]:
        """The servers to probe now, since some of their tools have been withheld long enough."""
        now = self._clock()
        return {
            server
            for (server, _), record in self._records.items()
            if record.withheld_at is not None and now - record.withheld_at >= record.probe_after
        }

    def probed(self, server: str, *, well: bool) -> bool:
        """The server was probed; true when tools come back. The wait of one that is withheld again is longer."""
        back = False
        for (owner, _), record in self._records.items():
            if owner != server or record.withheld_at is None:
                continue
            if self._clock() - record.withheld_at < record.probe_after:
                continue
            record.probe_after = min(record.probe_after * 2, MAX_PROBE_SECONDS)
            record.withheld_at = None if well else self._clock()
            if well:
                record.slices.clear()
                back = True
        return back

    def keep(self, servers: set[str]) -> None:
        """Forgets the tools of all other servers."""
        self._records = {key: record for key, record in self._records.items() if key[0] in servers}

    def forget(self, server: str) -> None:
        """Its connection is another one now."""
        self._records = {key: record for key, record in self._records.items() if key[0] != server}

    def _is_over(self, record: _Record) -> bool:
        calls, failures = _sums(record)
        settings = self.settings
        return calls >= settings.health_min_calls and failures >= settings.health_error_rate_threshold * calls


def has_failed(outcome: CallResult | UpstreamError, *, alone: bool = True) -> bool | None:
    """Whether a call failed through no fault of its caller; `None` = it says nothing (not sent, too long).

    Args:
        alone: no other call was under way at the server at any time of this one.
    """
    if isinstance(outcome, CallResult):
        return outcome.error is not None and _code_of(outcome.error.data) not in _CALLERS_FAULT
    if isinstance(outcome, UpstreamDied):
        return True if alone else None
    return True if isinstance(outcome, (UpstreamTimeout, UpstreamInvalid)) else None


def _code_of(error: bytes) -> int:
    try:
        return _code_decoder.decode(error).code
    except msgspec.MsgspecError:
        return 0


def _sums(record: _Record) -> tuple[int, int]:
    return sum(part[1] for part in record.slices), sum(part[2] for part in record.slices)
