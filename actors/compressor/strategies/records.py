"""Many records of one shape: which fields tell them apart, inside of them too, and which records stand out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import msgspec
import re2

from actors.compressor.jsontext import Node
from actors.compressor.strategies import columns as fields
from actors.compressor.strategies.columns import IDENTITY, MINOR, PLAIN, TEXT, Field
from actors.compressor.strategies.leaves import Path, at, leaves

_ALARMS = frozenset(
    f'"{word}"'.encode()
    for word in (
        "error", "fatal", "critical", "severe", "failed", "failure", "fail", "panic", "crashed", "timeout", "alert",
        "crashloopbackoff", "oomkilled", "imagepullbackoff", "errimagepull", "evicted", "unhealthy", "degraded",
        "tainted", "aborted", "killed", "accessdenied", "denied", "rejected", "declined",
    )
)  # fmt: skip
_LONGEST_ALARM = max(map(len, _ALARMS))
_CAUSE = rb'\w*(?:error|failure)\w*\\*": ?(?:\\*"[^"\\]|[1-9])'
"""A member that says what went wrong or how often, in the JSON inside of a string too."""
_ALARM = re2.compile(b"(?i)" + b"|".join(sorted(_ALARMS)) + b"|" + _CAUSE)
_CAUSES = re2.compile(b"(?i)" + _CAUSE)
_TOGETHER = 50
_MOST_OUTLIERS = 6
_MOST_READ = 20_000
_SAMPLE = 1_000
_FEWEST = 12
"""Among fewer records a rare value says nothing."""
_LOOKED_INTO, _LOOKED_AT, _MOST_BYTES = 16, 100, 100_000
"""Records whose inside is looked at: so many, or all of up to so many, or as many as make so many bytes."""
_MOST_INNER, _NEARLY = 6, 0.15
_COMMON = 0.4
"""What fewer of the records have does not tell them apart."""
_SHORT_KEY = 14
_STREAM, _FEW_FAILED, _NEIGHBOURS = 0.4, 8, 6
ALARM_SHARE = 4
"""Where more than one of so many records seems to have failed, that is how they are."""


class Record(msgspec.Struct, gc=False, eq=False):
    """One record: its key in an object (`None` in an array), and itself. There may be as many as nodes."""

    key: str | None
    node: Node
    _members: dict[str, Node] | None = None
    _inside: dict[str, Node | None] | None = None

    @property
    def members(self) -> dict[str, Node]:
        """The members, read when they are first needed; a plain value is a record with the one member `value`."""
        if self._members is None:
            self._members = self.node.members if self.node.raw[:1] == b"{" else {"value": self.node}
        return self._members

    def inside(self, name: str, path: Path) -> Node | None:
        """The value at the end of a path of that name, looked for once."""
        if self._inside is None:
            self._inside = {}
        if name not in self._inside:
            self._inside[name] = at(self.node, path)
        return self._inside[name]


@dataclass(frozen=True)
class Survey:
    """The fields of a set of records.

    Attributes:
        scores: how much each field tells a reader apart from the others; 0 leaves it out.
        same: short values that all records share.
        outliers: positions of records with a value that hardly any other has.
        alarms: positions of records that say that something failed.
        paths: where those fields are that lie inside of the records.
        telling: of fields without a name or text in them the one that tells records apart best; `""` if none does.
    """

    scores: dict[str, int]
    same: dict[str, bytes]
    outliers: list[int]
    alarms: list[int]
    paths: dict[str, Path] = field(default_factory=dict)
    telling: str = ""


def read(nodes: Collection[Node], keys: Iterable[str] | None = None) -> list[Record] | None:
    """The records, when nearly all values are objects; `None` when they are not."""
    if sum([node.raw[:1] == b"{" for node in nodes]) < 0.9 * len(nodes):
        return None
    if keys is None:
        return [Record(None, node) for node in nodes]
    return [Record(key, node) for key, node in zip(keys, nodes, strict=True)]


def changed(records: Iterable[Record], columns: list[tuple[str, Path | None, int]]) -> Iterator[Record]:
    """The records whose row differs from the one before."""
    before: list[bytes] | None = None
    for record in records:
        members = record.members
        nodes = [members.get(name) if path is None else record.inside(name, path) for name, path, _ in columns]
        row = [b"" if node is None else node.raw for node in nodes]
        if row != before or record.key is not None:
            yield record
        before = row


def survey(records: list[Record]) -> Survey:
    """Looks at the values of every field."""
    sample = records[:_SAMPLE]
    total = len(sample)
    found = _outer(sample)
    scores: dict[str, int] = {}
    same: dict[str, bytes] = {}
    for name, own in found.items():
        if own.empty == own.present or own.echoes == own.present:
            continue
        if own.present == total and len(own.values) == 1 and total > 2 and not own.containers:
            if len(own.first) <= 60:
                same[name] = own.first
            continue
        points = fields.score(own)
        scores[name] = points if own.present - own.empty >= _COMMON * total else min(points, PLAIN)
    paths: dict[str, Path] = {}
    odd = {name: own for name, own in found.items() if not own.containers}
    if any(own.containers for own in found.values()) or any(fields.quotes_json(own) for own in found.values()):
        inner = _inner(sample)
        entitled = any(fields.entitles(own) for own in found.values())
        for name, points in _telling(inner.found, inner.total, [*found.values()]):
            scores[name] = points if not entitled else min(points, PLAIN)
            paths[name] = inner.paths[name]
        if not entitled:
            _demote(scores, found, inner.found)
        if inner.total == total:
            odd |= inner.found
            paths |= {name: path for name, path in inner.paths.items() if name not in paths}
    for name in [name for name, points in scores.items() if points == PLAIN and fields.opaque(found.get(name))][1:]:
        scores[name] = MINOR  # one key to a record will do
    scores = dict(sorted(scores.items(), key=lambda pair: (-pair[1], *_order(pair[0]))))
    telling = _distinct(scores, odd, total)
    alarms = _events(records, _alarms(records[:_MOST_READ]), telling)
    return Survey(scores, same, _outliers(sample, odd, paths), alarms, paths, telling)


def _distinct(scores: dict[str, int], found: dict[str, Field], total: int) -> str:
    """The field of words with the most values; else that of the highest score."""
    common = {name for name, own in found.items() if own.present - own.empty >= _COMMON * total}
    named = [name for name, points in scores.items() if points >= MINOR and name in common]
    words = [name for name in named if fields.words(found[name])]
    return max(words or named[:1], key=lambda name: len(found[name].values), default="")


def outline(records: list[Record]) -> Survey:
    """The fields of the records themselves, whatever they hold, and which of them failed."""
    scores = {name: fields.score(own) for name, own in _outer(records[:_SAMPLE]).items() if own.empty < own.present}
    scores = dict(sorted(scores.items(), key=lambda pair: (-pair[1], *_order(pair[0]))))
    alarms = [at for at, record in enumerate(records) if any(map(alarming, record.members.values()))]
    return Survey(scores, {}, [], alarms)


def _order(name: str) -> tuple[int, int]:
    return fields.place(name), name.count(".")


def _outer(sample: list[Record]) -> dict[str, Field]:
    """The fields of the records themselves."""
    raws: defaultdict[str, list[bytes]] = defaultdict(list)
    echoes: Counter[str] = Counter()
    for record in sample:
        for name, node in record.members.items():
            raws[name].append(node.raw)
        if record.key is not None:
            key = record.key.encode()
            echoes.update(name for name, node in record.members.items() if node.raw[1:-1].endswith(key))
    return {name: fields.field(name, found, echoes[name]) for name, found in raws.items()}


@dataclass(frozen=True)
class _Inner:
    """The values inside of `total` records: what they are like, and where they are."""

    found: dict[str, Field]
    paths: dict[str, Path]
    total: int


def _inner(sample: list[Record]) -> _Inner:
    """Looks inside of some of the records."""
    step = 1 if len(sample) <= _LOOKED_AT else len(sample) // _LOOKED_INTO
    raws: defaultdict[str, list[bytes]] = defaultdict(list)
    paths: dict[str, Path] = {}
    total, size = 0, 0
    for record in sample[::step]:
        size += len(record.node.raw)
        if total > 4 and size > _MOST_BYTES:
            break
        total += 1
        for name, (path, node) in leaves(record.node).items():
            if len(path) > 1:
                raws[name].append(node.raw)
                paths[name] = path
    return _Inner({name: fields.field(name, found, 0) for name, found in raws.items()}, paths, total)


def _telling(inner: dict[str, Field], total: int, outer: list[Field]) -> list[tuple[str, int]]:
    """The fields inside that tell a reader something, best first, each thing once."""
    scored = [(name, points) for name, own in inner.items() if (points := fields.inner_score(own, total))]
    scored.sort(key=lambda pair: (-pair[1], *_order(pair[0])))
    kept: list[tuple[str, int]] = []
    known = [own for own in outer if not own.containers and not fields.quotes_json(own)]
    texts = 0
    for name, points in scored:
        own = inner[name]
        longer = next(
            (at for at, pair in enumerate(kept) if pair[1] == points == TEXT and _begins(inner[pair[0]], own)), None
        )
        if longer is not None:
            known[known.index(inner[kept[longer][0]])] = own
            kept[longer] = (name, points)
            continue
        if len(kept) == _MOST_INNER or (points == TEXT and texts == 2) or any(_repeats(own, other) for other in known):
            continue
        if fields.dated(own) and any(map(fields.dated, known)):
            continue
        other = points == IDENTITY and "[0]" in name and kept and kept[0][1] == IDENTITY and "[0]" not in kept[0][0]
        kept.append((name, MINOR if other else points))  # the name of one of its parts says less
        known.append(own)
        texts += points == TEXT
    return sorted(kept, key=lambda pair: -pair[1])


def _repeats(own: Field, other: Field) -> bool:
    """Whether a field only says again what another one says, or the beginning of it."""
    pairs = zip(list(own.values)[:8], list(other.values)[:8], strict=False)
    as_many = abs(len(own.values) - len(other.values)) <= _NEARLY * max(len(own.values), len(other.values))
    return as_many and all(left == right or left[:-1] in right or right[:-1] in left for left, right in pairs)


def _begins(short: Field, long: Field) -> bool:
    """Whether a field is only the beginning of another one."""
    return 1.3 * short.length < long.length and _repeats(short, long)


def _demote(scores: dict[str, int], outer: dict[str, Field], inner: dict[str, Field]) -> None:
    """Bare numbers of the records come behind the titles inside of them."""
    if not any(points in (IDENTITY, TEXT) and name in inner for name, points in scores.items()):
        return
    for name, own in outer.items():
        if (
            scores.get(name) == IDENTITY
            and fields.points_at(name)
            and own.first[:1] == b'"'
            and b" " not in own.first
            and own.length > _SHORT_KEY * own.present
        ):
            scores[name] = PLAIN


def _alarms(records: list[Record]) -> list[int]:
    """Positions of the records that say that something failed."""
    plain: list[int] = []
    deep: list[int] = []
    for start in range(0, len(records), _TOGETHER):
        # Most records say nothing of the kind, and need not be read for that: nor even looked at one by one.
        part = records[start : start + _TOGETHER]
        if not _ALARM.search(b"\n".join([record.node.raw for record in part])):
            continue
        for place, record in enumerate(part, start):
            if _ALARM.search(record.node.raw) is None:
                continue
            if any(alarming(node) for node in record.members.values()):
                plain.append(place)
            elif len(deep) <= len(records) // ALARM_SHARE and _failed_inside(record):
                deep.append(place)
    return sorted([*plain, *deep]) if len(deep) <= len(records) // ALARM_SHARE else plain


def _events(records: list[Record], alarms: list[int], telling: str) -> list[int]:
    """The failed records; where neighbours are events of one thing, with what else is said of it."""
    things = [record.members[telling].raw if telling in record.members else b"" for record in records[:_SAMPLE]]
    equal = sum(left == right != b"" for left, right in pairwise(things))
    if not alarms or len(alarms) > _FEW_FAILED or equal < _STREAM * len(things):
        return alarms
    found: set[int] = set()
    for place in alarms:
        own = records[place].members.get(telling)
        for step in (-1, 1) if own is not None else ():
            for other in range(place + step, place + step * _NEIGHBOURS, step):
                thing = records[other].members.get(telling) if 0 <= other < len(records) else None
                if thing is None or own is None or thing.raw != own.raw:
                    break
                found.add(other)
    return sorted({*alarms, *found})


def alarming(node: Node) -> bool:
    """Whether a value is a word for a failure."""
    return len(node.raw) <= _LONGEST_ALARM and node.raw.lower() in _ALARMS


def _failed_inside(record: Record) -> bool:
    return _CAUSES.search(record.node.raw) is not None or any(
        alarming(node) for _, node in leaves(record.node).values()
    )


def _outliers(records: list[Record], found: dict[str, Field], paths: dict[str, Path]) -> list[int]:
    """Records with a rare value in a field that otherwise has few values, or a number far from all others."""
    total = len(records)
    if total < _FEWEST:
        return []
    rare: dict[tuple[str, bytes], int] = {}
    for name, own in found.items():
        if own.present < 0.9 * total:
            continue
        rare |= {(name, value): 1 for value in fields.outlying(own)}
        if not 2 <= len(own.values) <= 16:
            continue
        for value, count in own.values.items():
            if count <= max(1, total // 100):
                rare[(name, value)] = count
    # What hardly any record has at all says as much as a rare value: most often it is an error.
    seldom = {name for name, own in found.items() if 0 < own.present - own.empty <= max(1, total // 50)}
    found_at: list[tuple[int, int, int]] = []
    telling = {name for name, _ in rare} | seldom
    inside = [(name, paths[name]) for name in telling if name in paths]
    for index, record in enumerate(records if telling else ()):
        values = {name: record.members[name].raw for name in telling & record.members.keys()}
        values |= {name: node.raw for name, path in inside if (node := record.inside(name, path)) is not None}
        counts = [rare[(name, raw[:200])] for name, raw in values.items() if (name, raw[:200]) in rare]
        counts += [1 for name, raw in values.items() if name in seldom and raw not in fields.NOTHING]
        if counts:
            found_at.append((min(counts), -len(counts), index))
    return sorted(index for _, _, index in sorted(found_at)[:_MOST_OUTLIERS])
