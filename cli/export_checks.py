"""The check of `mms doctor` on the export of traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cli.doctor_checks import Check
from cli.export_state import counts
from cli.health import Health
from cli.output import printable
from config.export import exports
from config.load import Loaded


def check_exports(loaded: Loaded, found: Health | None, env: Mapping[str, str]) -> Iterator[Check]:
    """Whether traces are sent, where to, and whether they arrive."""
    live = () if found is None or found.telemetry is None else found.telemetry.exports
    by_name = {export.name: export for export in live}
    wanted = exports(loaded.settings, env)
    if not wanted and not live:
        yield Check("traces", "PASS", "not sent anywhere")
    for export in wanted:
        state = by_name.get(export.name)
        label = f"traces to {export.name}"
        if state is not None and state.state != "misconfigured":
            # The cluster has the variables of whoever started it, so its word counts.
            detail = f"{counts(state)}; {state.error}" if state.error else counts(state)
            fix = f"mms config show {export.name}" if state.error else ""
            yield Check(label, "WARN" if state.error or state.dropped else "PASS", detail, fix)
        elif export.problem is not None:
            yield Check(label, "WARN", printable(export.problem.message), "mms config validate")
        elif state is not None:
            yield Check(label, "WARN", printable(state.error), "mms restart")
        elif export.destination is not None:
            yield Check(label, "PASS", f"{export.destination.host}, once the cluster runs")
