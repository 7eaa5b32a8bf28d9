"""`mms doctor`: ordered checks, each with a next step."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from bus.errors import BusError
from cli.asking import on_bus
from cli.cluster import is_running
from cli.compressor_checks import check_compressors, check_models
from cli.context import current_place
from cli.doctor_checks import (
    Check,
    State,
    check_clients,
    check_cluster,
    check_commands,
    check_configuration,
    check_disk,
    check_leftovers,
    check_memory,
    check_paths,
    check_python,
    check_stores,
    check_upstreams,
    python_version,
)
from cli.export_checks import check_exports
from cli.health import Health, examine
from cli.hook_checks import check_hook
from cli.output import FAILED, Answer, Role, answers, style
from config.load import load_settings
from config.place import Place

ROLES: dict[State, Role] = {"PASS": "good", "WARN": "warning", "FAIL": "bad"}


@click.command("doctor", short_help="What is wrong, and what to do about it.")
@answers
def doctor() -> Answer:
    """Check everything from Python to the clients: PASS, WARN or FAIL, each with a next step. Changes nothing.

    Exit code 1 when something fails.

    \b
    Examples:
      mms doctor
      mms doctor --json
    """
    checks = list(examined(current_place()))
    failed = [check for check in checks if check.state == "FAIL"]
    warned = sum(check.state == "WARN" for check in checks)
    summary = f"{len(checks) - warned - len(failed)} passed, {warned} to look at, {len(failed)} failed"
    return Answer(
        data={
            "checks": [
                {"check": check.name, "state": check.state, "detail": check.detail, "next": check.fix}
                for check in checks
            ]
        },
        text="\n".join(_lines(checks)),
        talk=summary,
        exit_code=FAILED if failed else 0,
        error="unhealthy" if failed else "",
        message="; ".join(f"{check.name}: {check.detail}" for check in failed),
    )


def examined(place: Place) -> Iterator[Check]:
    """Every check, in the order in which one would look."""
    loaded = load_settings(place)
    yield check_python(python_version(), sys.platform)
    yield from check_paths(place)
    yield from check_configuration(place, loaded)
    yield from check_commands(loaded, os.environ)
    found = _running(place)
    yield from check_cluster(found)
    yield from check_compressors(loaded, found)
    yield from check_upstreams(loaded, found)
    yield from check_models(loaded, found, os.environ)
    yield from check_memory(place, loaded, found, os.environ)
    yield from check_stores(place, found)
    yield from check_exports(loaded, found, os.environ)
    yield check_disk(place)
    yield from check_leftovers(place)
    yield from check_clients(os.environ)
    yield from check_hook(loaded, os.environ, Path.cwd())


def _running(place: Place) -> Health | None:
    """What the cluster says about itself; `None` when none runs."""
    if not is_running(place):
        return None
    try:
        return on_bus(place, lambda bus: examine(place, bus))
    except BusError:
        # It has just ended.
        return None


def _lines(checks: list[Check]) -> Iterator[str]:
    for check in checks:
        yield f"{style(check.state, ROLES[check.state])}  {check.name}: {check.detail}"
        if check.fix:
            yield f"      {style('→', 'dim')} {check.fix}"
