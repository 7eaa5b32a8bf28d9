"""`mms health`: the live state of everything, and what is wrong with it."""

from __future__ import annotations

import asyncio
import math
from typing import Any, TypeVar

import click
import msgspec

from actors.compressor.messages import GetRecallStats, RecallStats
from actors.surfacer.messages import GetSurfacerHealth, SurfacerHealth
from actors.telemetry.messages import GetTelemetryHealth, TelemetryHealth
from actors.upstream.messages import Catalogue, GetServers, ServerState
from bus.client import Bus
from bus.errors import BusError
from bus.message import Reply, Request
from cli.asking import must_run, on_bus
from cli.context import as_data, current_place
from cli.output import Answer, Cell, Role, answers, printable, table
from cli.survey import Survey, survey
from config.load import load_settings
from config.place import Place
from config.problems import Problem

R = TypeVar("R", bound=Reply)

ASK_SECONDS = 5.0
STATES: dict[str, Role] = {"ready": "good", "failed": "bad", "down": "bad", "open": "bad", "disabled": "dim"}


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. A part that did not answer is `None`; its actor then stands in `survey`."""

    survey: Survey
    catalogue: Catalogue | None
    surfacer: SurfacerHealth | None
    telemetry: TelemetryHealth | None
    recall: RecallStats | None


@click.command("health")
@answers
def health() -> Answer:
    """Is everything working? Exit code 1 when something is down.

    \b
    Example:
      mms health --json
    """
    place = current_place()
    must_run(place)
    found = on_bus(place, lambda bus: examine(place, bus))
    problems = [problem for problem in load_settings(place).problems if problem.level != "note"]
    bad, notes = findings(found, problems)
    return Answer(
        data={
            "actors": msgspec.to_builtins(found.survey),
            "upstreams": _data(found.catalogue, "servers"),
            "withheld": _data(found.catalogue, "withheld"),
            "surfacer": msgspec.to_builtins(found.surfacer),
            "telemetry": msgspec.to_builtins(found.telemetry),
            "recall": msgspec.to_builtins(found.recall),
            "problems": as_data(problems),
            "bad": bad,
            "notes": notes,
        },
        text=_page(found),
        talk="\n".join([*(f"down: {line}" for line in bad), *notes]) or "All is well.",
        exit_code=1 if bad else 0,
        error="unhealthy" if bad else "",
        message="; ".join(bad),
    )


async def examine(place: Place, bus: Bus) -> Health:
    """Asks every part about itself, all at the same time."""
    overview, catalogue, surfacer, telemetry, recall = await asyncio.gather(
        survey(place, bus),
        _ask(bus, GetServers()),
        _ask(bus, GetSurfacerHealth()),
        _ask(bus, GetTelemetryHealth()),
        _ask(bus, GetRecallStats()),
    )
    return Health(survey=overview, catalogue=catalogue, surfacer=surfacer, telemetry=telemetry, recall=recall)


def findings(found: Health, problems: list[Problem]) -> tuple[list[str], list[str]]:
    """What is down, and what is worth knowing; one line each."""
    bad = [_with(f"the actor {line.name} is {line.state}", line.last_exit) for line in found.survey.troubled]
    notes = [f"{problem.level}: {problem.message}" for problem in problems]
    if found.survey.other_builds:
        notes.append("the cluster runs other code than this command; `mms restart` brings it up to date")
    if found.catalogue is not None:
        if found.catalogue.config_error:
            bad.append(f"the configuration is broken, the last good one stays in force: {found.catalogue.config_error}")
        down = [server for server in found.catalogue.servers if server.state in ("failed", "reconnecting")]
        bad += [_with(f"the upstream {server.name} is {server.state}", server.error) for server in down]
        for server in found.catalogue.servers:
            if server.breaker != "closed":
                (bad if server.breaker == "open" else notes).append(f"the upstream {server.name} is {_resting(server)}")
            if server.replacement_error:
                what = f"the changed connection of the upstream {server.name} does not work, the old one stays in force"
                bad.append(_with(what, server.replacement_error))
        withheld = found.catalogue.withheld
        notes += [f"{tool.server}: the tool {tool.tool} is withheld ({tool.reason}) {tool.detail}" for tool in withheld]
    if found.surfacer is not None:
        if found.surfacer.ltm == "down":
            bad.append(_with("the LTM is down", found.surfacer.ltm_error))
        if found.surfacer.breaker == "open":
            bad.append("surfacing pauses after repeated failures of the LTM; it tries again by itself")
    if found.telemetry is not None:
        if found.telemetry.store in ("failed", "newer"):
            bad.append(_with("the analytics store cannot be used", found.telemetry.store_error))
        elif found.telemetry.store_error:
            notes.append(f"the analytics store: {found.telemetry.store_error}")
        lost = sum(found.telemetry.dropped_by_producers.values())
        if lost:
            notes.append(f"{lost} telemetry events were dropped by their producers")
    if found.recall is not None and found.recall.set_aside:
        notes.append(f"a damaged recall store was set aside: {found.recall.set_aside}")
    return bad, [printable(note.strip()) for note in notes]


def _page(found: Health) -> str:
    rows: list[tuple[object, ...]] = [
        ("actor", line.name, _state(line.state), line.last_exit if line.state != "ready" else "")
        for line in found.survey.actors
    ]
    if found.catalogue is not None:
        rows += [("upstream", server.name, _state(server.state), _detail(server)) for server in found.catalogue.servers]
    if found.surfacer is not None:
        health = found.surfacer
        rows.append(("ltm", health.ltm_kind or "memory", _state(health.ltm), health.ltm_error or health.ltm_version))
        rows.append(("breaker", "memory", _state(health.breaker), f"{health.faults} of {health.attempts} failed"))
    if found.telemetry is not None:
        rows.append(("store", "analytics", _state(found.telemetry.store), f"{found.telemetry.pending} events pending"))
    if found.recall is not None:
        kept = f"{found.recall.entries} originals, {found.recall.bytes / 1_000_000:.1f} MB"
        rows.append(("store", "recall", _state("ready"), kept))
    return table(("WHAT", "NAME", "STATE", "DETAIL"), rows)


def _detail(server: ServerState) -> str:
    parts = [server.error or _tools(server.exposed)]
    if server.breaker != "closed":
        parts.append(_resting(server))
    if server.replacement:
        parts.append(f"changed connection {server.replacement}")
    return ", ".join(parts)


def _resting(server: ServerState) -> str:
    when = (
        f"next try in {math.ceil(server.next_try_seconds)} s" if server.next_try_seconds else "the next call tries it"
    )
    return f"resting after {server.failures} failures, {when}"


def _tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"


def _state(state: str) -> Cell | str:
    return Cell(state, STATES[state]) if state in STATES else state


def _with(line: str, cause: str) -> str:
    return printable(f"{line}: {cause}" if cause else line)


def _data(catalogue: Catalogue | None, part: str) -> Any:
    return None if catalogue is None else msgspec.to_builtins(getattr(catalogue, part))


async def _ask(bus: Bus, request: Request[R]) -> R | None:
    try:
        return await bus.ask(request, timeout=ASK_SECONDS, wait=ASK_SECONDS / 5)
    except BusError:
        return None
