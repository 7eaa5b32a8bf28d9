"""What selection logs say: how good the rankings were, and how far the logs can be relied on. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from actors.telemetry.messages import ExecutionEvent, SelectionEvent, SelectionLabel

TOP = 5

_decoder = msgspec.json.Decoder(SelectionEvent | ExecutionEvent | SelectionLabel)


@dataclass
class Cohort:
    """The selections of one ranker version.

    Attributes:
        ranked: those with a ranking; first / top: of them, with the called tool first or among the first `TOP`.
        reciprocal: sum of 1 / rank of the called tool; 0 where it was not ranked.
        executions / ok: of these selections, how many calls were recorded, and went well.
        labelled / corrected: selections that an operator has looked at, and found wrong; the last word counts.
    """

    selections: int = 0
    ranked: int = 0
    first: int = 0
    top: int = 0
    reciprocal: float = 0.0
    executions: int = 0
    ok: int = 0
    labelled: int = 0
    corrected: int = 0


@dataclass
class Quality:
    """What stands in the way of an evaluation.

    Attributes:
        lines: that are not blank. unreadable: of them, no events. torn: last lines that a crash cut off.
        repeated: events that were there already, by their ids.
        without_execution / without_selection: halves of pairs whose other half is in none of the logs.
        labels_without_selection: labels of selections that are in none of the logs.
        not_advertised: selections of a tool that is not among their candidates.
        contradictory: executions and labels that name another tool or ranker than their selection does.
    """

    lines: int = 0
    unreadable: int = 0
    torn: int = 0
    repeated: int = 0
    without_execution: int = 0
    without_selection: int = 0
    labels_without_selection: int = 0
    not_advertised: int = 0
    contradictory: int = 0


@dataclass
class Replay:
    """Quality of the logs, and the cohorts by ranker version."""

    quality: Quality = field(default_factory=Quality)
    rankers: dict[str, Cohort] = field(default_factory=dict)


@dataclass
class _Joined:
    """What the logs hold about one selection."""

    ranker: str
    tool: str
    execution: bool = False


def replay(logs: Iterable[Iterable[bytes]]) -> Replay:
    """Joins selections, executions and labels over all logs, whatever their order.

    Args:
        logs: the lines of each.
    """
    quality = Quality()
    seen: set[str] = set()
    selections: list[SelectionEvent] = []
    later: list[ExecutionEvent | SelectionLabel] = []
    for log in logs:
        for line in log:
            event = _event(line, quality)
            if event is None:
                continue
            if event.event_id in seen:
                quality.repeated += 1
                continue
            seen.add(event.event_id)
            if isinstance(event, SelectionEvent):
                selections.append(event)
            else:
                later.append(event)
    return _joined(selections, later, quality)


def _event(line: bytes, quality: Quality) -> Any:
    if not line.strip():
        return None
    quality.lines += 1
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        quality.unreadable += line.endswith(b"\n")
        quality.torn += not line.endswith(b"\n")
        return None


def _joined(selections: list[SelectionEvent], later: list[ExecutionEvent | SelectionLabel], quality: Quality) -> Replay:
    cohorts: dict[str, Cohort] = defaultdict(Cohort)
    known: dict[str, _Joined] = {}
    for selection in selections:
        known[selection.selection_id] = _Joined(selection.ranker_version, selection.selected_tool)
        quality.not_advertised += selection.selected_tool not in selection.candidate_tools
        _add(cohorts[selection.ranker_version], selection)
    verdicts: dict[str, bool] = {}
    for event in later:
        own = known.get(event.selection_id)
        if isinstance(event, SelectionLabel):
            if own is None:
                quality.labels_without_selection += 1
                continue
            quality.contradictory += event.ranker_version != own.ranker
            verdicts[event.selection_id] = event.user_corrected or event.operator_override
        elif own is None:
            quality.without_selection += 1
        else:
            quality.contradictory += event.selected_tool != own.tool
            own.execution = True
            cohorts[own.ranker].executions += 1
            cohorts[own.ranker].ok += event.ok
    for selection_id, wrong in verdicts.items():
        cohort = cohorts[known[selection_id].ranker]
        cohort.labelled += 1
        cohort.corrected += wrong
    quality.without_execution = sum(not one.execution for one in known.values())
    return Replay(quality, dict(sorted(cohorts.items())))


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
