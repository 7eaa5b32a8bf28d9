"""What servers write on stderr: drained always, logged up to a rate, counted beyond it."""

from __future__ import annotations

import time
from collections.abc import Callable

from bus.log import Log

BYTES_PER_MINUTE = 64 * 1024
LINE_BYTES = 2_000


class StderrLog:
    """Splits the stream of one server into lines and logs them, `BYTES_PER_MINUTE` at most.

    Args:
        hide: takes secrets out of a line.
    """

    def __init__(self, log: Log, server: str, hide: Callable[[str], str]) -> None:
        self._log = log
        self._server = server
        self._hide = hide
        self._rest = b""
        self._left = BYTES_PER_MINUTE
        self._minute = 0.0

    def __call__(self, data: bytes) -> None:
        now = time.monotonic()
        if now - self._minute >= 60:
            self._minute, self._left = now, BYTES_PER_MINUTE
        if self._left <= 0:
            return
        *lines, self._rest = (self._rest + data[: self._left]).split(b"\n")
        self._rest = self._rest[:LINE_BYTES]
        self._left -= len(data)
        for line in lines:
            if line.strip():
                said = self._hide(line[:LINE_BYTES].decode("utf-8", "replace"))
                self._log.info("upstream_stderr", server=self._server, line=said)
        if self._left <= 0:
            self._log.warning("upstream_stderr_too_much", server=self._server, logged_bytes=BYTES_PER_MINUTE)
