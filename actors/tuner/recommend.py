"""What a person could change per tool, and what it would gain. Pure rules over what was observed.

Nothing is recommended where nothing is to be gained: too few observations, a threshold that fits, a response budget
that agents rarely read beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from actors.tuner.messages import Change, Recommendation
from actors.tuner.store import Tool
from actors.tuner.thresholds import LOWER_ABOVE, RAISE_ABOVE, Step, Tally, step
from config.policy import CHARS_PER_TOKEN, ToolPolicy
from config.schema_surfacing import SurfacingSettings

MIN_RATINGS = 5
"""Ratings that make a recommendation; the tuner itself waits for `auto_tune_min_samples`."""
MIN_RESPONSES = 5
MIN_REPORTS = 3
OFTEN = 0.5
"""Share of shortened responses that were read on, above which the budget is too small."""
LARGEST_STEP = 3
"""A budget grows to three times its size at most in one step."""
ROUND_CHARS = 1_000


@dataclass(frozen=True)
class FollowUps:
    """How the shortened responses of one tool were read.

    Attributes:
        rate: share of them that were read on, 0 to 1.
        served_chars: code points served per response, first answer and follow-ups together, mean.
        total_chars: code points of the original, mean.
    """

    responses: int
    rate: float
    served_chars: float
    total_chars: float


@dataclass(frozen=True)
class Observed:
    """Everything known about one tool in the period.

    Attributes:
        ratings: those that no threshold has answered to yet.
        threshold: the one in force, relevance 0 to 1.
        pin: path of the configuration key that pins it; empty = not pinned.
        entry: path of the tool's `context_tools` entry, existing or to be made.
        reports: reports of lost information, by category.
        policy: budgets in force; `budget` is the path of the tool's own keys.
    """

    tool: Tool
    ratings: Tally = Tally(0, 0, 0)
    threshold: float = 0.0
    pin: tuple[str, ...] = ()
    entry: tuple[str, ...] = ()
    reports: Mapping[str, int] = field(default_factory=dict)
    follow_ups: FollowUps | None = None
    policy: ToolPolicy = ToolPolicy()
    budget: tuple[str, ...] = ()


def recommend(observed: Sequence[Observed], settings: SurfacingSettings) -> tuple[Recommendation, ...]:
    """The recommendations, tool by tool in the order given."""
    return tuple(
        found
        for one in observed
        for found in (_threshold(one, settings), _budget(one))
        if found is not None
    )


def _threshold(one: Observed, settings: SurfacingSettings) -> Recommendation | None:
    ratings = one.ratings
    if ratings.total < MIN_RATINGS:
        return None
    taken = step(one.tool.key, one.threshold, ratings, settings, over=one.tool.key)
    if taken is None:
        return _silence(one, settings)
    what = f"{'raise' if taken.new > taken.old else 'lower'} min_score {taken.old:g} → {taken.new:g}"
    if one.pin:
        change = Change(path=one.pin, value=taken.new)
        return _made(one, what, f"{taken.reason}; the threshold is pinned", changes=(change,))
    return _made(one, what, f"{taken.reason}; {_by_itself(taken, ratings, settings)}", min_score=taken.new)


def _by_itself(taken: Step, ratings: Tally, settings: SurfacingSettings) -> str:
    if not settings.auto_tune_enabled:
        return "auto-tuning is off"
    left = max(1, settings.auto_tune_min_samples - ratings.total)
    return f"happens by itself after {left} more ratings like these"


def _silence(one: Observed, settings: SurfacingSettings) -> Recommendation | None:
    """A tool whose memories stay unwanted although its threshold cannot rise any more."""
    ratings = one.ratings
    at_ceiling = one.threshold >= settings.auto_tune_score_ceiling
    if not at_ceiling or ratings.negative <= RAISE_ABOVE * ratings.total:
        return None
    why = f"{ratings.negative} of {ratings.total} ratings negative with min_score at its ceiling ({one.threshold:g})"
    change = Change(path=(*one.entry, "enabled"), value=False)
    return _made(one, "stop surfacing for this tool", why, changes=(change,))


def _budget(one: Observed) -> Recommendation | None:
    """A response budget that agents regularly read beyond, or that loses what they need."""
    reasons = list(_too_small(one))
    if not reasons:
        return None
    current = one.policy.max_chars
    found = one.follow_ups
    wanted = found.served_chars if found is not None and found.responses >= MIN_RESPONSES else 2.0 * current
    new = min(max(_rounded(wanted), current + ROUND_CHARS), LARGEST_STEP * current)
    changes = [Change(path=(*one.budget, "max_result_chars"), value=new)]
    tokens = ceil(new / CHARS_PER_TOKEN)
    if one.policy.max_tokens < tokens:
        changes.append(Change(path=(*one.budget, "max_result_tokens"), value=tokens))
    what = f"raise max_result_chars {current:,} → {new:,}"
    return _made(one, what, "; ".join(reasons), changes=tuple(changes))


def _too_small(one: Observed) -> Iterator[str]:
    found = one.follow_ups
    if found is not None and found.responses >= MIN_RESPONSES and found.rate > OFTEN:
        yield (
            f"{found.rate:.0%} of {found.responses} shortened responses were read on, "
            f"{found.served_chars:,.0f} of {found.total_chars:,.0f} characters each on average"
        )
    reports = sum(one.reports.values())
    if reports >= MIN_REPORTS:
        kinds = ", ".join(f"{category} {count}" for category, count in sorted(one.reports.items()))
        yield f"{reports} reports of lost information ({kinds})"


def _rounded(chars: float) -> int:
    return ceil(chars / ROUND_CHARS) * ROUND_CHARS


def _made(
    one: Observed, what: str, why: str, *, changes: tuple[Change, ...] = (), min_score: float | None = None
) -> Recommendation:
    return Recommendation(
        server=one.tool.server, tool=one.tool.tool, what=what, why=why, changes=changes, min_score=min_score
    )
