"""Notices that the configuration file has changed, and keeps the last good one when the change is broken: no JSON, or
a value that cannot be used. What was wrong from the start holds up nothing else."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from bus.errors import ConfigError
from config.load import Loaded, interpret
from config.place import Place
from config.read import parse, read_bytes

POLL_SECONDS = 0.5
# A second write within the file system's clock tick leaves the same times; such a file is read again until it is older.
SETTLED_SECONDS = 2.0


class Levelled(Protocol):
    """What is needed of `bus.log.Log`."""

    level: str


class _Seen(NamedTuple):
    """One look at the file."""

    stamp: tuple[int, ...] | None
    settled: bool
    data: bytes | None
    error: str


class ConfigWatcher:
    """Follows one configuration file by polling; has no task and no thread of its own.

    The first reading happens in the constructor and blocks on the disk for a moment. One waiter at a time.

    Args:
        place: whose file.
        env: the environment that speaks, copied (`os.environ` when `None`).
        interval: seconds between looks.
        log: its level follows `log_level`.

    Attributes:
        current: the newest usable configuration.
        error: why the file on disk cannot be used, one line; empty when it can.
    """

    def __init__(
        self,
        place: Place,
        env: Mapping[str, str] | None = None,
        *,
        interval: float = POLL_SECONDS,
        log: Levelled | None = None,
    ) -> None:
        self._log = log
        self._path = place.config_file
        self._env = dict(os.environ if env is None else env)
        self._interval = interval
        self._seen = self._look()
        self._existed = self._seen.data is not None
        self.error = ""
        self._good = False
        self.current: Loaded = interpret({}, self._env, self._path)
        self._take()
        if self.error:
            self.current = interpret({}, self._env, self._path, file_error=self.error)
        self._set_level()

    async def changed(self) -> Loaded:
        """Waits until the configuration, or whether the file is usable, differs from what was returned before.

        Returns:
            the newest usable configuration: with an unchanged `generation` when only `error` came or went.
        """
        while True:
            seen = await asyncio.to_thread(self._look_again)
            if seen is not None:
                before = (self.current.generation, self.error)
                self._seen = seen
                self._take()
                if (self.current.generation, self.error) != before:
                    return self.current
            await asyncio.sleep(self._interval)

    def __aiter__(self) -> ConfigWatcher:
        return self

    async def __anext__(self) -> Loaded:
        return await self.changed()

    def _take(self) -> None:
        """Makes what was seen the present state, or keeps the last good one beside the error."""
        data, self.error = self._seen.data, self._seen.error
        if data is None:
            if self._existed and not self.error:
                self.error = f"{self._path} is gone; the last good configuration stays until it is back or a restart"
            return
        self._existed = True
        try:
            document = parse(data, self._path)
        except ConfigError as error:
            self.error = error.message
            return
        found = interpret(document, self._env, self._path, data)
        known = {problem.message for problem in self.current.problems}
        new = [
            problem.message for problem in found.problems if problem.level == "error" and problem.message not in known
        ]
        if self._good and new:
            self.error = new[0]
            return
        self.current, self._good = found, True
        self._set_level()

    def _set_level(self) -> None:
        if self._log is not None:
            self._log.level = self.current.settings.log_level

    def _look_again(self) -> _Seen | None:
        """A new look, when there may be something new."""
        if self._seen.settled and self._stamp() == self._seen.stamp:
            return None
        seen = self._look()
        if (seen.data, seen.error) == (self._seen.data, self._seen.error):
            self._seen = seen
            return None
        return seen

    def _look(self) -> _Seen:
        stamp = self._stamp()
        settled = stamp is None or time.time() - stamp[0] / 1e9 > SETTLED_SECONDS
        try:
            return _Seen(stamp, settled, read_bytes(self._path), "")
        except ConfigError as error:
            return _Seen(stamp, settled, None, error.message)

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode
