"""`mms up`, `down`, `restart` and `ps`: the background cluster."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time

import click
import msgspec

from bus.client import Bus
from bus.errors import BusError
from bus.replicas import actor_of
from bus.supervision import GetCluster, Pin, RestartChild
from cli.asking import must_run, on_bus
from cli.cluster import ensure_cluster, outlast_stopping, start_failure, stop_cluster, supervisor_pid, unsupervised
from cli.context import current_place
from cli.output import Answer, Cell, Failure, answers, printable, table, talk
from cli.survey import Line, Survey, survey
from config.place import Place

READY_SECONDS = 60.0
ANSWER_SECONDS = 5.0
SILENT_SECONDS = 1.0
"""Waiting that takes longer than this is said."""
POLL_SECONDS = 0.05
FIRST = "-1"
"""Ends the name that means the first replica alone."""
_HONCHO = re.compile(r"(?:^|[\s/])honcho(?:\s|$)")


@click.command()
@click.option("--wait/--no-wait", default=True, help="Wait until every actor is ready (default).")
@answers
def up(wait: bool) -> Answer:
    """Start the background cluster and wait until it is ready.

    It stays until `mms down`. A cluster that a gateway has started for itself is kept instead of started anew.

    \b
    Example:
      mms up
    """
    place = current_place()
    _not_in_the_foreground(place)
    outlast_stopping(place)
    if supervisor_pid(place):
        on_bus(place, _keep)
    else:
        ensure_cluster(place, mode="pinned")
    if not wait:
        return Answer(talk="The cluster starts; `mms ps` shows how far it is.")
    found = on_bus(place, lambda bus: _until_settled(place, bus))
    if found.mode == "private":
        raise _private(place)
    return _report(found)


@click.command()
@answers
def down() -> Answer:
    """Stop the background cluster.

    Work in flight is finished within a bound. Gateways that are still open start a new cluster when they need one.

    \b
    Example:
      mms down
    """
    place = current_place()
    _not_in_the_foreground(place)
    stopped = stop_cluster(place)
    return Answer(data={"stopped": stopped}, talk="Stopped." if stopped else "No cluster runs.")


@click.command()
@click.argument("actor", required=False)
@answers
def restart(actor: str | None) -> Answer:
    """Restart one actor, or the whole cluster.

    Also brings back an actor that is down because it failed too often (otherwise tried again once a minute). Where an
    actor has replicas, its name means all of them, one after the other, so that the others go on serving;
    `compressor-1`, `compressor-2`, … mean one.

    \b
    Examples:
      mms restart surfacer
      mms restart compressor-2
    """
    place = current_place()
    _not_in_the_foreground(place)
    must_run(place)
    if actor is not None:
        pids = on_bus(place, lambda bus: _restarted(bus, actor))
        said = "\n".join(f"{name} is ready (process {pid})." for name, pid in pids.items())
        return Answer(data={"actor": actor, "pid": next(iter(pids.values())), "pids": pids}, talk=said)
    try:
        mode: str = on_bus(place, lambda bus: bus.ask(GetCluster(), timeout=ANSWER_SECONDS)).mode
    except BusError:  # it hangs, or speaks another wire version: all the more reason
        mode = "pinned"
    if mode == "private":
        raise _private(place)
    stop_cluster(place)
    ensure_cluster(place, mode=mode)
    return _report(on_bus(place, lambda bus: _until_settled(place, bus)))


@click.command()
@answers
def ps() -> Answer:
    """One line per actor.

    Exit code 1 when an actor is down or nothing runs. BUSY is the number of messages at work, and how many wait.

    \b
    Example:
      mms ps
    """
    place = current_place()
    must_run(place)
    return _report(on_bus(place, lambda bus: survey(place, bus)))


def _report(found: Survey) -> Answer:
    troubled = found.troubled
    notes = [_about(found)]
    notes += [f"{line.name}: {printable(line.last_exit)}" for line in troubled if line.last_exit]
    if any(line.state == "down" for line in troubled):
        notes.append("What is down is tried again every minute; `mms restart ACTOR` tries at once.")
    if found.other_builds:
        names = ", ".join(line.name for line in found.other_builds)
        notes.append(f"Other code than this command's runs in {names}; `mms restart` brings it up to date.")
    return Answer(
        data=msgspec.to_builtins(found),
        text=_table(found.actors),
        talk="\n".join(note for note in notes if note),
        exit_code=1 if troubled else 0,
        error="actor_down" if troubled else "",
        message="; ".join(f"{line.name} is {line.state}" for line in troubled),
    )


def _table(lines: tuple[Line, ...]) -> str:
    headings = ("ACTOR", "PID", "STATE", "UPTIME", "RESTARTS", "BUSY", "MEMORY", "BUILD")
    return table(headings, [_row(line) for line in lines])


def _row(line: Line) -> tuple[object, ...]:
    busy = "" if line.running is None else f"{line.running}+{line.waiting}"
    memory = "" if line.rss_bytes is None else f"{line.rss_bytes / 1_000_000:.0f} MB"
    return (
        line.name,
        line.pid or "",
        Cell(line.state, "good" if line.state == "ready" else "bad" if line.state == "down" else "warning"),
        "" if line.uptime_seconds is None else duration(line.uptime_seconds),
        line.restarts,
        busy,
        memory,
        line.build,
    )


def duration(seconds: float) -> str:
    """A length of time in its two largest units: `3d 4h`, `5m 2s`, `7s`."""
    left = int(seconds)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


def _about(found: Survey) -> str:
    clients = f"{found.holders} client{'' if found.holders == 1 else 's'}"
    if found.mode == "foreground":
        return "The actors run in the foreground, without a supervisor."
    if found.mode == "private":
        return "This cluster belongs to one gateway and ends with it."
    if found.mode == "pinned":
        return f"The cluster stays until `mms down`; {clients}."
    if found.idle_exit_seconds is not None:
        return f"Nobody uses the cluster; it ends in {duration(found.idle_exit_seconds)}. `mms up` keeps it."
    return f"A background cluster; {clients}." if found.mode else ""


async def _restarted(bus: Bus, actor: str) -> dict[str, int]:
    """Restarts what a name means: name → new process id."""
    children = (await bus.ask(GetCluster(), timeout=ANSWER_SECONDS)).children
    group = [child.name for child in children if actor_of(child.name) == actor] or [actor]
    if len(group) == 1 and actor.endswith(FIRST) and (name := actor.removesuffix(FIRST)) in (c.name for c in children):
        group = [name]
    return {name: (await bus.ask(RestartChild(name=name), timeout=READY_SECONDS)).pid for name in group}


async def _keep(bus: Bus) -> None:
    await bus.tell(Pin(), timeout=READY_SECONDS)


async def _until_settled(place: Place, bus: Bus) -> Survey:
    """The state once every actor is ready, or down for good."""
    start = time.monotonic()
    said = False
    while True:
        found = await survey(place, bus)
        waiting = [line.name for line in found.actors if line.state not in ("ready", "down")]
        if found.actors and not waiting and found.mode:
            return found
        if not supervisor_pid(place):
            raise Failure("start_failed", f"the supervisor has ended: {start_failure(place)}")
        elapsed = time.monotonic() - start
        if elapsed > READY_SECONDS:
            raise Failure(
                "start_timeout",
                f"{', '.join(waiting) or 'the supervisor'}: not ready within {READY_SECONDS:g} s; see {place.logs}",
            )
        if elapsed > SILENT_SECONDS and not said:
            said = True
            talk(f"Waiting for {', '.join(waiting) or 'the supervisor'} …")
        await asyncio.sleep(POLL_SECONDS)


def _not_in_the_foreground(place: Place) -> None:
    actors = unsupervised(place)
    if not actors:
        return
    name, pid = next(iter(actors.items()))
    honcho = _honcho_above(pid)
    how = f"honcho runs them: stop it with Ctrl-C in its terminal or `kill {honcho}`" if honcho else f"`kill {pid}`"
    raise Failure("foreground", f"the actors run without a supervisor ({name} is process {pid}); {how}")


def _private(place: Place) -> Failure:
    parent, _ = _parent_of(supervisor_pid(place))
    message = f"the cluster of {place.home} belongs to one gateway (process {parent}) and ends with it"
    return Failure("private", message)


def _honcho_above(pid: int) -> int:
    """The topmost honcho process that `pid` descends from; 0 when there is none."""
    found = 0
    while True:
        pid, parents_command = _parent_of(pid)
        if not _HONCHO.search(parents_command):
            return found
        found = pid


def _parent_of(pid: int) -> tuple[int, str]:
    """The parent's process id and command; `(0, "")` when it cannot be told."""
    parent = _ps("ppid", pid)
    return (int(parent), _ps("command", int(parent))) if parent.isdigit() else (0, "")


def _ps(column: str, pid: int) -> str:
    try:
        found = subprocess.run(["ps", "-o", f"{column}=", "-p", str(pid)], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return found.stdout.strip()
