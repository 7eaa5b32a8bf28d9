"""Opening an actor's SQLite store: private, WAL, migrated forward, set aside when it is corrupt."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from bus.aside import move_aside
from bus.errors import NewerState, StateError

_BUSY_MS = 5_000
_MAX_WAL_BYTES = 16 * 1024 * 1024


class Database:
    """One open file and how to open it again.

    Args:
        migrations: SQL scripts; the n-th brings the schema to version n (`PRAGMA user_version`).

    Attributes:
        set_aside: where a corrupt file was moved, empty if there was none.

    Raises:
        NewerState: the file was written by a newer version; it is left alone.
        StateError: it cannot be opened or created.
    """

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        self.path = path
        self.set_aside = ""
        self._migrations = migrations
        try:
            self.connection = self._open()
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise StateError(f"cannot use the database {path}: {error}; check the disk and permissions") from None
            self.connection = self._rebuild()

    def rebuild(self) -> None:
        """Sets the file aside and starts an empty one; for an owner that met corruption while running."""
        self.connection.close()
        self.connection = self._rebuild()

    def close(self) -> None:
        self.connection.close()

    def _rebuild(self) -> sqlite3.Connection:
        self.set_aside = str(move_aside(self.path))
        return self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
            self.path.chmod(0o600)
        except OSError as error:
            raise StateError(f"cannot open {self.path}: {error.strerror}; check the disk and permissions") from None
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            self._refuse_newer(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("database disk image is malformed")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_newer(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(self._migrations):
            raise NewerState(
                f"{self.path} has schema version {version}, this program knows {len(self._migrations)}; "
                "update memtomem-bus or move the file away"
            )

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for number, script in enumerate(self._migrations[version:], version + 1):
            connection.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


def is_corrupt(error: sqlite3.Error) -> bool:
    """Whether the file itself is damaged (rather than locked, full or unreadable)."""
    return getattr(error, "sqlite_errorname", "") in ("SQLITE_CORRUPT", "SQLITE_NOTADB") or "malformed" in str(error)
