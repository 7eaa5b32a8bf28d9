"""`mms selection`: how well tools were chosen, from the opt-in selection log; and an operator's word on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from actors.telemetry.messages import ExecutionEvent, LabelSelection, SelectionEvent, SelectionLabel
from cli.asking import ASK_SECONDS, must_run, on_bus
from cli.context import current_place, usable_settings
from cli.output import Answer, Failure, answers, table
from config.place import Place

TOP = 5

_decoder = msgspec.json.Decoder(SelectionEvent | ExecutionEvent | SelectionLabel)


@click.group()
def selection() -> None:
    """Which tools were chosen among which: evaluate and label.

    The log is written while `selection_telemetry.enabled` is true.

    \b
    Example:
      mms selection replay
    """


@selection.command()
@click.option("--log", type=click.Path(path_type=Path), help="Another log, a rotated one say.")
@answers
def replay(log: Path | None) -> Answer:
    """Evaluate the recorded rankings: was the tool that was called at the top?

    \b
    Example:
      mms selection replay --log ~/.memtomem/bus/selection_log.jsonl.1
    """
    place = current_place()
    path = log or _path(place)
    try:
        with path.open("rb") as lines:
            cohorts = evaluate(lines)
    except FileNotFoundError:
        raise Failure("no_data", f"there is no selection log {path}; set selection_telemetry.enabled to true") from None
    rows = [
        (
            name,
            cohort.selections,
            cohort.ranked,
            _percent(cohort.first, cohort.ranked),
            _percent(cohort.top, cohort.ranked),
            f"{cohort.reciprocal / cohort.ranked:.2f}" if cohort.ranked else "",
            _percent(cohort.ok, cohort.executions),
            cohort.corrected,
        )
        for name, cohort in sorted(cohorts.items())
    ]
    headings = ("RANKER", "SELECTIONS", "RANKED", "FIRST", f"TOP {TOP}", "MRR", "OK", "CORRECTED")
    return Answer(
        data={"log": str(path), "rankers": msgspec.to_builtins(cohorts)},
        text=table(headings, rows) if rows else "",
        talk="" if rows else f"{path} holds no selections.",
    )


@selection.command()
@click.argument("selection_id")
@click.option("--user-corrected", is_flag=True, help="The user had to correct the choice.")
@click.option("--operator-override", is_flag=True, help="You would have chosen another tool.")
@answers
def feedback(selection_id: str, user_corrected: bool, operator_override: bool) -> Answer:
    """Label a selection; without an option: it was right.

    \b
    Example:
      mms selection feedback 3f9c2a17be04d581 --user-corrected
    """
    place = current_place()
    must_run(place)
    request = LabelSelection(
        selection_id=selection_id, user_corrected=user_corrected, operator_override=operator_override
    )
    on_bus(place, lambda bus: bus.ask(request, timeout=ASK_SECONDS, wait=ASK_SECONDS))
    return Answer(data={"selection_id": selection_id}, talk=f"labelled {selection_id}")


@dataclass
class Cohort:
    """The selections of one ranker version.

    Attributes:
        ranked: those with a ranking; first / top: of them, with the called tool first or among the first `TOP`.
        reciprocal: sum of 1 / rank of the called tool; 0 where it was not ranked.
        ok / executions: how the calls ended. corrected: labels that say that the choice was wrong.
    """

    selections: int = 0
    ranked: int = 0
    first: int = 0
    top: int = 0
    reciprocal: float = 0.0
    executions: int = 0
    ok: int = 0
    corrected: int = 0


def evaluate(lines: Iterable[bytes]) -> dict[str, Cohort]:
    """Sums per ranker version; lines that are no events are skipped."""
    cohorts: dict[str, Cohort] = defaultdict(Cohort)
    rankers: dict[str, str] = {}
    for line in lines:
        try:
            event: Any = _decoder.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            continue
        if isinstance(event, SelectionEvent):
            rankers[event.selection_id] = event.ranker_version
            _add(cohorts[event.ranker_version], event)
        elif isinstance(event, SelectionLabel):
            cohorts[event.ranker_version].corrected += event.user_corrected or event.operator_override
        elif event.selection_id in rankers:
            cohort = cohorts[rankers[event.selection_id]]
            cohort.executions += 1
            cohort.ok += event.ok
    return dict(cohorts)


def _add(cohort: Cohort, event: SelectionEvent) -> None:
    cohort.selections += 1
    if event.candidate_features is None:
        return
    cohort.ranked += 1
    rank = event.candidate_features.get(event.selected_tool, {}).get("rank", 0.0)
    if rank > 0:
        cohort.first += rank == 1
        cohort.top += rank <= TOP
        cohort.reciprocal += 1 / rank


def _path(place: Place) -> Path:
    stated = usable_settings(place).settings.proxy.selection_telemetry.path
    return Path(stated).expanduser() if stated else place.state / "selection_log.jsonl"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
