"""Ad-hoc SQL over the analytics file: one read-only statement, no files or network, bounded in time, rows and size."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from actors.telemetry.database import first_line, is_damage, opened
from bus.errors import DeadlineExceeded, Refused

MAX_ROWS = 1_000_000
MAX_REPLY_BYTES = 32 * 1024 * 1024
"""The JSON of all rows; what does not fit is left out, and the answer says that it is truncated."""

_ALLOWED = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_BATCH = 1_000
MAX_WORDS = 500
"""Characters of what DuckDB says about a statement."""
_encoder = msgspec.json.Encoder(decimal_format="number")

Interrupt = Callable[[], None]


@dataclass(frozen=True)
class Result:
    """Columns, their DuckDB types, and the rows as a JSON array of arrays."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: bytes
    truncated: bool


def run_read_only(
    path: Path,
    sql: str,
    *,
    max_rows: int = 10_000,
    timeout_seconds: float = 30.0,
    started: Callable[[Interrupt], None] | None = None,
) -> Result:
    """Runs one read-only statement on the analytics file. Blocking; needs no actor.

    Times become ISO-8601 strings, decimals numbers with all their digits, intervals ISO-8601 durations, blobs base64
    strings, structs and maps objects, NaN and infinities null.

    Args:
        max_rows: rows in the answer, 1 to 1,000,000.
        timeout_seconds: above 0.
        started: is given a function that, called from any thread, stops the query.

    Raises:
        Refused: not a single SELECT-like statement, one that reaches beyond the store, or one that DuckDB refuses.
        DeadlineExceeded: it took longer than `timeout_seconds`, or was stopped.
        StateError: there is no file yet, another process has it open for writing (`StoreHeld`), or it cannot be read
            (`StoreDamaged`).
    """
    if not 1 <= max_rows <= MAX_ROWS:
        raise Refused(f"max_rows is {max_rows}; give a number from 1 to {MAX_ROWS}")
    if not timeout_seconds > 0:
        raise Refused(f"timeout_seconds is {timeout_seconds:g}; give a number above 0")
    with opened(path, read_only=True) as connection:
        read_only_rules(connection)
        if started is not None:
            started(connection.interrupt)
        with refusals(), time_limit(connection, timeout_seconds):
            connection.execute(single_statement(connection, sql))
            return _collect(connection, max_rows)


def read_only_rules(connection: duckdb.DuckDBPyConnection, *, writable: Path | None = None) -> None:
    """Puts files and network out of reach of what runs next, apart from the one file that it may write."""
    if writable is not None:
        name = str(writable).replace("'", "''")
        connection.execute(f"SET allowed_paths = ['{name}']")
    # The first setting takes files and network away, the second takes away the way back.
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def single_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The one statement that `sql` holds. Raises Refused when it is none that only reads."""
    statements = connection.extract_statements(sql)
    if not statements:
        raise Refused("there is no SQL statement to run; try: FROM savings_by_tool")
    if len(statements) > 1:
        raise Refused(f"{len(statements)} statements were given; give one at a time")
    statement = statements[0]
    if statement.type not in _ALLOWED:
        raise Refused(
            f"{statement.type.name} is refused: analytics can only be read "
            "(SELECT, WITH, FROM, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN; PIVOT needs an IN list)"
        )
    if statement.named_parameters:
        raise Refused("the statement has parameters; write the values into it")
    return statement


def _collect(connection: duckdb.DuckDBPyConnection, max_rows: int) -> Result:
    description = connection.description or []
    rows: list[bytes] = []
    size = 0
    truncated = False
    while not truncated and (batch := connection.fetchmany(min(_BATCH, max_rows + 1 - len(rows)))):
        for row in batch:
            encoded = _encode(row)
            size += len(encoded) + 1
            if len(rows) == max_rows or size > MAX_REPLY_BYTES:
                truncated = True
                break
            rows.append(encoded)
    return Result(
        tuple(str(column[0]) for column in description),
        tuple(str(column[1]) for column in description),
        b"[" + b",".join(rows) + b"]",
        truncated,
    )


def _encode(row: tuple[Any, ...]) -> bytes:
    try:
        return _encoder.encode(row)
    except TypeError:  # a map whose keys are true and false
        return _encoder.encode(_with_text_keys(row))


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _with_text_keys(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_text_keys(item) for item in value]
    return value


@contextmanager
def time_limit(connection: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Ends what runs in the block after so long, with DeadlineExceeded."""
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        raise DeadlineExceeded(
            f"the query was stopped, its limit is {seconds:g} s; narrow it or raise the limit"
        ) from None
    finally:
        timer.cancel()
        timer.join()  # an interrupt that comes later would hit a connection that is gone


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what DuckDB says about a statement in the block into Refused."""
    try:
        yield
    except duckdb.PermissionException as error:
        raise Refused(f"files, network and settings are out of reach of a query: {first_line(error)}") from None
    except OverflowError:
        raise Refused("a value is too large to be passed on; cast it to VARCHAR") from None
    except duckdb.Error as error:
        if is_damage(error, read_only=True):
            raise
        raise Refused(_with_advice(error)) from None


def _with_advice(error: duckdb.Error) -> str:
    """DuckDB's own words on one line, with what it suggests (a table or column of like name) in the line below."""
    head, _, _ = str(error).strip().partition("\n\n")
    first, _, below = head.partition("\n")
    advice = below.split("\n", 1)[0]
    # Indented is a list, such as all signatures of a function.
    return f"{first} {advice}"[:MAX_WORDS] if advice[:1].strip() else first
