"""Contract of the tuner."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from bus.message import Reply, Request

Rating = Literal["helpful", "partially_helpful", "not_relevant", "already_known"]
RATINGS: tuple[str, ...] = get_args(Rating)


Kind = Literal[
    "truncated",
    "truncated_example",
    "missing_example",
    "missing_field",
    "missing_metadata",
    "missing_rows",
    "wrong_topic",
    "other",
]
KINDS: tuple[str, ...] = get_args(Kind)
"""What shortening can have lost."""


class MemoryRating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rating of one memory; an empty `memory_id` rates every memory of the event."""

    rating: Rating
    memory_id: str = ""


class Recorded(Reply, frozen=True, kw_only=True):
    """What the agent is told. `ok` is false when the event or a memory of it is not known."""

    ok: bool
    text: str
    recorded: int = 0


class RateSurfacing(Request[Recorded], frozen=True, kw_only=True):
    """Stores ratings of a surfacing event; a second rating of the same memory in one event replaces the first."""

    actor = "tuner"
    reply = Recorded
    idempotent = True

    surfacing_id: str
    ratings: tuple[MemoryRating, ...]
    trace_id: str = ""


class ReportCompression(Request[Recorded], frozen=True, kw_only=True):
    """Stores a report of information that compression lost. `missing` is screened for credentials.

    Attributes:
        kind: one of `KINDS`; another one is not recorded, and the answer says so.
    """

    actor = "tuner"
    reply = Recorded

    server: str
    tool: str
    missing: str
    kind: str = "other"
    trace_id: str = ""


class Tuning(Reply, frozen=True, kw_only=True):
    """What feedback has changed.

    Attributes:
        min_scores: tuned threshold per advertised tool key `server__tool`.
        demoted: memories rated negative in enough different events: never injected.
        invalidated: memory id → number of negative ratings so far; an entry that is new or has grown means that results
            cached before hold that memory no more.
    """

    min_scores: dict[str, float] = {}
    demoted: tuple[str, ...] = ()
    invalidated: dict[str, int] = {}


class WatchTuning(Request[Tuning], frozen=True, kw_only=True):
    """Streams the tuning: the present state, then each change."""

    actor = "tuner"
    reply = Tuning
    idempotent = True


Subject = Literal["surfacing", "budget"]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A key of the configuration file, as the path of its names, and the value it should have."""

    path: tuple[str, ...]
    value: bool | int | float


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to change for one tool.

    Attributes:
        what / why: one line each, for people.
        about: the memories beside its responses, or the size of them.
        changes: of the configuration file.
        min_score: threshold that the tuner takes over with `AcceptRecommendation`; `None` when it is not about that.
    """

    server: str
    tool: str
    about: Subject
    what: str
    why: str
    changes: tuple[Change, ...] = ()
    min_score: float | None = None


class Recommendations(Reply, frozen=True, kw_only=True):
    """What is worth changing.

    Attributes:
        considered: tools with feedback, reports or shortened responses in the period.
        without_follow_ups: telemetry did not answer, so only feedback was looked at.
    """

    items: tuple[Recommendation, ...] = ()
    considered: int = 0
    without_follow_ups: bool = False


class GetRecommendations(Request[Recommendations], frozen=True, kw_only=True):
    """Recommendations from the feedback and follow-up reads of the last hours.

    Attributes:
        tool: `server__tool` or the tool's own name; `None` = all, an empty name matches nothing.
    """

    actor = "tuner"
    reply = Recommendations
    idempotent = True

    since_hours: float = 24.0
    tool: str | None = None


class AcceptRecommendation(Request[None], frozen=True, kw_only=True):
    """Says that a recommendation is carried out: the feedback it came from counts as answered to, and it is not
    repeated.

    Attributes:
        min_score: threshold to take over at once, relevance 0 to 1; `None` = only the configuration has changed.
    """

    actor = "tuner"

    server: str
    tool: str
    about: Subject
    min_score: float | None = None
