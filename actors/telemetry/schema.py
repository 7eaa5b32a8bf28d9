"""The tables of the analytics store: one per event kind, their columns, units and migrations."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any, get_args

import duckdb

from actors.telemetry.messages import AnyEvent, Event, columns
from bus.errors import NewerState, StateError

SCHEMA_VERSION = 1

KINDS: dict[str, type[Event]] = {str(event.__struct_config__.tag): event for event in get_args(AnyEvent)}

_SQL_TYPES: dict[Any, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    list[str]: "VARCHAR[]",
    list[float]: "DOUBLE[]",
    int | None: "BIGINT",
    float | None: "DOUBLE",
    dict[str, str]: "MAP(VARCHAR, VARCHAR)",
    dict[str, dict[str, float]] | None: "MAP(VARCHAR, MAP(VARCHAR, DOUBLE))",
}

TABLE_COMMENTS = {
    "call": "One row per proxied call.",
    "surfacing": "One row per call that memories were found for.",
    "opportunity": "One row per call that reached surfacing, with how it ended.",
    "feedback": "One row per rating; a later one of the same memory in the same event replaces the earlier.",
    "compression_feedback": "One row per report of information that compression lost.",
    "progressive_reads": "One row per first chunk and per follow-up of a shortened response.",
    "tuning": "One row per change of a relevance threshold.",
    "selection": "One row per call while the selection log is on: which tool was chosen among which.",
    "execution": "One row per selection: how the call ended.",
    "fault": "One row per breaker trip, restart, fallback, drop or store set aside.",
}

COLUMN_COMMENTS = {
    "event_id": "unique id of the event",
    "ts": "UTC, microseconds",
    "trace_id": "id of the call this belongs to",
    "schema_version": "version of the event format",
    "server": "name of the upstream server",
    "tool": "the upstream's own tool name",
    "ok": "the call did not fail",
    "error": "category of the failure, empty when ok",
    "cached": "answered from the response cache",
    "original_chars": "response as the upstream sent it, code points",
    "cleaned_chars": "after cleaning, code points",
    "compressed_chars": "after compression, code points",
    "delivered_chars": "as the client got it, the memory block included, code points",
    "original_tokens": "response as the upstream sent it, estimated tokens",
    "delivered_tokens": "as the client got it, the memory block included, estimated tokens",
    "memory_tokens": "the memory block's share of delivered_tokens; NULL in older rows, whose delivered_… leave it out",
    "strategy": "compression strategies used, in order",
    "surfacing": "surfaced, or the reason why no memory was shown",
    "upstream_ms": "waiting for the upstream, milliseconds",
    "compress_ms": "cleaning and compression, milliseconds",
    "surface_ms": "surfacing, milliseconds",
    "total_ms": "from the request read to the answer written, milliseconds",
    "upstream_at_ms": "when the upstream was asked, milliseconds after the request was read; NULL or 0: unknown",
    "compress_at_ms": "when cleaning began, milliseconds after the request was read; NULL or 0: unknown",
    "surface_at_ms": "when surfacing began, milliseconds after the request was read; NULL or 0: unknown",
    "session": "id of the gateway session",
    "degraded": "the part that was down, empty when none",
    "surfacing_id": "id of the surfacing event, what an agent rates",
    "query_digest": "SHA-256 digest of the query, never its text",
    "memory_ids": "memories found, in order",
    "relevance": "our relevance per memory, 0 to 1",
    "ltm_scores": "raw score of the LTM per memory",
    "score_scale": "what the raw scores mean",
    "injected_chars": "size of the memory block, code points",
    "arm": "shown, or withheld by the hold-out experiment",
    "decision": "surfaced, or the reason why not",
    "shape": "shape of the arguments: counts only",
    "response_chars": "cleaned response, code points",
    "memory_id": "id of the memory in the LTM",
    "rating": "helpful, partially_helpful, not_relevant or already_known",
    "category": "what kind of information is missing",
    "missing": "the report, credentials masked",
    "key_digest": "digest of the recall key: one response",
    "offset": "first code point served",
    "served_chars": "code points served, footer and memories excluded",
    "total_chars": "code points of the whole response",
    "follow_up": "false for the first chunk; NULL for imported rows without a marker",
    "progressive": "the response was served in slices",
    "old": "threshold before, relevance 0 to 1",
    "new": "threshold after, relevance 0 to 1",
    "reason": "why, with the counts",
    "component": "the part concerned",
    "what": "what happened",
    "detail": "more about it; never a secret",
    "count": "how often, in this event",
    "selection_id": "joins selection and execution of one call",
    "selected_tool": "advertised name of the tool that was called",
    "candidate_tools": "advertised names at that moment",
    "candidate_count": "how many were advertised",
    "reject_reasons": "withheld tool -> code",
    "candidate_features": "best candidates -> rank and score; NULL without a query",
    "graph_generation": "of the tool-graph provider; NULL without one",
    "args_sha256": "SHA-256 of the arguments, never the arguments",
    "args_chars": "length of the arguments, code points",
    "ranker_version": "cohort of the ranking",
    "latency_ms": "from the request read to the answer written, milliseconds",
    "error_type": "class name of the failure, empty when ok",
    "cache_hit": "answered from the response cache",
    "retry_count": "how often the call was sent again",
    "cost": "NULL: not known to a gateway",
}
_COLUMN_COMMENTS_BY_TABLE = {("tuning", "tool"): "tool key, server__tool"}


def table_columns(kind: str) -> dict[str, str]:
    """The columns of a kind's table, in order, with their SQL types."""
    found = {name: _SQL_TYPES[annotation] for name, annotation in columns(KINDS[kind])}
    return found | {"ts": "TIMESTAMP"}


def line_columns() -> dict[str, str]:
    """What any JSON line may hold: the columns of all kinds together, and `kind`."""
    found = {"kind": "VARCHAR"}
    for kind in KINDS:
        for name, sql_type in table_columns(kind).items():
            if found.setdefault(name, sql_type) != sql_type:
                raise TypeError(f"the event field {name!r} has two types: {found[name]} and {sql_type}")
    return found


@cache
def sql(name: str) -> str:
    """The text of `sql/NAME.sql`."""
    return (files("actors.telemetry") / "sql" / f"{name}.sql").read_text("utf-8")


@cache
def fingerprint() -> str:
    """Changes whenever a column, a comment or a view does; says that a store needs `prepare`."""
    parts = [sql("views"), repr(TABLE_COMMENTS), repr(COLUMN_COMMENTS), repr(_COLUMN_COMMENTS_BY_TABLE)]
    parts += [f"{kind}{table_columns(kind)}" for kind in KINDS]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """Brings a store of any earlier version, or an empty one, to this version; keeps its rows.

    Columns that a newer event format brings are added and are NULL in old rows. A change that adding columns cannot
    express gets a step of its own here, keyed by the version it starts from.

    Raises:
        NewerState: a newer version wrote the store; it is left alone.
    """
    known = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = '_meta'").fetchone()
    if known and known[0]:
        row = connection.execute("SELECT schema_version, fingerprint FROM _meta").fetchone()
        version, print_ = row if row else (0, "")
        if version > SCHEMA_VERSION:
            raise NewerState(
                f"the analytics store has schema version {version}, this program knows {SCHEMA_VERSION}; "
                "install the newer version"
            )
        if (version, print_) == (SCHEMA_VERSION, fingerprint()):
            return
    with transaction(connection):
        connection.execute("CREATE TABLE IF NOT EXISTS _meta (schema_version INTEGER, fingerprint VARCHAR)")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS _offsets (segment BIGINT, first_line VARCHAR, loaded_bytes BIGINT)"
        )
        for kind in KINDS:
            found = connection.execute("SELECT column_name FROM duckdb_columns() WHERE table_name = ?", [kind])
            connection.execute(_table(kind, {name for (name,) in found.fetchall()}))
        connection.execute(sql("views"))
        connection.execute("DELETE FROM _meta")
        connection.execute("INSERT INTO _meta VALUES (?, ?)", [SCHEMA_VERSION, fingerprint()])


def check(connection: duckdb.DuckDBPyConnection) -> None:
    """For whoever only reads.

    Raises:
        StateError: an earlier version wrote the store, and nobody has brought it to this one yet.
    """
    found = set(connection.execute("SELECT table_name, column_name FROM duckdb_columns()").fetchall())
    if any((kind, name) not in found for kind in KINDS for name in table_columns(kind)):
        raise StateError("the analytics store is of an earlier version; `mms up` brings it up to date")


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commits what the block does, or nothing of it."""
    connection.begin()
    try:
        yield
    except BaseException:
        with suppress(duckdb.Error):  # what broke the transaction is the error that counts
            connection.rollback()
        raise
    connection.commit()


def _table(kind: str, present: set[str]) -> str:
    """The statements that create a kind's table, or add the columns that the present one lacks, and comment it."""
    wanted = table_columns(kind)
    definition = ", ".join(f'"{name}" {sql_type}' for name, sql_type in wanted.items())
    statements = [f'CREATE TABLE IF NOT EXISTS "{kind}" ({definition})']
    for name, sql_type in wanted.items():
        comment = _COLUMN_COMMENTS_BY_TABLE.get((kind, name)) or COLUMN_COMMENTS[name]
        if present and name not in present:
            statements.append(f'ALTER TABLE "{kind}" ADD COLUMN "{name}" {sql_type}')
        statements.append(f'COMMENT ON COLUMN "{kind}"."{name}" IS {_literal(comment)}')
    statements.append(f'COMMENT ON TABLE "{kind}" IS {_literal(TABLE_COMMENTS[kind])}')
    return ";\n".join(statements)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
