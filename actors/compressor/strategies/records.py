"""Many records of one shape: which fields identify them, which ones stand out, and a listing of all in rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import re2

from actors.compressor.jsontext import Node

_IDENTITY = (
    "title", "name", "full_name", "displayname", "display_name", "label", "subject", "summary", "headline",
    "number", "id", "key", "slug", "path", "file", "filename", "symbol", "code", "sku", "uri",
    "email", "login", "username", "handle", "ref", "sha", "hash",
)  # fmt: skip
_IDENTITY_NAMES = frozenset(_IDENTITY)
_STATE = (
    "state",
    "status",
    "type",
    "kind",
    "level",
    "severity",
    "priority",
    "version",
    "line",
    "result",
    "conclusion",
    "role",
    "value",
    "score",
)
_TEXT = (
    "description",
    "documentation",
    "doc",
    "message",
    "msg",
    "text",
    "error",
    "reason",
    "detail",
    "content",
    "snippet",
    "body",
    "help",
    "comment",
)
_ALARMS = frozenset(
    f'"{word}"'.encode()
    for word in (
        "error",
        "fatal",
        "critical",
        "severe",
        "failed",
        "failure",
        "fail",
        "panic",
        "crashed",
        "timeout",
        "alert",
    )
)
_NOTHING = (b"null", b'""')
_HOLLOW = (b"{}", b"[]")
_CONTAINERS = (b"{", b"[")
_ALARM = re2.compile(b"(?i)" + b"|".join(sorted(_ALARMS)))
_TOGETHER = 50
_MOST_OUTLIERS = 6
_MOST_READ = 20_000
_SAMPLE = 1_000
_SMALL_OBJECT = 600
IDENTITY, STATE, TEXT, PLAIN, MINOR = 10, 8, 5, 3, 1


class Record:
    """One record: its key in an object (`None` in an array), and itself."""

    __slots__ = ("_members", "key", "node")

    def __init__(self, key: str | None, node: Node) -> None:
        self.key = key
        self.node = node
        self._members: dict[str, Node] | None = None

    @property
    def members(self) -> dict[str, Node]:
        """The members, read when they are first needed; a plain value is a record with the one member `value`.

        Where a record names itself only inside of a small object, the members of that stand beside it as `outer.inner`.
        """
        if self._members is None:
            self._members = self._read()
        return self._members

    def _read(self) -> dict[str, Node]:
        if self.node.raw[:1] != b"{":
            return {"value": self.node}
        members = self.node.members
        if not _IDENTITY_NAMES.isdisjoint(map(str.lower, members)):
            return members
        inner = {
            f"{outer}.{name}": value
            for outer, node in members.items()
            if node.raw[:1] == b"{" and len(node.raw) <= _SMALL_OBJECT
            for name, value in node.members.items()
        }
        return {**members, **inner} if inner else members


@dataclass(frozen=True)
class Field:
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


@dataclass(frozen=True)
class Survey:
    """The fields of a set of records.

    Attributes:
        scores: how much each field tells a reader apart from the others; 0 leaves it out.
        same: short values that all records share.
        outliers: positions of records with a value that hardly any other has.
        alarms: positions of records that say that something failed.
    """

    scores: dict[str, int]
    same: dict[str, bytes]
    outliers: list[int]
    alarms: list[int]


def read(nodes: Collection[Node], keys: Iterable[str] | None = None) -> list[Record] | None:
    """The records, when nearly all values are objects; `None` when they are not."""
    if sum([node.raw[:1] == b"{" for node in nodes]) < 0.9 * len(nodes):
        return None
    if keys is None:
        return [Record(None, node) for node in nodes]
    return [Record(key, node) for key, node in zip(keys, nodes, strict=True)]


def survey(records: list[Record]) -> Survey:
    """Looks at the values of every field."""
    raws: defaultdict[str, list[bytes]] = defaultdict(list)
    echoes: Counter[str] = Counter()
    for record in records[:_SAMPLE]:
        for name, node in record.members.items():
            raws[name].append(node.raw)
        if record.key is not None:
            key = record.key.encode()
            echoes.update(name for name, node in record.members.items() if node.raw[1:-1] == key)
    fields = {name: _field(name, found, echoes[name]) for name, found in raws.items()}
    total = min(len(records), _SAMPLE)
    scores: dict[str, int] = {}
    same: dict[str, bytes] = {}
    for name, found in fields.items():
        if found.empty == found.present or found.echoes == found.present:
            continue
        if found.present == total and len(found.values) == 1 and total > 2 and not found.containers:
            if len(found.first) <= 60:
                same[name] = found.first
            continue
        scores[name] = _score(found)
    scores = dict(sorted(scores.items(), key=lambda pair: (-pair[1], _place(pair[0]))))
    alarms = _alarms(records[:_MOST_READ])
    return Survey(scores, same, _outliers(records[:_SAMPLE], fields, total), alarms)


def _alarms(records: list[Record]) -> list[int]:
    """Positions of the records that say that something failed."""
    found: list[int] = []
    for start in range(0, len(records), _TOGETHER):
        # Most records say nothing of the kind, and need not be read for that: nor even looked at one by one.
        part = records[start : start + _TOGETHER]
        if _ALARM.search(b"\n".join([record.node.raw for record in part])):
            found += [start + at for at, record in enumerate(part) if _failed(record)]
    return found


def _failed(record: Record) -> bool:
    return _ALARM.search(record.node.raw) is not None and any(
        len(node.raw) <= 12 and node.raw.lower() in _ALARMS for node in record.members.values()
    )


def _place(name: str) -> int:
    """Titles before numbers before other fields that identify."""
    name = _last(name)
    return _IDENTITY.index(name) if name in _IDENTITY else len(_IDENTITY)


def identifies(name: str) -> bool:
    """Whether a member of this name tells records apart."""
    return _last(name) in _IDENTITY_NAMES


def _last(name: str) -> str:
    """`__name__` of `metric.__name__` is a name."""
    return name.rpartition(".")[2].strip("_").lower()


def _field(name: str, raws: list[bytes], echoes: int) -> Field:
    """What is known of a member from all of its values."""
    plain = [raw[:200] for raw in raws if raw[:1] not in _CONTAINERS]
    values = Counter(plain)
    containers = len(raws) - len(plain)
    empty = sum(values[raw] for raw in _NOTHING) + (sum(map(raws.count, _HOLLOW)) if containers else 0)
    return Field(name, raws[0], len(raws), sum(map(len, raws)), containers, empty, echoes, values)


def _score(found: Field) -> int:
    name = _last(found.name)
    mean = found.length / found.present
    if found.containers > 0.5 * found.present:
        return 0
    text = found.first[:1] == b'"'
    if text and (found.first[1:9].startswith((b"http://", b"https:/")) or name.endswith("url")):
        return MINOR
    if name in _IDENTITY and not (text and mean > 300):
        return (
            IDENTITY
            if not (text and mean > 24 and b" " not in found.first) or name not in ("sha", "hash", "key", "ref", "code")
            else PLAIN
        )
    if name in _STATE and mean < 60:
        return STATE
    if name in _TEXT or (text and b" " in found.first and mean >= 20):
        return TEXT
    if text and mean > 40 and b" " not in found.first:
        return MINOR
    return PLAIN if mean < 40 else MINOR


def _outliers(records: list[Record], fields: dict[str, Field], total: int) -> list[int]:
    """Records with a rare value in a field that otherwise has few values."""
    rare: dict[tuple[str, bytes], int] = {}
    for name, found in fields.items():
        if total < 20 or found.containers or not 2 <= len(found.values) <= 16 or found.present < 0.9 * total:
            continue
        for value, count in found.values.items():
            if count <= max(1, total // 100):
                rare[(name, value)] = count
    # What hardly any record has at all says as much as a rare value: most often it is an error.
    seldom = {
        name for name, found in fields.items() if total >= 20 and 0 < found.present - found.empty <= max(1, total // 50)
    }
    found_at: list[tuple[int, int]] = []
    telling = {name for name, _ in rare} | seldom
    for index, record in enumerate(records if telling else ()):
        counts = []
        for name in telling & record.members.keys():
            raw = record.members[name].raw
            if (name, raw[:200]) in rare:
                counts.append(rare[(name, raw[:200])])
            if name in seldom and raw not in _NOTHING:
                counts.append(1)
        if counts:
            found_at.append((min(counts), index))
    return sorted(index for _, index in sorted(found_at)[:_MOST_OUTLIERS])
