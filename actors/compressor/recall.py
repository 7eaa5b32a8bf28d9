"""The originals of shortened responses, kept until their time to live has passed unread.

Each is stored and committed before its key is shown. Keys come from the content and a secret of this installation: the
same text has the same key, and nobody can guess one. What looks like a credential stays in memory.

Each replica of the compressor owns a file of its own. What is not in it is looked for in the files of the others, so
that a key outlives the replica that gave it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import sqlite3
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from actors.compressor import siblings
from actors.compressor.compress import Original
from actors.compressor.entry import Entry
from actors.compressor.note import Ticket
from actors.compressor.secret import installation_secret
from bus.errors import StateError
from bus.sqlite import Database, is_corrupt
from config.credentials import may_hold_credential

MAX_ENTRIES = 2_000
MAX_BYTES = 512 << 20
MAX_MEMORY_ENTRIES = 200
MAX_MEMORY_BYTES = 128 << 20
MAX_SUMMARIES = 1_000
SUMMARY_SECONDS = 86_400
"""How long a summary is kept after its last use."""
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
    # What models have written about texts: the same question is not asked twice, and answered in the same bytes.
    """
    CREATE TABLE summaries (digest TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at REAL NOT NULL) STRICT;
    CREATE INDEX summaries_by_expiry ON summaries (expires_at);
    """,
)
_SIZE = "SELECT count(*), coalesce(sum(stored), 0) FROM originals"
_RENEW = "UPDATE originals SET server=?, tool=?, trace_id=?, chunk=?, ttl=?, expires_at=? WHERE key=?"


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
        number: of the replica; from 2 on its file is `recall-N.db`.
        clock: seconds since the epoch.

    Attributes:
        set_aside: where a corrupt file was moved; empty if there was none.
        key_fault: what was wrong with `recall.key` and has been put right; empty if nothing.

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
        number: int = 1,
    ) -> None:
        self.path = siblings.file_of(state, number)
        self._clock = clock
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._secret, self.key_fault = installation_secret(state / "recall.key")
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
        if found is None:
            found = siblings.find(self.path, key, now)
            if found is not None:
                adopted = Original(found.text, Ticket(key, found.ttl), found.chunk)
                with contextlib.suppress(StateError):  # it can be read all the same, only not for longer
                    self.put([adopted], found.server, found.tool, found.trace_id)
        return found

    def summary(self, digest: str) -> str | None:
        """The summary that was kept under `digest`, its life renewed.

        Raises:
            StateError: the store cannot be read.
        """
        return cast("str | None", self._guarded(lambda: self._read_summary(digest, self._clock())))

    def keep_summary(self, digest: str, text: str) -> None:
        """Keeps a summary of a text that holds no credential.

        Raises:
            StateError: it could not be stored.
        """
        self._guarded(lambda: self._write_summary(digest, text, self._clock()))

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
        found = siblings.read(self._db, key, now)
        if found is not None:
            self._db.execute("UPDATE originals SET expires_at=? WHERE key=?", (now + found.ttl, key))
        return found

    def _read_summary(self, digest: str, now: float) -> str | None:
        row = self._db.execute(
            "UPDATE summaries SET expires_at=? WHERE digest=? AND expires_at>=? RETURNING text",
            (now + SUMMARY_SECONDS, digest, now),
        ).fetchone()
        return None if row is None else str(row[0])

    def _write_summary(self, digest: str, text: str, now: float) -> None:
        with self._transaction():
            self._db.execute("DELETE FROM summaries WHERE expires_at < ?", (now,))
            self._db.execute("INSERT OR REPLACE INTO summaries VALUES (?,?,?)", (digest, text, now + SUMMARY_SECONDS))
            self._db.execute(
                "DELETE FROM summaries WHERE digest IN (SELECT digest FROM summaries "
                "ORDER BY expires_at DESC, rowid DESC LIMIT -1 OFFSET ?)",
                (MAX_SUMMARIES,),
            )

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
