"""`mms sql`: read-only SQL over the analytics store, as a table, CSV, JSON or Parquet; and everything as Parquet."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import click
import msgspec

from cli import analytics
from cli.context import current_place
from cli.number import Number
from cli.output import Answer, Failure, answers, count, is_terminal, read_input, write_bytes
from cli.sql_output import notes, rendered
from config.place import Place

FORMATS = ("table", "csv", "json", "parquet")
DEFAULT_ROWS = 10_000


@click.command()
@click.argument("statement", required=False)
@click.option("--format", "shape", type=click.Choice(FORMATS), default="table", show_default=True, help="Output.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file.")
@click.option(
    "--export",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every table to DIRECTORY/TABLE.parquet.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(1, 1_000_000),
    default=None,
    help=f"At most so many rows; default {DEFAULT_ROWS:,}, for Parquet all.",
)
@click.option(
    "--timeout",
    type=Number(0, 3_600, min_open=True),
    default=analytics.QUERY_SECONDS,
    show_default=True,
    help="Seconds a statement may take.",
)
@answers
def sql(
    statement: str | None,
    shape: str,
    output: Path | None,
    directory: Path | None,
    max_rows: int | None,
    timeout: float,
) -> Answer:
    """Read-only SQL over the analytics store.

    One table per event kind: call, surfacing, opportunity, feedback, … `SHOW TABLES` lists them. Without a statement: a
    prompt on a terminal, else the statement is read from stdin. `--format json` gives one JSON object a line.

    \b
    Example:
      mms sql "SELECT tool, count(*) FROM call GROUP BY ALL ORDER BY 2 DESC"
      mms sql "FROM call" --format parquet -o calls.parquet
    """
    place = current_place()
    if directory is not None:
        if statement is not None or output is not None:
            raise Failure("usage", "--export writes all tables; leave the statement and --output out", 2)
        return _export(place, directory)
    if shape == "parquet" and output is None and is_terminal(sys.stdout):
        raise Failure("usage", "Parquet is not for a terminal; add --output FILE, or pipe it on", 2)
    if statement is None:
        if is_terminal(sys.stdin):
            if shape == "parquet" or output is not None:
                raise Failure("usage", "the prompt shows tables, CSV or JSON; give a statement to write a file", 2)
            from cli.sql_prompt import prompt

            prompt(place, shape, max_rows or DEFAULT_ROWS, timeout)
            return Answer()
        statement = read_input()
    if not statement.strip():
        raise Failure("usage", 'there is no statement; mms sql "SELECT …"', 2)
    if shape == "parquet":
        return _parquet(place, statement, output, max_rows, timeout)
    found = analytics.query(place, statement, max_rows or DEFAULT_ROWS, timeout)
    said = notes(found, max_rows or DEFAULT_ROWS)
    data = {
        "columns": found.columns,
        "types": found.types,
        "rows": msgspec.Raw(found.rows.data),
        "truncated": found.truncated,
        "pending": found.pending,
    }
    text = rendered(found, shape)
    if output is None:
        return Answer(data=data, text=text, talk=said)
    try:
        output.write_text(text + "\n" if text else "", encoding="utf-8")
    except OSError as error:
        raise Failure("os_error", f"{output} cannot be written: {error.strerror}") from None
    return Answer(data=data, talk="\n".join(filter(None, [said, f"wrote {output}"])))


def _parquet(place: Place, statement: str, output: Path | None, max_rows: int | None, timeout: float) -> Answer:
    if output is not None:
        rows = analytics.write_parquet(place, statement, output, max_rows, timeout)
        return Answer(data={"output": str(output), "rows": rows}, talk=f"wrote {count(rows, 'row')} to {output}")
    with tempfile.TemporaryDirectory(prefix="mms-") as folder:
        file = Path(folder) / "rows.parquet"
        analytics.write_parquet(place, statement, file, max_rows, timeout)
        with file.open("rb") as source:
            write_bytes(source)
    return Answer()


def _export(place: Place, directory: Path) -> Answer:
    tables = analytics.export(place, directory)
    lines = [f"wrote {count(rows, 'row')} to {directory / name}.parquet" for name, rows in tables.items()]
    return Answer(data={"directory": os.fspath(directory), "tables": tables}, talk="\n".join(lines))
