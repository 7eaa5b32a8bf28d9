"""What a person could change per tool, and what it would gain. Pure rules over what was observed.

Nothing is recommended where nothing is to be gained: too few observations, a threshold that fits, a response budget
that agents rarely read beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from actors.tuner.messages import Change, Recommendation, Subject
from actors.tuner.store import Tool
from actors.tuner.thresholds import RAISE_ABOVE, Tally, step
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
READ_ON_BY_DESIGN = ("progressive", "selective")
"""Strategies whose first answer is only a beginning: reading on says nothing about the budget."""


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
        policy: budgets in force.
        budget: path of the tool's own keys; empty = its server is not configured (any more).
    """

    tool: Tool
    ratings: Tally = field(default_factory=lambda: Tally(0, 0, 0))
    threshold: float = 0.0
    pin: tuple[str, ...] = ()
    entry: tuple[str, ...] = ()
    reports: Mapping[str, int] = field(default_factory=dict)
    follow_ups: FollowUps | None = None
    policy: ToolPolicy = field(default_factory=ToolPolicy)
    budget: tuple[str, ...] = ()


def recommend(observed: Sequence[Observed], settings: SurfacingSettings) -> tuple[Recommendation, ...]:
    """The recommendations, tool by tool in the order given."""
    return tuple(found for one in observed for found in (_threshold(one, settings), _budget(one)) if found is not None)


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
        return _made(one, "surfacing", what, f"{taken.reason}; the threshold is pinned", changes=(change,))
    why = f"{taken.reason}; {_by_itself(ratings, settings)}"
    return _made(one, "surfacing", what, why, min_score=taken.new)


def _by_itself(ratings: Tally, settings: SurfacingSettings) -> str:
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
    return _made(one, "surfacing", "stop surfacing for this tool", why, changes=(change,))


def _budget(one: Observed) -> Recommendation | None:
    """A response budget that agents regularly read beyond, or that loses what they need."""
    current = one.policy.max_chars
    reasons = list(_too_small(one))
    if not reasons or not one.budget or one.policy.strategy in READ_ON_BY_DESIGN:
        return None
    served = one.follow_ups.served_chars if one.follow_ups is not None else 0.0
    wanted = served if served > current else 2 * current
    new = min(ceil(wanted / ROUND_CHARS) * ROUND_CHARS, LARGEST_STEP * current)
    changes = [Change(path=(*one.budget, "max_result_chars"), value=new)]
    tokens = ceil(new / CHARS_PER_TOKEN)
    if one.policy.max_tokens < tokens:
        changes.append(Change(path=(*one.budget, "max_result_tokens"), value=tokens))
    what = f"raise max_result_chars {current:,} → {new:,}"
    return _made(one, "budget", what, "; ".join(reasons), changes=tuple(changes))


def _too_small(one: Observed) -> Iterator[str]:
    found = one.follow_ups
    is_often = found is not None and found.responses >= MIN_RESPONSES and found.rate > OFTEN
    # Readers who came back for less than a first answer holds now had a smaller budget then.
    if found is not None and is_often and found.served_chars > one.policy.max_chars:
        yield (
            f"{found.rate:.0%} of {found.responses} shortened responses were read on, "
            f"{found.served_chars:,.0f} of {found.total_chars:,.0f} characters each on average"
        )
    reports = sum(one.reports.values())
    if reports >= MIN_REPORTS:
        kinds = ", ".join(f"{category} {count}" for category, count in sorted(one.reports.items()))
        yield f"{reports} reports of lost information ({kinds})"


def _made(
    one: Observed,
    about: Subject,
    what: str,
    why: str,
    *,
    changes: tuple[Change, ...] = (),
    min_score: float | None = None,
) -> Recommendation:
    return Recommendation(
        server=one.tool.server,
        tool=one.tool.tool,
        about=about,
        what=what,
        why=why,
        changes=changes,
        min_score=min_score,
    )
