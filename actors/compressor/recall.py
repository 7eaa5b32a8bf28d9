"""The originals of shortened responses, kept until their time to live has passed unread.

Each is stored and committed before its key is shown. Keys come from the content and a secret of this installation: the
same text has the same key, and nobody can guess one. What looks like a credential stays in memory.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import secrets as random
import sqlite3
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from actors.compressor.compress import Original
from actors.compressor.note import Ticket
from bus.errors import StateError
from bus.sqlite import Database, is_corrupt
from config.credentials import may_hold_credential

MAX_ENTRIES = 2_000
MAX_BYTES = 512 << 20
MAX_MEMORY_ENTRIES = 200
MAX_MEMORY_BYTES = 128 << 20
KEY_LETTERS = 20
"""A hundred bits of the content's HMAC, in base 32."""
_PACK_FROM = 4_096
_MIGRATIONS = (
    # Bodies stand apart, so that renewing a time to live does not write a long text again.
    """
    CREATE TABLE originals (
        key TEXT PRIMARY KEY,
        stored INTEGER NOT NULL,
        packed INTEGER NOT NULL,
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        trace_id TEXT NOT NULL,
        chunk INTEGER NOT NULL,
        ttl INTEGER NOT NULL,
        expires_at REAL NOT NULL
    ) STRICT;
    CREATE INDEX originals_by_expiry ON originals (expires_at);
    CREATE TABLE bodies (key TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
    CREATE TRIGGER body_goes_along AFTER DELETE ON originals BEGIN DELETE FROM bodies WHERE key = old.key; END;
    """,
)
_SIZE = "SELECT count(*), coalesce(sum(stored), 0) FROM originals"
_FIND = """
    SELECT body, packed, server, tool, trace_id, chunk, ttl, expires_at
    FROM originals JOIN bodies USING (key) WHERE key=?
"""
_RENEW = "UPDATE originals SET server=?, tool=?, trace_id=?, chunk=?, ttl=?, expires_at=? WHERE key=?"


@dataclass(frozen=True)
class Entry:
    """An original and the call that it came from. `chunk` is the slice length of `progressive`, else 0."""

    text: str
    server: str
    tool: str
    trace_id: str
    chunk: int
    ttl: int


@dataclass(frozen=True)
class Held:
    """How much the store holds: entries and bytes on disk, entries in memory only."""

    entries: int
    bytes: int
    in_memory: int


class Recall:
    """The store, used by one thread at a time.

    Args:
        state: directory of the stores; `recall.db` and `recall.key` stand in it.
        clock: seconds since the epoch.

    Attributes:
        set_aside: where a corrupt file was moved; empty if there was none.

    Raises:
        NewerState: the file was written by a newer version; it is left alone.
        StateError: it cannot be opened or created.
    """

    def __init__(
        self,
        state: Path,
        clock: Callable[[], float] = time.time,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.path = state / "recall.db"
        self._clock = clock
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._secret = _secret(state / "recall.key")
        self._memory: OrderedDict[str, tuple[float, Entry]] = OrderedDict()
        self._database = Database(self.path, _MIGRATIONS)

    def ticket(self, text: str, ttl: int) -> Ticket:
        """The key of a text, and whether it may only be held in memory. Touches no disk; safe from any thread."""
        data = text.encode("utf-8", "surrogatepass")
        digest = hmac.digest(self._secret, data, hashlib.sha256)
        key = base64.b32encode(digest).decode()[:KEY_LETTERS].lower()
        return Ticket(key, ttl, may_hold_credential(text))

    def put(self, originals: Sequence[Original], server: str, tool: str, trace_id: str) -> None:
        """Stores originals, or renews those that are here already; committed when it returns.

        Raises:
            StateError: they could not be stored (disk full, say); nothing of them may be shown as recoverable.
        """
        now = self._clock()
        on_disk = [original for original in originals if not original.ticket.memory_only]
        for original in originals:
            if original.ticket.memory_only:
                self._remember(
                    original, Entry(original.text, server, tool, trace_id, original.chunk, original.ticket.ttl), now
                )
        if on_disk:
            self._guarded(lambda: self._write(on_disk, server, tool, trace_id, now))

    def get(self, key: str) -> Entry | None:
        """The original behind a key, its time to live renewed; `None` when the key is unknown or has expired.

        Raises:
            StateError: the store cannot be read.
        """
        now = self._clock()
        held = self._memory.get(key)
        if held is not None:
            if held[0] < now:
                del self._memory[key]
                return None
            self._memory[key] = (now + held[1].ttl, held[1])
            return held[1]
        found: Entry | None = self._guarded(lambda: self._read(key, now))
        return found

    def held(self) -> Held:
        """What the store holds now.

        Raises:
            StateError: the store cannot be read.
        """
        count, size = self._guarded(lambda: self._db.execute(_SIZE).fetchone())
        return Held(count, size, len(self._memory))

    @property
    def set_aside(self) -> str:
        return self._database.set_aside

    @property
    def _db(self) -> sqlite3.Connection:
        return self._database.connection

    def close(self) -> None:
        self._database.close()

    def _guarded(self, work: Callable[[], Any]) -> Any:
        """Runs database work; a file found corrupt is set aside, and the work done on an empty one."""
        try:
            try:
                return work()
            except sqlite3.DatabaseError as error:
                if not is_corrupt(error):
                    raise
                self._database.rebuild()
                return work()
        except (sqlite3.Error, OSError) as error:
            raise StateError(f"the recall store {self.path} cannot be used: {error}; check the disk") from None

    def _write(self, originals: Sequence[Original], server: str, tool: str, trace_id: str, now: float) -> None:
        with self._transaction():
            self._db.execute("DELETE FROM originals WHERE expires_at < ?", (now,))
            for original in originals:
                ticket = original.ticket
                life = (server, tool, trace_id, original.chunk, ticket.ttl, now + ticket.ttl)
                if not self._db.execute(_RENEW, (*life, ticket.key)).rowcount:
                    data = original.text.encode("utf-8", "surrogatepass")
                    packed = len(data) >= _PACK_FROM
                    body = zlib.compress(data, 1) if packed else data
                    self._db.execute("INSERT INTO bodies VALUES (?,?)", (ticket.key, body))
                    row = (ticket.key, len(body), packed, *life)
                    self._db.execute("INSERT INTO originals VALUES (?,?,?,?,?,?,?,?,?)", row)
            self._evict({original.ticket.key for original in originals})

    def _evict(self, fresh: set[str]) -> None:
        """Keeps the store within its bounds: what would expire first goes first, what was just shown never."""
        count, size = self._db.execute(_SIZE).fetchone()
        if count <= self._max_entries and size <= self._max_bytes:
            return
        by_age = "SELECT key, stored FROM originals ORDER BY expires_at, rowid"
        for key, length in self._db.execute(by_age).fetchall():
            if count <= self._max_entries and size <= self._max_bytes:
                return
            if key not in fresh:
                self._db.execute("DELETE FROM originals WHERE key=?", (key,))
                count, size = count - 1, size - length

    def _read(self, key: str, now: float) -> Entry | None:
        row = self._db.execute(_FIND, (key,)).fetchone()
        if row is None or row[7] < now:
            return None
        self._db.execute("UPDATE originals SET expires_at=? WHERE key=?", (now + row[6], key))
        data = zlib.decompress(row[0]) if row[1] else row[0]
        return Entry(data.decode("utf-8", "surrogatepass"), *row[2:7])

    def _remember(self, original: Original, entry: Entry, now: float) -> None:
        self._memory.pop(original.ticket.key, None)
        self._memory[original.ticket.key] = (now + entry.ttl, entry)
        for key in [key for key, (until, _) in self._memory.items() if until < now]:
            del self._memory[key]
        while len(self._memory) > 1 and (
            len(self._memory) > MAX_MEMORY_ENTRIES
            or sum(len(held.text) for _, held in self._memory.values()) > MAX_MEMORY_BYTES
        ):
            self._memory.popitem(last=False)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk may have ended the transaction already
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _secret(path: Path) -> bytes:
    """The installation's own secret, made on first use.

    Raises:
        StateError: it can be neither read nor written.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            found = path.read_bytes()
            if len(found) >= 32:
                return found
        fresh = random.token_bytes(32)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
        draft.replace(path)
    except OSError as error:
        raise StateError(f"cannot use {path}: {error.strerror}; check the disk and permissions") from None
    return fresh
