"""`mms selection`: how well tools were chosen, from the opt-in selection log; and an operator's word on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import msgspec

from actors.telemetry.messages import LabelSelection
from cli.asking import ASK_SECONDS, must_run, on_bus
from cli.context import current_place, usable_settings
from cli.output import Answer, Failure, answers, table
from cli.selection_replay import TOP, Quality, replay
from config.load import load_settings
from config.place import Place


@click.group()
def selection() -> None:
    """Which tools were chosen among which: evaluate and label.

    The log is written while `selection_telemetry.enabled` is true.

    \b
    Example:
      mms selection replay
    """


@selection.command("replay")
@click.option(
    "--log", "logs", type=click.Path(path_type=Path), multiple=True, help="Only this log; may be given several times."
)
@answers
def replay_logs(logs: tuple[Path, ...]) -> Answer:
    """Evaluate the recorded rankings: was the tool that was called at the top?

    Reads the log and the rotated ones, joins selections, calls and labels over all of them, and says how complete they
    are.

    \b
    Examples:
      mms selection replay
      mms selection replay --json --log ~/.memtomem/bus/selection_log.jsonl.1
    """
    place = current_place()
    active = _path(place)
    paths = list(logs) or _all(active)
    if not paths:
        on = load_settings(place).settings.proxy.selection_telemetry.enabled
        fix = "the first call of an MCP client makes it" if on else "set selection_telemetry.enabled to true"
        raise Failure("no_data", f"there is no selection log {active}; {fix}")
    with ExitStack() as opened:
        try:
            found = replay([opened.enter_context(path.open("rb")) for path in paths])
        except OSError as error:
            raise Failure("no_data", f"cannot read {error.filename}: {error.strerror}") from None
    rows = [
        (
            name,
            cohort.selections,
            cohort.ranked,
            _percent(cohort.first, cohort.ranked),
            _percent(cohort.top, cohort.ranked),
            f"{cohort.reciprocal / cohort.ranked:.2f}" if cohort.ranked else "",
            _percent(cohort.ok, cohort.executions),
            cohort.labelled,
            cohort.corrected,
        )
        for name, cohort in found.rankers.items()
    ]
    headings = ("RANKER", "SELECTIONS", "RANKED", "FIRST", f"TOP {TOP}", "MRR", "OK", "LABELLED", "CORRECTED")
    return Answer(
        data={"logs": [str(path) for path in paths], **msgspec.to_builtins(found)},
        text=table(headings, rows) if rows else "",
        talk="\n".join([*_remarks(found.quality, len(paths)), *(() if rows else ("They hold no selections.",))]),
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


def _remarks(quality: Quality, logs: int) -> Iterator[str]:
    """What a reader of the figures has to know about the logs."""
    yield f"{quality.lines} lines in {logs} log{'' if logs == 1 else 's'}"
    remarks = {
        "no events": quality.unreadable,
        "cut off by a crash": quality.torn,
        "repeated": quality.repeated,
        "selections without the call": quality.without_execution,
        "calls without the selection": quality.without_selection,
        "labels without the selection": quality.labels_without_selection,
        "selections of a tool that was not advertised": quality.not_advertised,
        "events that contradict their selection": quality.contradictory,
    }
    yield from (f"{count} {what}" for what, count in remarks.items() if count)


def _all(active: Path) -> list[Path]:
    """The log and the rotated ones, oldest first."""
    found = [
        (int(path.suffix[1:]), path) for path in active.parent.glob(f"{active.name}.*") if path.suffix[1:].isdigit()
    ]
    rotated = [path for _, path in sorted(found, reverse=True)]
    return [*rotated, active] if active.exists() else rotated


def _path(place: Place) -> Path:
    stated = usable_settings(place).settings.proxy.selection_telemetry.path
    return Path(stated).expanduser() if stated else place.state / "selection_log.jsonl"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""
