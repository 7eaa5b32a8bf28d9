"""The response cache: what is in memory answers at once, what is on disk outlives the process.

Everything about an entry but its body is always in memory, so that a miss costs no look at the disk and the bounds hold
without asking it. The disk follows in the background; one thread owns it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from actors.upstream.cache_disk import CacheDisk, Changes, Row
from bus.errors import StateError

T = TypeVar("T")

MEMORY_BYTES = 64 * 1024 * 1024
"""Bodies held in memory."""
UNWRITTEN_BYTES = 64 * 1024 * 1024
"""Bodies that may wait for a slow disk; what comes on top stays in memory only."""
GATHER_SECONDS = 0.2
"""Changes are written together; a process that is killed loses at most the answers of that time."""
PURGE_SECONDS = 600.0
LARGEST_SHARE = 4
"""One body takes at most this part of a bound: it must not push out everything else."""


@dataclass(slots=True)
class _Entry:
    """`body` is `None` when it has to be read from the disk."""

    row: Row
    body: bytes | None
    on_disk: bool


class CacheStore:
    """Raw results by key, bounded by number and bytes; the least recently used goes first.

    Args:
        report: told what happened to the file (`store_set_aside`, `store_failed`) and the details, one line.
        clock: UTC seconds.

    Attributes:
        error: why nothing is kept on disk; empty when it is.
        set_aside: where a corrupt file was moved; empty if there was none.
    """

    def __init__(
        self,
        path: Path,
        report: Callable[[str, str], None],
        *,
        clock: Callable[[], float] = time.time,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self.error = ""
        self.set_aside = ""
        self._path = path
        self._report = report
        self._clock = clock
        self._memory_bytes = memory_bytes
        self._max_entries = 10_000
        self._max_bytes = 268_435_456
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._resident: OrderedDict[bytes, int] = OrderedDict()
        self._keys: dict[tuple[str, str], set[bytes]] = {}
        self._bytes = self._resident_bytes = self._unwritten_bytes = 0
        self._changes = Changes()
        self._purged = clock()
        self._disk: CacheDisk | None = None
        self._thread = ThreadPoolExecutor(1, "cache")
        self._writer: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def total_bytes(self) -> int:
        return self._bytes

    @property
    def in_memory(self) -> int:
        return len(self._resident)

    @property
    def tools(self) -> Counter[tuple[str, str]]:
        """Number of entries by server and tool."""
        return Counter({tool: len(keys) for tool, keys in self._keys.items()})

    async def open(self) -> None:
        """Opens the file, before anything else is done; when it cannot be used, memory alone serves."""
        try:
            self._disk, rows = await self._run(self._open)
        except StateError as error:
            self._failed(error)
            return
        self._look_aside()
        for row in rows:
            self._insert(row, on_disk=True)
        self._fit()

    async def close(self) -> None:
        """Writes what is left."""
        if self._disk is not None:
            with contextlib.suppress(StateError):  # reported when it happened
                await self.settle()
            await self._apply(Changes(used=self._changes.used))
            await self._run(self._disk.close)
        self._thread.shutdown(wait=True)

    def limit(self, max_entries: int, max_bytes: int) -> None:
        """Sets the bounds, from now on."""
        self._max_entries, self._max_bytes = max_entries, max_bytes
        self._fit()

    async def get(self, key: bytes, ttl: float | None) -> bytes | None:
        """The result under a key. Suspends only when its body is on disk.

        Args:
            ttl: seconds that the configuration gives it now; a shorter one holds for older entries too.
        """
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._clock()
        row = entry.row
        # An entry from the future (a clock that was set back) would live too long.
        if not row.stored_at <= now or _is_over(row, now) or (ttl is not None and now >= row.stored_at + ttl):
            self._discard(key)
            return None
        self._entries.move_to_end(key)
        self._changes.used[key] = now
        if entry.body is not None:
            self._resident.move_to_end(key)
            return entry.body
        return await self._load(key, entry)

    def put(self, key: bytes, server: str, tool: str, body: bytes, ttl: float | None) -> None:
        """Keeps a result for `ttl` seconds; `None` = for ever."""
        self._discard(key)
        size = len(body)
        if size * LARGEST_SHARE > self._max_bytes:
            return
        now = self._clock()
        row = Row(key, server, tool, size, now, None if ttl is None else now + ttl)
        on_disk = self._disk is not None and self._unwritten_bytes + size <= UNWRITTEN_BYTES
        self._insert(row, on_disk=on_disk)
        if on_disk:
            self._changes.added[key] = (row, body)
            self._unwritten_bytes += size
            self._write()
        self._hold(key, body)
        self._fit()
        if now - self._purged > PURGE_SECONDS:
            self._purged = now
            for old in [old for old, entry in self._entries.items() if _is_over(entry.row, now)]:
                self._discard(old)

    def forget(self, server: str = "", tool: str = "") -> int:
        """Drops the entries of a server and tool (empty = all); returns how many. The disk follows (`settle`)."""
        scopes = [scope for scope in self._keys if server in ("", scope[0]) and tool in ("", scope[1])]
        keys = [key for scope in scopes for key in self._keys[scope]]
        for key in keys:
            self._discard(key)
        if keys and self._disk is not None:
            self._changes.scopes.append((server, tool))
            self._hurry.set()  # what was dropped must not come back after a kill
            self._write()
        return len(keys)

    async def settle(self) -> None:
        """Waits until the disk knows everything.

        Raises:
            StateError: what was dropped could not be deleted from it.
        """
        self._hurry.set()
        if self._writer is not None:
            await asyncio.wait({self._writer})  # which a caller that is cancelled does not take along
        if self._changes:
            self._hurry.set()
            await asyncio.wait({self._write()})
        if self._changes.scopes:
            raise StateError(f"cached responses could not be deleted: {self.error}")

    def _open(self) -> tuple[CacheDisk, list[Row]]:
        disk = CacheDisk(self._path)
        return disk, disk.rows(self._clock())

    def _insert(self, row: Row, *, on_disk: bool) -> None:
        self._entries[row.key] = _Entry(row, None, on_disk)
        self._keys.setdefault((row.server, row.tool), set()).add(row.key)
        self._bytes += row.size

    def _hold(self, key: bytes, body: bytes) -> None:
        """Keeps a body in memory, and others no longer where it takes their place."""
        most = min(self._memory_bytes, self._max_bytes)
        if len(body) * LARGEST_SHARE <= most:
            self._entries[key].body = body
            self._resident[key] = len(body)
            self._resident_bytes += len(body)
        elif not self._entries[key].on_disk:
            self._discard(key)
        while self._resident_bytes > most:
            oldest = next(iter(self._resident))
            if self._entries[oldest].on_disk:
                self._release(oldest)
            else:
                self._discard(oldest)

    def _release(self, key: bytes) -> None:
        self._entries[key].body = None
        self._resident_bytes -= self._resident.pop(key)

    def _discard(self, key: bytes) -> None:
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        row = entry.row
        scope = (row.server, row.tool)
        self._keys[scope].discard(key)
        if not self._keys[scope]:
            del self._keys[scope]
        self._bytes -= row.size
        if key in self._resident:
            self._resident_bytes -= self._resident.pop(key)
        self._changes.used.pop(key, None)
        if self._changes.added.pop(key, None) is not None:
            self._unwritten_bytes -= row.size
        if entry.on_disk:
            self._changes.gone.add(key)

    def _fit(self) -> None:
        while self._entries and (len(self._entries) > self._max_entries or self._bytes > self._max_bytes):
            self._discard(next(iter(self._entries)))

    async def _load(self, key: bytes, entry: _Entry) -> bytes | None:
        waiting = self._changes.added.get(key)
        body = waiting[1] if waiting is not None else await self._read(key)
        if self._entries.get(key) is not entry:
            return None  # dropped meanwhile
        if body is None:
            self._discard(key)
        elif entry.body is None:
            self._hold(key, body)
        return body

    async def _read(self, key: bytes) -> bytes | None:
        disk = self._disk
        assert disk is not None, "an entry without a body is on disk"
        try:
            return await self._run(lambda: disk.read(key))
        except StateError as error:
            self._failed(error)
            return None
        finally:
            self._look_aside()

    def _write(self) -> asyncio.Task[None]:
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._follow(), name="cache-writer")
        return self._writer

    async def _follow(self) -> None:
        """Tells the disk what has changed, until it knows everything or fails; the next change tries again."""
        while self._changes:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._hurry.wait(), GATHER_SECONDS)
            self._hurry.clear()
            changes, self._changes = self._changes, Changes()
            self._unwritten_bytes = 0
            if not await self._apply(changes):
                return

    async def _apply(self, changes: Changes) -> bool:
        disk = self._disk
        assert disk is not None, "nothing is to be written without a file"
        try:
            await self._run(lambda: disk.apply(changes))
        except StateError as error:
            self._failed(error)
            self._changes.scopes[:0] = changes.scopes
            self._changes.gone |= changes.gone
            for key in changes.added:
                self._stayed_in_memory(key)
            return False
        finally:
            self._look_aside()
        self.error = ""
        return True

    def _stayed_in_memory(self, key: bytes) -> None:
        entry = self._entries.get(key)
        if entry is not None:
            entry.on_disk = False
            if entry.body is None:
                self._discard(key)

    def _failed(self, error: StateError) -> None:
        if not self.error:
            self._report("store_failed", error.message)
        self.error = error.message

    def _look_aside(self) -> None:
        found = self._disk.set_aside if self._disk is not None else ""
        if found != self.set_aside:
            self.set_aside = found
            self._report("store_set_aside", f"a corrupt response cache was moved to {found}")

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _is_over(row: Row, now: float) -> bool:
    return row.expires_at is not None and now >= row.expires_at
