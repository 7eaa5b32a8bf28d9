"""`mms hook`: what a host runs after each of its own tools. Memories that fit go to the agent; nothing else happens.

It always ends with 0, within its budget, and silently when there is nothing to say. Every import here is an agent's
waiting time: the whole configuration is read only when no cluster runs or this environment has wishes of its own.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple

from bus.lock import owner_of
from cli.hook_event import CONTEXT_CHARS, SERVER, Event, answer, read_event, shell_output, wants
from config.hook_brief import BUDGET_SECONDS, FILE, HOST_CONTEXT_CHARS, HookBrief, brief_of, parse
from config.place import CONFIG_VARIABLE, HOME_VARIABLES, Place

if TYPE_CHECKING:
    from actors.compressor.messages import Compress, Compressed
    from actors.surfacer.messages import Surfaced

MAX_EVENT_BYTES = 8 * 1024 * 1024
"""A larger event is read to its end, so that the host can finish, and left alone."""
CHUNK_BYTES = 1 << 20
START_PAUSE_SECONDS = 30.0
"""Between two attempts to start a cluster: one that cannot run must not be tried at every tool call."""
STARTED = "hook.started"
LONGEST_NOTE = 300
PATIENCE_MS = 500
"""An unasked search may take so long of an agent's time; it goes on for the next event with the same question."""
WRITE_SECONDS = 1.0
RECORD_SECONDS = 0.2
_ADMIN = ("install", "uninstall", "status", "-h", "--help")
_PREFIX = "MEMTOMEM_STM_"
_CLUSTERS = (*HOME_VARIABLES, CONFIG_VARIABLE)


class Wishes(NamedTuple):
    """What is to hold for this event: the configuration's brief, and what this environment wants for itself.

    Attributes:
        surface: memories are wanted at all.
        max_results: 0 = as configured.
    """

    brief: HookBrief
    surface: bool = True
    max_results: int = 0


def is_event_call(argv: list[str]) -> bool:
    """Whether a host runs the hook: there is no subcommand and no call for help."""
    return not any(word in _ADMIN for word in argv)


def run(argv: list[str]) -> int:
    """Handles the event on stdin and ends the process with 0, whatever happens."""
    began = time.monotonic()
    signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, BUDGET_SECONDS)
    place = None
    try:
        try:
            place = Place.from_environment()
            _handle(place, _host(argv), began)
        except Exception as error:
            _note(place, error)
    finally:
        # Whatever it was, the agent's work goes on. And the interpreter's clean-up would cost as much as the question.
        os._exit(0)


def _handle(place: Place, host: str, began: float) -> None:
    event = read_event(_stdin(), host, os.environ.get("HOME", ""))
    if event is None:
        return
    if not owner_of(place.locks / "surfacer.lock"):
        _start_cluster(place, event)
        return
    wishes = _wishes(place)
    brief = wishes.brief
    left = began + brief.budget_seconds - time.monotonic()
    if left <= 0:
        return
    signal.setitimer(signal.ITIMER_REAL, left)
    output = shell_output(event, brief.max_chars) if brief.compress else None
    surface = wishes.surface and wants(brief.tools, event.tool)
    if surface or output:
        _ask(place, event, wishes, output, surface=surface, deadline=began + brief.budget_seconds)


def _ask(
    place: Place, event: Event, wishes: Wishes, output: tuple[str, str] | None, *, surface: bool, deadline: float
) -> None:
    from actors.surfacer.messages import Surface
    from bus.endpoint import Runtime
    from bus.message import Blob
    from cli.hook_bus import ask_all

    brief, trace_id = wishes.brief, os.urandom(8).hex()
    most = min(brief.max_injection_chars, CONTEXT_CHARS.get(event.host, brief.max_injection_chars))
    asked: list[Surface | Compress] = []
    if surface:
        asked.append(
            Surface(
                server=SERVER,
                tool=event.tool,
                advertised=event.tool,
                arguments=Blob(event.arguments),
                response_chars=event.response_chars,
                session=event.session,
                trace_id=trace_id,
                max_injection_chars=most,
                max_results=wishes.max_results,
                holdout=True,
                patience_ms=PATIENCE_MS,
            )
        )
    if output:
        from actors.compressor.messages import Compress, Policy

        policy = Policy(max_chars=brief.max_chars, max_tokens=brief.max_chars, retention_floor=brief.min_retention)
        texts = tuple(map(Blob.of, output))
        asked.append(Compress(server=SERVER, tool=event.tool, texts=texts, policy=policy, trace_id=trace_id))
    runtime = Runtime(place.runtime)
    replies = ask_all(runtime, asked, deadline, trace_id)
    surfaced: Surfaced | None = replies[0] if surface else None
    compressed: Compressed | None = replies[-1] if output else None
    replaced = _replaced(output, compressed)
    block = surfaced.block.text if surfaced is not None and surfaced.block is not None else None
    _say(answer(event, block, replaced))
    if replaced is not None and compressed is not None:
        from cli.hook_record import records

        reason = "" if not surface else "timeout" if surfaced is None else surfaced.reason or "surfaced"
        began = deadline - brief.budget_seconds
        lines = records(event, compressed, surfacing=reason, memories=block or "", trace_id=trace_id, began=began)
        ask_all(runtime, [lines], min(deadline, time.monotonic() + RECORD_SECONDS), trace_id)


def _replaced(output: tuple[str, str] | None, compressed: Compressed | None) -> tuple[str, str] | None:
    """What stands in the output's place; `None` when it stays as it is."""
    if output is None or compressed is None or not any(compressed.texts):
        return None
    out, err = (old if new is None else new.text for old, new in zip(output, compressed.texts, strict=True))
    return out, err


def _wishes(place: Place) -> Wishes:
    # A session's own settings have other names than where the cluster is and what holds for all hooks.
    own = [n for n in os.environ if n.startswith(_PREFIX) and n not in _CLUSTERS and not n.startswith(_PREFIX + "HOOK")]
    if not own:
        try:
            brief = parse((place.locks / FILE).read_text())
        except OSError:
            brief = None
        if brief is not None:
            return Wishes(brief)
    from config.load import load_settings
    from config.policy import injection_policy
    from config.session import SessionSettings

    settings, session = load_settings(place).settings, SessionSettings.from_environment(os.environ)
    injection = injection_policy(settings, session)
    brief = brief_of(settings)
    return Wishes(
        brief._replace(max_injection_chars=min(injection.max_chars, HOST_CONTEXT_CHARS)),
        surface=session.surfacing_enabled is not False,
        max_results=injection.max_results,
    )


def _start_cluster(place: Place, event: Event) -> None:
    """Starts a cluster for events like this one, if none runs or starts."""
    from cli.cluster import ensure_cluster, is_running
    from config.load import load_settings

    if is_running(place):
        return
    brief = brief_of(load_settings(place).settings)
    if not brief.auto_spawn or not (wants(brief.tools, event.tool) or brief.compress):
        return
    stamp = place.locks / STARTED
    try:
        if abs(time.time() - stamp.stat().st_mtime) < START_PAUSE_SECONDS:
            return
    except OSError:
        pass
    place.prepare()
    stamp.touch(mode=0o600)
    ensure_cluster(place)


def _stdin() -> bytes:
    """All of stdin.

    Raises:
        ValueError: it is too much.
    """
    data = bytearray()
    while chunk := os.read(0, CHUNK_BYTES):
        if len(data) <= MAX_EVENT_BYTES:
            data += chunk
    if len(data) > MAX_EVENT_BYTES:
        raise ValueError(f"an event of over {MAX_EVENT_BYTES} bytes was left alone; narrow the hook's matcher")
    return bytes(data)


def _say(data: bytes) -> None:
    # Half an answer would be worse than none, so it may take longer than the budget, if somebody reads at all.
    signal.setitimer(signal.ITIMER_REAL, WRITE_SECONDS)
    while data:
        data = data[os.write(1, data) :]


def _host(argv: list[str]) -> str:
    """The host that the command line names; empty where it names none. Everything else there is ignored: a wrong word
    must not cost a tool call."""
    words = [part for word in argv for part in word.split("=", 1)]
    name = words[words.index("--host") + 1] if "--host" in words[:-1] else ""
    return "" if name == "auto" else name


def _give_up(number: int, frame: FrameType | None) -> None:
    os._exit(0)


def _note(place: Place | None, error: Exception) -> None:
    """Writes down what went wrong, for `mms logs hook`; a closed stdin or stdout is nothing to report."""
    is_closed = isinstance(error, OSError) and error.errno in (errno.EBADF, errno.EPIPE)
    if place is None or is_closed or not place.logs.is_dir():
        return
    from bus.log import Log

    Log("hook", place.logs).error("hook_failed", error=f"{type(error).__name__}: {error}"[:LONGEST_NOTE])
