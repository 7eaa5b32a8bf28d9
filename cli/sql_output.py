"""The answer to a statement as a table, CSV or lines of JSON."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec

from actors.telemetry.messages import Table
from cli.output import printable, table


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
    return table([printable(column) for column in found.columns], [[_text(value) for value in row] for row in rows])


def notes(found: Table, max_rows: int) -> str:
    """What a reader of the rows should know."""
    said = []
    if found.truncated:
        said.append(f"There are more rows than shown (--max-rows {max_rows}).")
    if found.pending:
        said.append(f"{found.pending} events are recorded and not in the store yet.")
    return "\n".join(said)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
