"""When and how far ratings move a tool's relevance threshold. Pure rules, no store.

Ratings are judged in blocks. A tool's block begins after the last rating that was judged for it, and is judged as soon
as it holds `min_samples` ratings; judged means a step up, a step down or none, and the next block begins. So every
rating counts once, and between two steps of a tool there are always at least `min_samples` new ratings.

A tool with fewer than `min_samples` ratings in all is *cold*. It follows the blocks of all tools together: when such a
block is judged, every cold tool with ratings of its own since it was last judged takes the step, and its own block
begins anew. So a tool that nobody rates any more does not drift with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.schema_surfacing import SurfacingSettings

NEGATIVE = ("not_relevant", "already_known")
RAISE_ABOVE = 0.60
LOWER_ABOVE = 0.80


@dataclass(frozen=True)
class Tally:
    """Ratings of one block. Partially helpful ones count in `total` only."""

    helpful: int
    negative: int
    total: int


@dataclass(frozen=True)
class Step:
    """A change of one tool's threshold (relevance, 0 to 1) and why."""

    tool: str
    old: float
    new: float
    reason: str


def step(tool: str, current: float, tally: Tally, settings: SurfacingSettings, *, over: str) -> Step | None:
    """What a block of ratings does to a threshold; `None` when it stays.

    More than 60 % negative raises by the increment, more than 80 % helpful lowers by it, within floor and ceiling. A
    threshold that was configured outside of them is never moved the wrong way by the clamp.

    Args:
        over: whose ratings these are, for the reason.
    """
    increment = settings.auto_tune_score_increment
    if tally.negative > RAISE_ABOVE * tally.total:
        new = max(current, min(current + increment, settings.auto_tune_score_ceiling))
        share, what = tally.negative, "negative"
    elif tally.helpful > LOWER_ABOVE * tally.total:
        new = min(current, max(current - increment, settings.auto_tune_score_floor))
        share, what = tally.helpful, "helpful"
    else:
        return None
    new = round(new, 4)
    if new == current:
        return None
    reason = f"{share} of {tally.total} ratings of {over} {what} ({share / tally.total:.0%})"
    return Step(tool, current, new, reason)
