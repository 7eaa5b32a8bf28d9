"""What follows from a rating: it is stored, thresholds answer to it, memories are to be boosted; in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from actors.tuner.messages import Tuning
from actors.tuner.store import ALL_TOOLS, FeedbackStore, Tool
from actors.tuner.thresholds import Step, Tally, step
from config.schema_surfacing import SurfacingSettings


@dataclass(frozen=True)
class Outcome:
    """What a rating changed.

    Attributes:
        changed: memories with a new or another rating.
        boosts: memories to boost in the LTM, each once per event.
        steps: thresholds that moved.
    """

    changed: list[str]
    boosts: tuple[str, ...]
    steps: list[Step]


def rate(
    store: FeedbackStore,
    surfacing_id: str,
    tool: Tool,
    ratings: Mapping[str, str],
    settings: SurfacingSettings,
    pinned: Callable[[Tool], bool],
) -> Outcome:
    """Stores the ratings of one surfacing event and everything that follows.

    Args:
        ratings: memory id → rating.
        pinned: whether a tool's threshold is pinned and therefore never tuned.
    """
    changed = store.rate(surfacing_id, tool, ratings)
    if not changed:
        return Outcome([], (), [])
    steps = _judge(store, tool, settings, pinned) if settings.auto_tune_enabled else []
    for taken in steps:
        store.set_threshold(taken.tool, taken.new)
    return Outcome(changed, store.take_boosts(surfacing_id), steps)


def tuning(store: FeedbackStore, settings: SurfacingSettings) -> Tuning:
    """The present tuning, as watchers get it."""
    threshold = settings.feedback_demotion_negative_threshold
    return Tuning(
        min_scores=store.thresholds(),
        demoted=store.demoted(threshold) if settings.feedback_demotion_enabled else (),
        invalidated=store.negatives(),
    )


def _judge(store: FeedbackStore, tool: Tool, settings: SurfacingSettings, pinned: Callable[[Tool], bool]) -> list[Step]:
    """Judges the blocks that are full; see `thresholds`."""
    enough = settings.auto_tune_min_samples
    tuned, rated = store.thresholds(), store.rated_tools()
    steps: list[Step | None] = []

    def judge(which: Tool, tally: Tally, over: str) -> None:
        if not pinned(which):
            steps.append(step(which.key, tuned.get(which.key, settings.min_score), tally, settings, over=over))
        store.close_block(which)

    own, everyone = store.block(tool), store.block(ALL_TOOLS)
    if rated.get(tool, 0) >= enough and own.total >= enough:
        judge(tool, own, tool.key)
    if everyone.total >= enough:
        for cold in (name for name, count in rated.items() if count < enough and store.block(name).total):
            judge(cold, everyone, "all tools")
        store.close_block(ALL_TOOLS)
    return [taken for taken in steps if taken is not None]
