"""JSON that nests things of one kind in each other: folders, packages, comments, layers. Each is named, level by level.

A tree of a thousand names reads better than three of its things in full.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import islice

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.strategies.columns import IDENTITY, MINOR, PLAIN, STATE, TEXT, identifies, points_at, worth
from actors.compressor.strategies.records import ALARM_SHARE, Record, Survey, outline

_DEEPEST = 60
_FEWEST, _LEVELS, _MOST = 12, 3, 3_000
"""Fewer things, or less deep, are no tree; and of more only the outer ones are looked at."""
_ALIKE, _OBJECTS, _ECHOES, _PRESENT = 0.5, 0.9, 0.8, 0.15
_LOOKED_AT = 8
TOLD = -1
_LADDER = (
    (PLAIN, 6, 200), (TEXT, 5, 160), (TEXT, 4, 96), (TOLD, 2, 96), (TOLD, 2, 64), (TOLD, 2, 48), (STATE, 3, 64),
    (IDENTITY, 2, 64), (IDENTITY, 1, 64), (IDENTITY, 1, 40),
)  # fmt: skip
"""Lowest score of a field (`TOLD`: names and texts before states), most fields, longest text: from rich to poor."""
_MOST_OWN = 8
_COUNT = 16
"""Code points of a count that stands for the things in one."""
_TRIES, _FILLED = 4, 0.9
_SAMPLE = 1_000
_ROWS_FROM, _MOST_FAILED = 3, 12
_MOST_MISSED = 200
"""Things without room after which a smaller one is no longer looked for."""
_MORE = jsontext.quote("…")
_CONTAINERS = (b"{", b"[")

Cut = Callable[[Node, int], str]
"""Cuts a JSON string to a number of code points."""


@dataclass(frozen=True)
class Branch:
    """One thing: its plain fields, and under the name `inner` the things in it, as far as they were looked at."""

    record: Record
    inner: str
    array: bool
    children: list[Branch]


@dataclass(frozen=True)
class Tree:
    """All things, level by level, `top` being the outermost ones: one object, or those of a list.

    Attributes:
        scores: what their fields are worth.
        alarms: places of those that failed, and `parents` of what was found inside of others.
        frame: code points of all things without their fields; `lengths` those of the fields, measured once.
    """

    top: list[Branch]
    array: bool
    single: bool
    every: list[Branch]
    scores: dict[str, int]
    alarms: list[int]
    parents: dict[int, Branch]
    frame: int
    lengths: dict[str, tuple[list[int], int]] = field(default_factory=dict)


def grow(node: Node, answers: frozenset[Node]) -> Tree | None:
    """The tree that a container is; `None` where what it holds does not nest.

    Args:
        answers: nodes that are asked for, and what holds them: these are grown however large the tree is.
    """
    if node.raw[:1] not in _CONTAINERS:
        return None
    single = node.raw[:1] == b"{" and _inner(node.members) is not None
    array = node.raw[:1] == b"["
    top = [_branch(Record(None, node))] if single else _children(node) if _nests(node) else []
    every: list[Branch] = []
    levels, level = 0, top
    while level and levels < _DEEPEST:
        levels += 1
        every += level
        below: list[Branch] = []
        for branch in level:
            if branch.inner and (len(every) + len(below) < _MOST or branch.record.node in answers):
                branch.children.extend(_children(branch.record.members[branch.inner]))
                below += branch.children
        level = below
    if levels < _LEVELS or len(every) < _FEWEST:
        return None
    seen = outline([branch.record for branch in every])
    parents = {id(child): branch for branch in every for child in branch.children}
    frame = sum([_frame(branch) for branch in every])
    return Tree(top, array, single, every, _scores(every[:_SAMPLE], seen), seen.alarms, parents, frame)


def _nests(node: Node) -> bool:
    parts: Sequence[Node] = node.items if node.raw[:1] == b"[" else [*node.members.values()]
    raws = jsontext.lexemes(parts)
    if sum([raw[:1] == b"{" for raw in raws]) < _OBJECTS * len(parts):
        return False
    lengths = [*map(len, raws)]
    largest = [parts[at] for at in nlargest(2, range(len(parts)), key=lengths.__getitem__)]
    return any(part.raw[:1] == b"{" and _inner(part.members) is not None for part in largest)


def _branch(record: Record) -> Branch:
    members = record.members
    inner = _inner(members)
    return Branch(record, inner or "", inner is not None and members[inner].raw[:1] == b"[", [])


def _children(node: Node) -> list[Branch]:
    if node.raw[:1] == b"[":
        return [_branch(Record(None, item)) for item in node.items]
    return [_branch(Record(key, item)) for key, item in node.members.items()]


def _inner(members: dict[str, Node]) -> str | None:
    """The member that holds things of the kind of their holder."""
    best, size = None, 0
    for name, value in members.items():
        if value.raw[:1] in _CONTAINERS and len(value.raw) > max(size, 2):
            parts: Iterable[Node] = value.items if value.raw[:1] == b"[" else value.members.values()
            if any(part.raw[:1] == b"{" and _alike(members, part.members) for part in islice(parts, _LOOKED_AT)):
                best, size = name, len(value.raw)
    return best


def _alike(one: dict[str, Node], other: dict[str, Node]) -> bool:
    shared = len(one.keys() & other.keys())
    return shared >= 2 and shared >= _ALIKE * len(one)


@dataclass
class Drawing:
    """A tree in a room, in code points.

    Attributes:
        answers: nodes that are asked for: they are drawn, and so is what they say.
        cut: a JSON string cut to a length.
        limit: longest text, in code points; `columns` the fields shown of each thing.
        within: the things that have room.
    """

    tree: Tree
    answers: frozenset[Node]
    cut: Cut
    columns: list[str]
    limit: int
    within: set[int]

    def text(self) -> str:
        """The tree as JSON."""
        top = self.tree.top
        return self._thing(top[0]) if self.tree.single else self._list(top, self.tree.array)

    def _list(self, branches: list[Branch], array: bool) -> str:
        """Things in a list: those without children as rows."""
        parts: list[str] = []
        run: list[Branch] = []
        left = 0
        for branch in branches:
            if id(branch) not in self.within:
                left += 1
            elif branch.inner or branch.record.node in self.answers:
                parts += self._run(run, array)
                run = []
                parts.append(self._entry(branch, array))
            else:
                run.append(branch)
        parts += self._run(run, array)
        if left:
            mark = jsontext.quote(f"…+{left} items") if array else f'"…":"+{left} members"'
            parts.append(mark)
        return f"[{','.join(parts)}]" if array else f"{{{','.join(parts)}}}"

    def _entry(self, branch: Branch, array: bool) -> str:
        thing = self._thing(branch)
        return thing if array else f"{jsontext.quote(branch.record.key or '')}:{thing}"

    def _run(self, run: list[Branch], array: bool) -> list[str]:
        """Things without children: as rows where they are several and have fields of their own."""
        columns = self.columns
        if not array and not columns:
            return [f"{jsontext.quote(branch.record.key or '')}:{_MORE}" for branch in run]
        if not array or not columns or len(run) < _ROWS_FROM:
            return [self._entry(branch, array) for branch in run]
        rows = [self._cells(branch) for branch in run]
        if len(columns) == 1:
            return [f"{{{jsontext.quote(columns[0])}:[" + ",".join(row[0] for row in rows) + "]}"]
        names = ",".join(map(jsontext.quote, columns))
        return [f'{{"columns":[{names}],"rows":[' + ",".join("[" + ",".join(row) + "]" for row in rows) + "]}"]

    def _cells(self, branch: Branch) -> list[str]:
        members = branch.record.members
        return [self._value(members[name]) if name in members else "null" for name in self.columns]

    def _value(self, node: Node) -> str:
        if node.raw[:1] == b'"':
            limit = max(self.limit, 360) if node in self.answers else self.limit
            return self.cut(node, limit)
        return _MORE if node.raw[:1] in _CONTAINERS and len(node.raw) > 2 else node.raw.decode()

    def _thing(self, branch: Branch) -> str:
        members = branch.record.members
        asked = branch.record.node in self.answers
        own: set[str] = set()
        if self.tree.single and branch is self.tree.top[0]:
            # What the whole says of itself, which nothing in it does.
            told = (name for name, value in members.items() if worth(name, value.raw) > MINOR)
            own.update(islice((name for name in told if members[name].raw[:1] not in _CONTAINERS), _MOST_OWN))
        parts = [
            f"{jsontext.quote(name)}:{self._value(value)}"
            for name, value in members.items()
            if name != branch.inner and (name in self.columns or name in own or (asked and value in self.answers))
        ]
        if branch.inner:
            held = members[branch.inner]
            inside = (
                self._list(branch.children, branch.array)
                if any(id(child) in self.within for child in branch.children)
                else jsontext.quote(f"…+{len(held.items)} items" if branch.array else f"…+{len(held.members)} members")
            )
            parts.append(f"{jsontext.quote(branch.inner)}:{inside}")
        return "{" + ",".join(parts) + "}"


def draw(tree: Tree, room: int, answers: frozenset[Node], cut: Cut) -> str | None:
    """The tree in at most `room` code points: all things with as many fields as fit, or the outer ones by name.

    Args:
        answers: nodes that are asked for.
        cut: cuts a JSON string to a number of code points.
    """
    best: str | None = None
    scale = 1.0
    before: tuple[list[str], int, set[int]] | None = None
    for _ in range(_TRIES):
        plan = _plan(tree, int(room * scale), answers)
        if plan == before:
            break
        before, (columns, limit, within) = plan, plan
        text = Drawing(tree, answers, cut, columns, limit, within).text()
        if len(text) <= room and (best is None or len(text) > len(best)):
            best = text
        if _FILLED * room <= len(text) <= room:
            break
        scale *= 0.97 * room / len(text)
    return best


def _plan(tree: Tree, room: int, answers: frozenset[Node]) -> tuple[list[str], int, set[int]]:
    """The fields, the longest text and the things for which there is room, by an estimate."""
    columns: list[str] = []
    limit = 0
    for least, most, limit in _LADDER if tree.frame <= room else _LADDER[-1:]:
        columns = _columns(tree, least, most)
        total = tree.frame
        for name in columns:
            if name not in tree.lengths:
                tree.lengths[name] = _lengths(tree, name)
            values, labels = tree.lengths[name]
            total += sum([min(length, limit) for length in values]) + labels
        if total <= room:
            return columns, limit, {id(branch) for branch in tree.every}
    return columns, limit, _outer(tree, room, columns, limit, answers)


def _outer(tree: Tree, room: int, columns: Sequence[str], limit: int, answers: frozenset[Node]) -> set[int]:
    """The things of the outer levels, as many as have room; what is asked for and what failed with all around it."""
    within: set[int] = set()
    for branch in _wanted(tree, answers):
        if id(branch) not in within:
            within.add(id(branch))
            room -= _size(branch, columns, limit)
    missed = 0
    for branch in tree.every:
        if room < _COUNT or missed > _MOST_MISSED:
            break
        if id(branch) in within:
            continue
        size = _size(branch, columns, limit)
        if size > room:
            missed += 1
            continue
        room -= size
        within.add(id(branch))
    return _connected(tree, within)


def _frame(branch: Branch) -> int:
    """Code points of a thing without its fields."""
    key = 0 if branch.record.key is None else len(branch.record.key) + 3
    return key + (len(branch.inner) + 9 if branch.inner else 3)


def _lengths(tree: Tree, name: str) -> tuple[list[int], int]:
    """Code points of the values of a field, and those of its name wherever it stands."""
    values: list[int] = []
    labelled = 0
    for branch in tree.every:
        node = branch.record.members.get(name)
        rows = not branch.inner and branch.record.key is None
        values.append((5 if rows else 0) if node is None else _length(node) + 1)
        labelled += node is not None and not rows
    return values, labelled * (len(name) + 3)


def _size(branch: Branch, columns: Sequence[str], limit: int) -> int:
    members = branch.record.members
    rows = not branch.inner and branch.record.key is None
    size = _frame(branch) + (_COUNT if branch.inner else 0)
    for name in columns:
        if name in members:
            size += min(_length(members[name]), limit) + (1 if rows else len(name) + 4)
    return size


def _wanted(tree: Tree, answers: frozenset[Node]) -> list[Branch]:
    """What is asked for and what failed, with the things that it lies in."""
    failed = tree.alarms if len(tree.alarms) <= len(tree.every) // ALARM_SHARE else []
    found = [tree.every[at] for at in failed[:_MOST_FAILED]]
    found += [branch for branch in tree.every if branch.record.node in answers] if answers else []
    waiting, wanted = deque(found), list[Branch]()
    while waiting:
        branch = waiting.popleft()
        wanted.append(branch)
        if id(branch) in tree.parents:
            waiting.append(tree.parents[id(branch)])
    return wanted


def _connected(tree: Tree, within: set[int]) -> set[int]:
    """Without things whose holder has no room."""
    kept: set[int] = set()
    level = tree.top
    while level:
        inside = [branch for branch in level if id(branch) in within]
        kept |= {id(branch) for branch in inside}
        level = [child for branch in inside for child in branch.children]
    return kept


def _scores(every: list[Branch], seen: Survey) -> dict[str, int]:
    """What the fields of the things are worth; without those that only few have or that repeat the keys."""
    keyed = [branch.record for branch in every if branch.record.key is not None]
    present = Counter(name for branch in every for name in branch.record.members)
    return {
        name: points
        for name, points in seen.scores.items()
        if present[name] >= _PRESENT * len(every) and not (points == IDENTITY and keyed and _echoes(name, keyed))
    }


def _columns(tree: Tree, least: int, most: int) -> list[str]:
    scores = tree.scores
    naming = [name for name, points in scores.items() if points == IDENTITY]
    if least == TOLD:
        naming = [name for name in naming if not points_at(name)]
        return [*naming[:1], *[name for name, points in scores.items() if points == TEXT][:1]]
    telling = naming
    if not naming and tree.every[-1].record.key is None:
        telling = [name for name in scores if identifies(name)] or list(scores)[:1]
    others = [name for name, points in scores.items() if points >= least and name not in telling]
    return [*telling, *others][:most]


def _echoes(name: str, records: list[Record]) -> bool:
    """Whether a field only repeats the keys of the things."""
    named = [record for record in records if name in record.members]
    own = sum(1 for record in named if record.members[name].raw.find((record.key or "").encode()) > 0)
    return own >= _ECHOES * len(named)


def _length(node: Node) -> int:
    return 3 if node.raw[:1] in _CONTAINERS else len(node.raw)
