"""`mms tune`: what feedback and follow-up reads suggest to change, and `--apply` to change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from actors.tuner.messages import (
    AcceptRecommendation,
    Change,
    GetRecommendations,
    Recommendation,
    Recommendations,
)
from bus.client import Bus
from cli.asking import ASK_SECONDS, START_SECONDS, must_run, on_bus
from cli.context import current_place
from cli.number import Number
from cli.output import Answer, Failure, answers, count, table
from cli.tool_names import HELP, recorded
from config.edit import edit
from config.place import Place


@click.command("tune")
@click.option(
    "--since-hours",
    type=Number(0, 87_600),
    default=24.0,
    show_default=True,
    help="How far back feedback counts.",
)
@click.option("--tool", default=None, help=f"Only this tool ({HELP}).")
@click.option("--apply", is_flag=True, help="Carry the recommendations out.")
@answers
def tune(since_hours: float, tool: str | None, apply: bool) -> Answer:
    """What feedback suggests to change; --apply changes it.

    Only what is to be gained is recommended. Thresholds are taken over by the running tuner, all else is written to the
    configuration file.

    \b
    Example:
      mms tune --since-hours 168 --apply
    """
    place = current_place()
    must_run(place)
    named = tool if tool is None else recorded(place, tool)
    request = GetRecommendations(since_hours=since_hours, tool=named)
    found = on_bus(place, lambda bus: bus.ask(request, timeout=START_SECONDS, wait=START_SECONDS))
    if apply and found.items:
        _apply(place, found.items)
    return Answer(
        data={
            "since_hours": since_hours,
            "recommendations": msgspec.to_builtins(found.items),
            "considered": found.considered,
            "without_follow_ups": found.without_follow_ups,
            "applied": apply and bool(found.items),
        },
        text=_page(found),
        talk=_talk(found, apply),
    )


def _apply(place: Place, items: Sequence[Recommendation]) -> None:
    """Writes the configuration first: what cannot be written is not told to the tuner as done."""
    changes = [change for item in items for change in item.changes]
    if changes:
        edit(place, lambda document: _changed(document, changes))
    on_bus(place, lambda bus: _accept(bus, items))


async def _accept(bus: Bus, items: Sequence[Recommendation]) -> None:
    for item in items:
        done = AcceptRecommendation(server=item.server, tool=item.tool, about=item.about, min_score=item.min_score)
        await bus.ask(done, timeout=ASK_SECONDS, wait=ASK_SECONDS)


def _changed(document: dict[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """The document with the changes; blocks on the way are made where they are missing.

    Raises:
        Failure: something else than a block stands where one is needed.
    """
    for change in changes:
        *blocks, key = change.path
        here = document
        for name in blocks:
            here = here.setdefault(name, {})
            if not isinstance(here, dict):
                raise Failure("not_a_block", f"{'.'.join(blocks)} of the configuration is no block; mend {name} first")
        here[key] = change.value
    return document


def _page(found: Recommendations) -> str:
    rows = [(f"{item.server}__{item.tool}", item.what, item.why) for item in found.items]
    return table(("TOOL", "RECOMMENDATION", "WHY"), rows) if rows else ""


def _talk(found: Recommendations, apply: bool) -> str:
    lines = []
    if not found.items:
        lines.append(f"Nothing to gain; {count(found.considered, 'tool')} had feedback or shortened responses.")
    elif apply:
        lines.append(f"Carried out {len(found.items)}.")
    else:
        lines.append("`mms tune --apply` carries this out.")
    if found.without_follow_ups:
        lines.append("Telemetry did not answer, so follow-up reads were not looked at.")
    return "\n".join(lines)
