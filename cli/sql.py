"""`mms sql`: read-only SQL over the analytics store."""

from __future__ import annotations

import csv
import io
import sys
from typing import Any

import click
import msgspec

from actors.telemetry.messages import Table
from bus.errors import BusError
from cli.analytics import query
from cli.context import current_place
from cli.output import Answer, Failure, answers, printable, table, talk
from config.place import Place

FORMATS = ("table", "csv", "json")


@click.command()
@click.argument("statement", required=False)
@click.option("--format", "shape", type=click.Choice(FORMATS), default="table", show_default=True, help="Output.")
@click.option("--max-rows", type=click.IntRange(1, 1_000_000), default=10_000, show_default=True, help="At most.")
@answers
def sql(statement: str | None, shape: str, max_rows: int) -> Answer:
    """Read-only SQL over the analytics store.

    One table per event kind: call, surfacing, opportunity, feedback, … `SHOW TABLES` lists them. Without a statement: a
    prompt on a terminal, else the statement is read from stdin. `--format json` gives one JSON object a line.

    \b
    Example:
      mms sql "SELECT tool, count(*) FROM call GROUP BY ALL ORDER BY 2 DESC"
    """
    place = current_place()
    if statement is None:
        if sys.stdin.isatty():
            _prompt(place, shape, max_rows)
            return Answer()
        statement = sys.stdin.read()
    if not statement.strip():
        raise Failure("usage", 'there is no statement; mms sql "SELECT …"', 2)
    found = query(place, statement, max_rows)
    return Answer(
        data={
            "columns": found.columns,
            "types": found.types,
            "rows": msgspec.Raw(found.rows.data),
            "truncated": found.truncated,
            "pending": found.pending,
        },
        text=_rendered(found, shape),
        talk=_notes(found, max_rows),
    )


def _rendered(found: Table, shape: str) -> str:
    if shape == "json":
        raws = msgspec.json.decode(found.rows.data, type=list[list[msgspec.Raw]])
        lines = [dict(zip(found.columns, row, strict=True)) for row in raws]
        return "\n".join(msgspec.json.encode(line).decode() for line in lines)
    rows = msgspec.json.decode(found.rows.data, type=list[list[Any]])
    if shape == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows([["" if value is None else _text(value) for value in row] for row in rows])
        return out.getvalue().rstrip("\n")
    if not found.columns:
        return ""
    return table([printable(column) for column in found.columns], [[_text(value) for value in row] for row in rows])


def _notes(found: Table, max_rows: int) -> str:
    notes = []
    if found.truncated:
        notes.append(f"There are more rows than shown (--max-rows {max_rows}).")
    if found.pending:
        notes.append(f"{found.pending} events are recorded and not in the store yet.")
    return "\n".join(notes)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _prompt(place: Place, shape: str, max_rows: int) -> None:
    """Statements from a terminal, each up to a semicolon, until the end of input."""
    import readline  # noqa: F401 - gives `input` its line editing and history

    talk("Read-only SQL; a statement ends with ';', Ctrl-D leaves. SHOW TABLES; lists the tables.")
    lines: list[str] = []
    while True:
        try:
            lines.append(input("...> " if lines else "sql> "))
        except EOFError:
            sys.stdout.write("\n")
            return
        except KeyboardInterrupt:
            lines.clear()
            sys.stdout.write("\n")
            continue
        statement = "\n".join(lines).strip()
        if not statement.rstrip(";").strip():
            lines.clear()
        elif statement.endswith(";"):
            lines.clear()
            try:
                found = query(place, statement, max_rows)
            except (BusError, Failure) as error:
                talk(f"Error: {error.message}")
            else:
                click.echo(_rendered(found, shape))
                notes = _notes(found, max_rows)
                if notes:
                    talk(notes)
