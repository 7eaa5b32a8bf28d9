"""Parquet files from the analytics store: the rows of a statement, or everything."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import duckdb

from actors.telemetry.database import opened
from actors.telemetry.query import read_only_rules, refusals, single_statement, time_limit
from actors.telemetry.schema import KINDS
from bus.errors import Refused, StateError

EXPORT_SECONDS = 600.0
_ERRNO = re.compile(r'"errno":"(\d+)"')
"""Where DuckDB says why a write failed."""


def write_query(path: Path, sql: str, target: Path, *, max_rows: int | None, timeout_seconds: float) -> int:
    """Writes the rows of one read-only statement to `target`, as DuckDB types them. Blocking; needs no actor.

    The file appears whole or not at all, readable by its owner only.

    Args:
        max_rows: rows in the file; `None` = all.

    Returns:
        How many rows were written.

    Raises:
        Refused, DeadlineExceeded, StateError: as for `query.run_read_only`; Refused also for EXPLAIN.
    """
    aside = _aside(target := _regular(target))
    try:
        with opened(path, read_only=True) as connection:
            read_only_rules(connection, writable=aside)
            with refusals(), time_limit(connection, timeout_seconds):
                statement = single_statement(connection, sql)
                if statement.type != duckdb.StatementType.SELECT:
                    raise Refused("Parquet holds the rows of a SELECT; leave --format parquet out")
                # The statement ends the text, so what it closes with (a semicolon, a comment) does no harm.
                connection.execute(f"CREATE TEMP VIEW _rows AS {statement.query}")
                count = _copy(connection, max_rows, aside)
        os.replace(aside, target)
    except OSError as error:
        raise StateError(f"{target} cannot be written: {error.strerror}") from None
    finally:
        aside.unlink(missing_ok=True)
    return count


def write_tables(path: Path, directory: Path) -> dict[str, int]:
    """Writes every table to `directory/TABLE.parquet`, replacing files of these names. Blocking; needs no actor.

    Returns:
        Table → rows.

    Raises:
        StateError: the store cannot be read, or the directory cannot be written.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(f"{directory} cannot be used: {error.strerror}") from None
    return {
        kind: write_query(
            path,
            f'FROM "{kind}"',
            directory / f"{kind}.parquet",
            max_rows=None,
            timeout_seconds=EXPORT_SECONDS,
        )
        for kind in KINDS
    }


def _copy(connection: duckdb.DuckDBPyConnection, max_rows: int | None, target: Path) -> int:
    name = str(target).replace("'", "''")
    limit = "" if max_rows is None else f" LIMIT {max_rows}"
    options = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"
    try:
        done = connection.execute(f"COPY (FROM _rows{limit}) TO '{name}' ({options})").fetchone()
    except duckdb.IOException as error:
        if number := _ERRNO.search(str(error)):
            raise OSError(int(number[1]), os.strerror(int(number[1]))) from None
        raise
    return int(done[0]) if done else 0


def _regular(target: Path) -> Path:
    """The file that a name leads to. One that is no file (a pipe, a device) must not be put in the place of another."""
    target = target.resolve()
    if target.exists() and not target.is_file():
        raise StateError(f"{target} is no regular file; leave it out and pipe the rows on: `> {target}`")
    return target


def _aside(target: Path) -> Path:
    """A new empty file beside the target, 0600."""
    try:
        file, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.absolute().parent)
    except OSError as error:
        raise StateError(f"{target} cannot be written: {error.strerror}") from None
    os.close(file)
    return Path(name)
