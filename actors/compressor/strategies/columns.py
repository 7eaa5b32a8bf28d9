"""What a field of many records is good for: to tell the records apart, to say how they are, or nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from actors.compressor.far import far

_IDENTITY = (
    "title", "name", "full_name", "fullname", "displayname", "display_name", "label", "subject", "summary", "headline",
    "number", "id", "key", "slug", "path", "file", "filename", "symbol", "code", "sku", "uri",
    "email", "login", "username", "handle", "ref", "sha", "hash",
)  # fmt: skip
_TITLES = 10
"""So many of them are names that people give; the others point at something."""
_IDENTITY_NAMES = frozenset(_IDENTITY)
_POINTERS = frozenset(("sha", "hash", "key", "ref", "code"))
_CALLED = frozenset(("email", "login", "username", "handle", "path", "file", "filename", "slug", "symbol", "sku"))
"""What a record is called by where nobody gave it a title."""
_BARE = _POINTERS | {"id", "uri", "number"}
_STATE = frozenset(
    (
        "state", "status", "type", "kind", "level", "severity", "priority", "version", "line", "result", "conclusion",
        "role", "value", "score", "phase", "outcome", "health",
    )
)  # fmt: skip
_TEXT = frozenset(
    (
        "description", "documentation", "doc", "message", "msg", "text", "error", "reason", "detail", "content",
        "snippet", "body", "help", "comment", "plain_text", "errormessage", "error_message",
    )
)  # fmt: skip
_QUOTED = frozenset(("diff_hunk", "diffhunk", "hunk", "patch", "diff", "context_lines"))
"""What a record is about, in the words of something else."""
_PERSONS = frozenset(
    (
        "author", "committer", "user", "owner", "assignee", "reporter", "creator", "created_by", "createdby", "sender",
        "last_edited_by", "updated_by", "actor", "requester", "customer", "owner_references", "ownerreferences",
    )
)  # fmt: skip
"""A name inside of one of these is not the record's."""
_TYPED = frozenset(("s", "n", "v", "stringvalue", "integervalue", "doublevalue", "timestampvalue"))
"""What stores call the value of a field of one type."""
NOTHING = (b"null", b'""')
_HOLLOW = (b"{}", b"[]")
_CONTAINERS = (b"{", b"[")
_DISTINCT, _FEW_STATES = 0.7, 10
_OPAQUE, _SHORT_KEY, _SHALLOW = 24, 18, 2
_CONTINUES = re.compile(
    r"(?i)cursor$|(?:page|next|continuation)_?tokens?$|^(?:continue|marker|next|previous|scroll_?id|search_?after)$"
    r"|next_?(?:page|link|marker|url)$"
)
_DIGITS, _FEWEST_DIGITS, _DIGIT_SHARE = tuple(b"%d" % digit for digit in range(10)), 4, 0.15
_DATE = re.compile(rb'"\d{4}-\d\d-\d\d')
_NUMERIC = (b"-", *_DIGITS)
_FEWEST_MEASURED, _MOST_FAR = 17, 3
IDENTITY, STATE, TEXT, PLAIN, MINOR = 10, 8, 5, 3, 1


class Field(msgspec.Struct, frozen=True, gc=False):
    """What the values of one member name are like over all records: how many there are and how long they are together,
    how many are containers, are empty or repeat the record's key, and the plain ones with their counts."""

    name: str
    first: bytes
    present: int
    length: int
    containers: int
    empty: int
    echoes: int
    values: Counter[bytes]


def field(name: str, raws: Sequence[bytes], echoes: int) -> Field:
    """What is known of a member from all of its values."""
    plain = [raw[:200] for raw in raws if raw[:1] not in _CONTAINERS]
    values = Counter(plain)
    containers = len(raws) - len(plain)
    empty = sum(values[raw] for raw in NOTHING) + (sum(map(raws.count, _HOLLOW)) if containers else 0)
    first = next((raw for raw in raws if raw not in NOTHING), raws[0])
    return Field(name, first, len(raws), sum(map(len, raws)), containers, empty, echoes, values)


def quotes_json(found: Field) -> bool:
    """Whether the values are JSON in strings, which counts as what it holds."""
    return found.first[:3] == b'"{\\'


def place(name: str) -> int:
    """Titles before numbers before other fields that identify."""
    name = _last(name)
    return _IDENTITY.index(name) if name in _IDENTITY_NAMES else len(_IDENTITY)


def identifies(name: str) -> bool:
    """Whether a member of this name tells records apart."""
    return _last(name) in _IDENTITY_NAMES


def points_at(name: str) -> bool:
    """Whether a field of this name says which record is meant, but not what it is."""
    return _last(name) in _BARE


def dated(found: Field) -> bool:
    """Whether the values are days or times."""
    return _DATE.match(found.first) is not None


def continues(name: str) -> bool:
    """Whether a member of this name is needed to read on where a page ends."""
    return _CONTINUES.search(name) is not None


def opaque(found: Field | None) -> bool:
    """Whether a field is a key that says nothing to a person."""
    return (
        found is not None
        and found.first[:1] == b'"'
        and b" " not in found.first
        and found.length > _SHORT_KEY * found.present
        and len(found.values) >= _DISTINCT * found.present
        and sum(map(found.first.count, _DIGITS)) >= max(_FEWEST_DIGITS, _DIGIT_SHARE * len(found.first))
        and not dated(found)
    )


def words(found: Field) -> bool:
    """Whether a field holds texts that are neither times nor keys."""
    return found.first[:1] == b'"' and found.first[1:2] not in _CONTAINERS and not dated(found) and not opaque(found)


def person(name: str) -> bool:
    """Whether a member of this name is somebody who has to do with the record."""
    return name.lower() in _PERSONS


def entitles(found: Field) -> bool:
    """Whether a field is what people call the records by."""
    return (
        place(found.name) < _TITLES
        and found.first[:1] == b'"'
        and found.length <= (300 if b" " in found.first else 40) * found.present
        and len(found.values) >= _DISTINCT * found.present
    )


def score(found: Field) -> int:
    """How much a field tells a reader; 0 leaves it out."""
    name = _last(found.name)
    mean = found.length / found.present
    if found.containers > 0.5 * found.present or quotes_json(found):
        return 0
    text = found.first[:1] == b'"'
    if text and (found.first[1:9].startswith((b"http://", b"https:/")) or name.endswith("url")):
        return MINOR
    solid = text and mean > _OPAQUE and b" " not in found.first
    if name in _IDENTITY_NAMES and not (text and mean > 300):
        return PLAIN if solid and name in _POINTERS else IDENTITY
    if (name in _STATE or (name.endswith("name") and text)) and mean < 60:
        return STATE
    if name in _QUOTED:
        return MINOR
    if name in _TEXT or (text and b" " in found.first and (mean >= 20 or _own(found))):
        return TEXT
    if text and mean > 40 and b" " not in found.first:
        return MINOR
    return PLAIN if mean < 40 else MINOR


def _own(found: Field) -> bool:
    """Whether hardly any two records share a value of this field."""
    return found.present > 2 and len(found.values) >= _DISTINCT * found.present


def inner_score(found: Field, total: int) -> int:
    """The same for a value inside of the records; what only points at something else says nothing."""
    if found.empty > 0.8 * total or len(found.values) < 2 or found.containers:
        return 0
    points = score(found)
    steps = found.name.lower().replace("[0]", "").replace("[", ".").replace("]", "").split(".")
    distinct = len(found.values) >= _DISTINCT * found.present
    if steps[-1] == "url" and distinct and len(steps) <= _SHALLOW:
        return PLAIN
    person = not _PERSONS.isdisjoint(steps[:-1])
    if points == IDENTITY:
        if place(found.name) >= _TITLES:
            called = distinct and not person and "[" not in found.name and _last(found.name) in _CALLED
            return TEXT if called else 0
        return IDENTITY if distinct and not person else STATE if found.length <= 60 * found.present else TEXT
    if points == STATE:
        return STATE if len(found.values) <= _FEW_STATES or not distinct else MINOR
    if points == TEXT:
        return TEXT
    if points == PLAIN and dated(found):
        return PLAIN
    few = len(found.values) <= _FEW_STATES and not distinct
    if points != PLAIN or any(map(found.first.__contains__, b"0123456789")):
        return PLAIN if points == PLAIN and few and found.first[:1] != b'"' else 0
    return STATE if few else PLAIN if distinct and found.first[:1] == b'"' else 0


def outlying(found: Field) -> list[bytes]:
    """The values of a field of numbers that are far from all others."""
    numbers = [raw for raw in found.values if raw[:1] in _NUMERIC]
    if len(numbers) < max(_FEWEST_MEASURED, 0.9 * len(found.values)):
        return []
    return [numbers[at] for at in far([*map(float, numbers)])[:_MOST_FAR]]


_NONE = Counter[bytes]()


def worth(name: str, raw: bytes) -> int:
    """How much one plain value tells, by its name and looks; empty ones and links tell next to nothing."""
    return score(Field(name, raw, 1, len(raw), 0, 0, 0, _NONE))


def _last(name: str) -> str:
    """`__name__` of `metric.__name__` is a name; so are `Tags[Name]` and `name.stringValue`."""
    if "." not in name and "[" not in name:
        return name.rstrip("]").strip("_").lower()
    outer, _, last = name.rstrip("]").replace("[", ".").rpartition(".")
    last = last.strip("_").lower()
    return _last(outer) if last in _TYPED and outer else last
