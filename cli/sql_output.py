"""The answer to a statement as a table, CSV or lines of JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec

from actors.telemetry.messages import Table
from cli.output import count, printable, printable_lines, table

PLAN = ("explain_key", "explain_value")
"""The columns of EXPLAIN, whose values are drawings."""


def rendered(found: Table, shape: str) -> str:
    """Args: shape: `table`, `csv` or `json` (one object a line)."""
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
    if found.columns == PLAN:
        return "\n\n".join(printable_lines(str(plan)) for _, plan in rows)
    return table([printable(column) for column in found.columns], [[_text(value) for value in row] for row in rows])


def notes(found: Table, max_rows: int) -> str:
    """What a reader of the rows should know."""
    said = []
    if found.truncated:
        shown = len(msgspec.json.decode(found.rows.data, type=list[msgspec.Raw]))
        limit = (
            f"--max-rows {max_rows}"
            if shown == max_rows
            else "an answer has at most 32 MiB; --output FILE --format parquet has no limit"
        )
        said.append(f"There are more rows than the {shown:,} shown ({limit}).")
    if found.pending:
        said.append(f"{count(found.pending, 'event')} recorded and not in the store yet.")
    return "\n".join(said)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
