"""`mms version`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

import click

from bus.build import VERSION, build_id
from bus.envelope import WIRE_VERSION
from cli.asking import on_bus
from cli.cluster import is_running
from cli.context import current_place
from cli.output import Answer, answers, table
from cli.survey import survey

PACKAGES = ("mcp", "pyzmq", "msgpack", "msgspec", "duckdb", "uvloop", "structlog", "click", "honcho")


@click.command("version")
@answers
def show_version() -> Answer:
    """The versions of everything that matters.

    \b
    Example:
      mms version --json
    """
    place = current_place()
    packages = {name: _version(name) for name in PACKAGES}
    running: dict[str, str] = {}
    if is_running(place):
        found = on_bus(place, lambda bus: survey(place, bus))
        running = {line.name: line.build for line in found.actors if line.build}
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    rows: list[tuple[str, str]] = [
        ("memtomem-bus", VERSION),
        ("build", build_id()),
        ("wire", str(WIRE_VERSION)),
        ("python", platform.python_version()),
        ("system", system),
        *packages.items(),
    ]
    rows += [(f"running: {name}", build) for name, build in running.items()]
    return Answer(
        data={
            "version": VERSION,
            "build": build_id(),
            "wire": WIRE_VERSION,
            "python": platform.python_version(),
            "system": system,
            "packages": packages,
            "running": running,
        },
        text=table(("WHAT", "VERSION"), rows),
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
