"""`mms health`: the live state of everything, and what is wrong with it."""

from __future__ import annotations

import asyncio
import math
from typing import Any, TypeVar

import click
import msgspec

from actors.compressor.messages import GetRecallStats, GetSummaryStats, RecallStats, SummaryStats
from actors.surfacer.messages import GetSurfacerHealth, SurfacerHealth
from actors.telemetry.messages import GetTelemetryHealth, TelemetryHealth
from actors.upstream.messages import Catalogue, GetServers, OwnServers, ServerState, ToolgraphState
from bus.aside import all_aside
from bus.client import Bus
from bus.errors import BusError
from bus.message import Reply, Request
from bus.replicas import actor_of
from cli.asking import must_run, on_bus
from cli.cluster import REPLICATED, running_names
from cli.context import as_data, current_place
from cli.export_state import export_notes, export_rows
from cli.output import Answer, Cell, Role, answers, count, printable, size, table
from cli.survey import Survey, survey
from config.load import load_settings
from config.place import Place
from config.problems import Problem

R = TypeVar("R", bound=Reply)

ASK_SECONDS = 5.0
STATES: dict[str, Role] = {
    "ready": "good",
    "failed": "bad",
    "down": "bad",
    "open": "bad",
    "disabled": "dim",
    "unreachable": "bad",
    "protocol error": "bad",
    "agent not found": "bad",
}


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. A part that did not answer is `None`; its actor then stands in `survey`.

    Attributes:
        set_aside: names of damaged files of any store that were kept under another name.
    """

    survey: Survey
    catalogue: Catalogue | None
    surfacer: SurfacerHealth | None
    telemetry: TelemetryHealth | None
    recall: RecallStats | None
    summaries: SummaryStats | None = None
    set_aside: tuple[str, ...] = ()


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
            "toolgraph": _data(found.catalogue, "toolgraph"),
            "surfacer": msgspec.to_builtins(found.surfacer),
            "telemetry": msgspec.to_builtins(found.telemetry),
            "recall": msgspec.to_builtins(found.recall),
            "summaries": msgspec.to_builtins(found.summaries),
            "set_aside": list(found.set_aside),
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
    compressors = [name for name in running_names(place) if actor_of(name) == REPLICATED]
    overview, catalogue, surfacer, telemetry, recall, summaries = await asyncio.gather(
        survey(place, bus),
        _ask(bus, GetServers()),
        _ask(bus, GetSurfacerHealth()),
        _ask(bus, GetTelemetryHealth()),
        _each(bus, GetRecallStats(), compressors),
        _each(bus, GetSummaryStats(), compressors),
    )
    return Health(
        survey=overview,
        catalogue=catalogue,
        surfacer=surfacer,
        telemetry=telemetry,
        recall=RecallStats.together(recall) if recall else None,
        summaries=SummaryStats.together(summaries) if summaries else None,
        set_aside=tuple(path.name for path in all_aside(place.state)),
    )


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
        for server in down:
            state = "down" if server.state == "failed" else server.state
            bad.append(_with(f"the upstream {server.name} is {state}", server.error))
        for server in found.catalogue.servers:
            if server.breaker != "closed":
                (bad if server.breaker == "open" else notes).append(f"the upstream {server.name} is {_resting(server)}")
            if server.replacement_error:
                what = f"the changed connection of the upstream {server.name} does not work, the old one stays in force"
                bad.append(_with(what, server.replacement_error))
            if server.own is not None and (server.own.down or server.own.resting):
                what = f"of the upstream {server.name}, the clients' own connections are not well: {_own(server.own)}"
                bad.append(_with(what, server.own.error))
        if found.catalogue.toolgraph is not None and found.catalogue.toolgraph.error:
            graph = found.catalogue.toolgraph
            line = _with(f"the tool-graph provider is {_words(graph.state)}", graph.error)
            (bad if graph.withholds_all else notes).append(line)
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
        notes += export_notes(found.telemetry.exports)
    notes += [f"a damaged file was set aside and made anew: {name}" for name in found.set_aside]
    fault = found.recall.key_fault if found.recall is not None else ""
    if fault and not any(name in fault for name in found.set_aside):
        notes.append(fault)
    if found.summaries is not None:
        rest = "rests after repeated failures; responses are shortened without it meanwhile"
        notes += [f"the model {model} {rest}" for model in found.summaries.resting]
    return bad, [printable(note.strip()) for note in notes]


def _page(found: Health) -> str:
    rows: list[tuple[object, ...]] = [
        ("actor", line.name, _state(line.state), line.last_exit if line.state != "ready" else "")
        for line in found.survey.actors
    ]
    if found.catalogue is not None:
        rows += [("upstream", server.name, _state(server.state), _detail(server)) for server in found.catalogue.servers]
        if found.catalogue.toolgraph is not None:
            graph = found.catalogue.toolgraph
            rows.append(("tool-graph", "provider", _state(_words(graph.state)), _graph(graph)))
    if found.surfacer is not None:
        health = found.surfacer
        rows.append(("ltm", health.ltm_kind or "memory", _state(health.ltm), health.ltm_error or _ltm(health)))
        rows.append(("breaker", "memory", _state(health.breaker), f"{health.faults} of {health.attempts} failed"))
    if found.telemetry is not None:
        rows.append(
            ("store", "analytics", _state(found.telemetry.store), f"{count(found.telemetry.pending, 'event')} pending")
        )
        rows += export_rows(found.telemetry.exports)
    if found.recall is not None:
        kept = f"{count(found.recall.entries, 'original')}, {size(found.recall.bytes)}"
        rows.append(("store", "recall", _state("ready"), kept))
    if found.summaries is not None and (found.summaries.made or found.summaries.fell_back):
        state = "open" if found.summaries.resting else "ready"
        rows.append(("llm", "summaries", _state(state), _told(found.summaries)))
    return table(("WHAT", "NAME", "STATE", "DETAIL"), rows)


def _ltm(health: SurfacerHealth) -> str:
    """What the LTM says of itself, and the floor on our own measure, which its scores do not touch."""
    floor = f"shown from relevance {health.min_score:g}"
    return ", ".join(part for part in (health.ltm_version, health.mode, floor) if part)


def _detail(server: ServerState) -> str:
    parts = [server.error or _tools(server.exposed)]
    if server.breaker != "closed":
        parts.append(_resting(server))
    if server.replacement:
        parts.append(f"changed connection {server.replacement}")
    if server.own is not None:
        parts.append(_own(server.own))
    return ", ".join(parts)


def _own(own: OwnServers) -> str:
    parts = ["1 client has its own" if own.running == 1 else f"{own.running} clients have their own"]
    parts += [f"{own.down} down"] if own.down else []
    parts += [f"{own.resting} resting"] if own.resting else []
    return ", ".join(parts)


def _graph(graph: ToolgraphState) -> str:
    if graph.graph_generation is None:
        if graph.state == "asking":
            return "tools are shown when it has answered"
        return "no tool is shown until it answers" if graph.withholds_all else "every tool is shown without its word"
    kept = ", kept from an earlier run" if graph.kept else ""
    return f"generation {graph.graph_generation}{kept}, {_tools(graph.rejected)} rejected"


def _words(state: str) -> str:
    return state.replace("_", " ")


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


def _told(summaries: SummaryStats) -> str:
    reasons = sorted(summaries.fell_back.items(), key=lambda item: (-item[1], item[0]))
    told = ", ".join(f"{count} × {reason}" for reason, count in reasons)
    return f"{summaries.made} made, {summaries.repeated} repeated" + (f"; without a model: {told}" if told else "")


async def _each(bus: Bus, request: Request[R], names: list[str]) -> list[R]:
    """The answers of the replicas that answer."""
    found = await asyncio.gather(*(_ask(bus, request, name) for name in names))
    return [part for part in found if part is not None]


async def _ask(bus: Bus, request: Request[R], actor: str = "") -> R | None:
    try:
        return await bus.ask(request, timeout=ASK_SECONDS, wait=ASK_SECONDS / 5, actor=actor)
    except BusError:
        return None
