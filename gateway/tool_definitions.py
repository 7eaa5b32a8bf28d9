"""What the gateway's own `stm_*` tools are called with, and how they are advertised."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from actors.tuner.messages import KINDS, Rating
from gateway import admin_arguments, describe
from gateway.catalogue import definition

_KEY = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
RATINGS = list(Rating.__args__)  # type: ignore[attr-defined]
_RATING = {"type": "string", "enum": RATINGS}

LARGEST = 2**53 - 1
"""Integers that every peer and the bus carry exactly."""
Natural = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]


class SelectChunksArguments(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    sections: list[str]


class ReadMoreArguments(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    offset: Natural = 0
    limit: Positive | None = None
    find: str | None = None


class DescribeToolArguments(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    part: str = "description"
    offset: int = 0
    limit: int = 4000
    generation: str | None = None


class OneRating(msgspec.Struct, forbid_unknown_fields=True):
    memory_id: str
    rating: Rating


class SurfacingFeedbackArguments(msgspec.Struct, forbid_unknown_fields=True):
    surfacing_id: str
    rating: Rating | None = None
    memory_id: str | None = None
    ratings: list[OneRating] | None = None


class CompressionFeedbackArguments(msgspec.Struct, forbid_unknown_fields=True):
    server: str
    tool: str
    missing: str
    kind: str = "other"
    trace_id: str | None = None


class AdminArguments(msgspec.Struct, forbid_unknown_fields=True):
    action: str
    params: dict[str, Any] | None = None


class ProposeMemoryArguments(msgspec.Struct, forbid_unknown_fields=True):
    content: Annotated[str, msgspec.Meta(max_length=2000)]
    source_ref: Annotated[str, msgspec.Meta(max_length=512)] = ""
    idempotency_key: Annotated[str, msgspec.Meta(max_length=256)] = ""


DEFINITIONS = (
    definition(
        "stm_proxy_read_more",
        "Read on in a shortened response: the next slice from `offset`, or with `find` (words or a quoted string) "
        "the best matching passages.",
        {"key": _KEY, "offset": _COUNT, "limit": {"type": "integer", "minimum": 1}, "find": {"type": "string"}},
        ["key"],
    ),
    definition(
        "stm_proxy_select_chunks",
        "Get named sections of a shortened response.",
        {"key": _KEY, "sections": {"type": "array", "items": {"type": "string"}}},
        ["key", "sections"],
    ),
    definition(
        "stm_proxy_describe_tool",
        "Page through a tool's full description or input schema without running it.",
        {
            "name": {"type": "string"},
            "part": {"type": "string", "enum": list(describe.PARTS)},
            "offset": _COUNT,
            "limit": {"type": "integer", "minimum": 1, "maximum": describe.MAX_LIMIT},
            "generation": {"type": "string"},
        },
        ["name"],
    ),
    definition(
        "stm_surfacing_feedback",
        "Rate surfaced memories: one `rating` for all (or for `memory_id`), or `ratings` for each.",
        {
            "surfacing_id": {"type": "string"},
            "rating": _RATING,
            "memory_id": {"type": "string"},
            "ratings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"memory_id": {"type": "string"}, "rating": _RATING},
                    "required": ["memory_id", "rating"],
                },
            },
        },
        ["surfacing_id"],
    ),
    definition(
        "stm_compression_feedback",
        "Report information that shortening lost (a learning signal; use read_more to get it back).",
        {
            **{name: {"type": "string"} for name in ("server", "tool", "missing")},
            "kind": {"type": "string", "enum": list(KINDS)},
            "trace_id": {"type": "string"},
        },
        ["server", "tool", "missing"],
    ),
)
ADMIN = "stm_admin"
PROPOSE = "stm_memory_propose"
OPTIONAL = {
    ADMIN: definition(
        ADMIN,
        "Observe and manage the gateway: statistics, health, caches, recommendations. "
        'action="help" describes each action\'s params.',
        {
            "action": {"type": "string", "enum": [*admin_arguments.ACTIONS, admin_arguments.HELP]},
            "params": {"type": "object"},
        },
        ["action"],
    ),
    PROPOSE: definition(
        PROPOSE,
        "Propose something worth remembering. It waits in the memory's review queue; nothing is stored by itself.",
        {
            "content": {"type": "string", "maxLength": 2000},
            "source_ref": {"type": "string", "maxLength": 512},
            "idempotency_key": {"type": "string", "maxLength": 256},
        },
        ["content"],
    ),
}
"""Shown to clients that want them."""
