"""How the export of traces stands, for `mms health`, `mms doctor` and `mms config validate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from actors.telemetry.messages import ExportHealth
from cli.output import Cell, Role, printable
from config.export import exports
from config.problems import Problem
from config.schema import Settings

STATES: dict[str, Role] = {"on": "good", "failing": "warning", "misconfigured": "warning"}


def export_problems(settings: Settings, env: Mapping[str, str]) -> list[Problem]:
    """Why an export that is switched on cannot work, seen from an environment."""
    return [export.problem for export in exports(settings, env) if export.problem is not None]


def export_rows(found: Sequence[ExportHealth]) -> Iterator[tuple[object, ...]]:
    """Rows of the page of `mms health`."""
    for export in found:
        detail = counts(export) if export.host else ""
        yield "export", export.name, Cell(export.state, STATES.get(export.state, "dim")), detail


def export_notes(found: Sequence[ExportHealth]) -> Iterator[str]:
    """What is worth knowing: an export that fails costs no call, so it is never more than a note."""
    for export in found:
        if export.state == "misconfigured":
            yield f"traces are not sent: {export.error}"
        elif export.error:
            yield f"traces to {export.host} ({export.name}) are lost at the moment: {export.error}"
        elif export.dropped:
            yield f"{export.dropped} spans for {export.host} ({export.name}) were dropped"


def counts(export: ExportHealth) -> str:
    """Where to, and what became of it."""
    waiting = f", {export.waiting} waiting" if export.waiting else ""
    return printable(f"{export.host}: {export.sent} spans sent, {export.dropped} dropped{waiting}")
