"""A JSON value in a given room: what names things and says how they are comes first, the rest shares what is left.

Unlike a rung, which cuts alike everywhere, this gives each part what it needs: small ones stay whole, large ones share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, starmap

from actors.compressor import jsontext
from actors.compressor.jsontext import Node
from actors.compressor.strategies.columns import IDENTITY, STATE, TEXT, continues, person, worth
from actors.compressor.strategies.records import alarming
from actors.compressor.strategies.series import odd
from actors.compressor.units import safe_cut

_LEAST_TEXT, _LEAST_PART, _NAMED = 24, 18, 72
_LABEL, _MARK = 160, 24
"""What a name or a text gets before anything else shares, and what a count of left out members takes."""
_KEYS_FROM = 6
"""So many members that are left out are listed by name, where they are containers."""
_MOST_RANKED = 8_000
"""Members of one object that are compared; those that come after them are only counted, apart from answers."""
_OPENED = 48
"""Code points that a part gets at least where not all parts have room."""
_DEEPEST = 40
"""Levels below which a container is a count."""
_QUOTED = (0.85, 0.6)
"""What JSON may take of the room of the string that it is in, where quotes are escaped."""
_SHORT, _SMALL = 40, 120
_CLOSED = jsontext.quote("…")
ASKED, FIRST, STATED, TOLD, PLAIN, PART, LAST = range(7)

Shorten = Callable[[str, int], str]
"""A text of many lines in so many code points."""
LEAST_EXCERPT, FEWEST_LINES = 240, 12
"""Room and lines from which on a text is shortened as what it is, instead of cut."""
Listing = Callable[[Node, int], str | None]
"""An array or object of records as a listing of so many code points at most; `None` where it is none or none fits."""


Weighed = tuple[str, Node, int, int, int]
"""What is known of a member before it shares: the arguments of `_Member`."""


@dataclass(eq=False, slots=True)
class _Member:
    """One member on its way: its name as JSON, its rank, the least that it takes and what it would take."""

    name: str
    node: Node
    rank: int
    least: int
    full: int

    @property
    def cost(self) -> int:
        return len(self.name) + 2 + self.least


@dataclass(frozen=True)
class Fit:
    """Fits values into rooms, in code points.

    Attributes:
        listing: how records are listed.
        answers: values that are asked for; they come first and are not cut.
        shorten: how a text of many lines is shortened, as what it is.
        weighed: the members of objects, looked at once for all the rooms that they are fitted into.
    """

    listing: Listing
    answers: frozenset[Node] = frozenset()
    shorten: Shorten | None = None
    weighed: dict[Node, list[Weighed]] = field(default_factory=dict)

    def render(self, node: Node, room: int, depth: int = 0) -> str:
        """The value in at most `room` code points; numbers and the like are never cut but left out."""
        whole = node.raw.decode()
        if len(whole) <= room:
            return whole
        first = node.raw[:1]
        if first == b'"':
            return self.text(node, room, depth)
        if first == b"{":
            return self._object(node, room, depth) if depth < _DEEPEST else _CLOSED
        return self._array(node, room, depth) if first == b"[" and depth < _DEEPEST else _CLOSED

    def text(self, node: Node, room: int, depth: int = 0) -> str:
        """A string cut to the room; the JSON that it holds is fitted instead."""
        inner = self.document(node, room, depth) if room >= 2 * _LABEL // 3 else None
        if inner is not None:
            return inner
        text = jsontext.string(node.raw)
        if self.shorten is not None and room >= LEAST_EXCERPT and node.raw.count(b"\\n") >= FEWEST_LINES:
            for share in _QUOTED:
                quoted = jsontext.quote(self.shorten(text, int(room * share)))
                if len(quoted) <= room:
                    return quoted
        length = room - len(f'"…+{len(text)}"')
        while length > 0:
            cut = safe_cut(text, length, 1)
            quoted = jsontext.quote(f"{text[:cut]}…+{len(text) - cut}")
            if len(quoted) <= room:
                return quoted
            length -= len(quoted) - room
        return _CLOSED

    def document(self, node: Node, room: int, depth: int = 0) -> str | None:
        """The JSON in a string, fitted, as a string again; `None` where there is none, or no room for it."""
        inner = node.document
        if inner is None:
            return None
        for share in _QUOTED:
            quoted = jsontext.quote(self.render(inner, int(room * share), depth + 1))
            if len(quoted) <= room:
                return quoted
        return None

    def _object(self, node: Node, room: int, depth: int) -> str:
        listed = self.listing(node, room)
        if listed is not None:
            return listed
        every = node.members
        if node not in self.weighed:
            beyond = islice(every.items(), _MOST_RANKED, None) if self.answers else ()
            self.weighed[node] = [self._weigh(name, value) for name, value in islice(every.items(), _MOST_RANKED)]
            self.weighed[node] += [self._weigh(name, value) for name, value in beyond if value in self.answers]
        members = [*starmap(_Member, self.weighed[node])]
        room -= 2
        shown = members if sum(member.cost for member in members) <= room else self._shown(members, room - _MARK)
        if not shown:
            return jsontext.quote(f"…+{len(every)} members")
        places = {id(member) for member in shown}
        left = [member for member in members if id(member) not in places]
        used = sum(member.cost for member in shown)
        rest = self._rest(left, len(every) - len(shown), room - used) if len(shown) < len(every) else ""
        texts = self._shared(shown, room - used - len(rest), depth)
        parts = [f"{member.name}:{texts[id(member)]}" for member in members if id(member) in texts]
        return "{" + ",".join([*parts, rest] if rest else parts) + "}"

    def _weigh(self, name: str, node: Node) -> Weighed:
        first, full = node.raw[:1], len(node.raw)
        rank = self._rank(name, node)
        if first == b'"':
            least = full if rank == FIRST and continues(name) else min(full, _NAMED if rank <= STATED else _LEAST_TEXT)
        elif first in (b"{", b"["):
            least = min(full, _LEAST_PART)
        else:
            least = full
        return jsontext.quote(name), node, rank, least, full

    def _rank(self, name: str, node: Node) -> int:
        if node in self.answers:
            return ASKED
        raw = node.raw
        if alarming(node) or (continues(name) and len(node.raw) > _LEAST_PART):
            return FIRST
        if len(raw) <= 4 and raw in (b"null", b'""', b"{}", b"[]"):
            return LAST
        if raw[:1] in (b"{", b"["):
            return PLAIN if len(raw) <= _SMALL else LAST if person(name) else PART
        points = worth(name, raw)
        return {IDENTITY: FIRST, STATE: STATED, TEXT: TOLD}.get(points, LAST if points < 2 else PLAIN)

    def _shown(self, members: list[_Member], room: int) -> list[_Member]:
        """The members that have a place: by rank, and where only names have room, the first of the others."""
        shown: list[_Member] = []
        parts = [member for member in members if member.rank == PART]
        keys = sum(len(member.name) + 1 for member in parts) if len(parts) >= _KEYS_FROM else 0
        for member in sorted(members, key=lambda member: member.rank):
            cost = member.cost
            if keys and member.rank == PART:
                # The names of all parts come before the inside of one.
                cost += min(member.full, _OPENED) - member.least - len(member.name) - 1
                if cost > room - keys:
                    break
            elif cost > room:
                break
            room -= cost
            shown.append(member)
        return shown

    def _rest(self, left: list[_Member], count: int, room: int) -> str:
        """What stands for `count` members that are left out: their names where they are many parts, else that."""
        if sum(member.rank == PART for member in left) >= _KEYS_FROM:
            head = f'"…":{{"left out":"+{count} members","key":['
            names: list[str] = []
            length = len(head) + 2
            for member in left:
                length += len(member.name) + 1
                if length > room:
                    break
                names.append(member.name)
            if names:
                return head + ",".join(names) + "]}"
        return f'"…":"+{count} members"'

    def _shared(self, shown: list[_Member], room: int, depth: int) -> dict[int, str]:
        """The values of members: what names and tells gets room first, then all share, those that need least first."""
        for member in sorted(shown, key=lambda member: (member.rank, member.full)):
            if member.rank <= PLAIN:
                most = member.full if member.rank == ASKED else min(member.full, _LABEL)
                more = max(0, min(most - member.least, room))
                member.least += more
                room -= more
        texts: dict[int, str] = {}
        waiting = sorted(shown, key=lambda member: (member.rank == LAST, member.full - member.least))
        telling = sum(member.rank != LAST for member in waiting)
        for at, member in enumerate(waiting):
            share = member.least + max(0, room // ((telling if at < telling else len(waiting)) - at))
            text = self.render(member.node, share, depth + 1)
            texts[id(member)] = text
            room -= len(text) - member.least
        return texts

    def _array(self, node: Node, room: int, depth: int) -> str:
        listed = self.listing(node, room)
        if listed is not None:
            return listed
        items = node.items
        containers = any(item.raw[:1] in (b"{", b"[") and len(item.raw) > _SHORT for item in items[:4])
        room -= 2 + _MARK
        if not containers:
            return self._plain(items, room)
        if room < _LEAST_PART:
            return jsontext.quote(f"…+{len(items)} items")
        kept = max(1, min(len(items), room // (2 * _OPENED)))
        wanted = sorted({*range(kept), *(at for at, item in enumerate(items) if item in self.answers)})
        chosen = [_part(items[at]) for at in wanted]
        texts = self._shared(chosen, room - sum(member.least + 1 for member in chosen), depth)
        parts = [texts[id(member)] for member in chosen]
        if len(items) > len(parts):
            parts.append(jsontext.quote(f"…+{len(items) - len(parts)} items"))
        return "[" + ",".join(parts) + "]"

    def _plain(self, items: Sequence[Node], room: int) -> str:
        """Short values: those that stand out and those that are asked for, and a run from the top."""
        asked = [at for at, item in jsontext.made(items) if item in self.answers] if self.answers else []
        later = {*asked, *odd(items)}
        kept: dict[int, str] = {}
        for at in [*sorted(later), *range(len(items))]:
            text = self.render(items[at], max(_LEAST_TEXT, min(room - 1, _LABEL))) if at not in kept else ""
            if len(text) + 1 > room:
                break
            if text:
                room -= len(text) + 1 + (_MARK if at in later else 0)
                kept[at] = text
        if not kept:
            return jsontext.quote(f"…+{len(items)} items")
        parts: list[str] = []
        before = -1
        for at in [*sorted(kept), len(items)]:
            if at > before + 1:
                parts.append(jsontext.quote(f"…+{at - before - 1} items"))
            parts += [kept[at]] if at in kept else []
            before = at
        return "[" + ",".join(parts) + "]"


def _part(item: Node) -> _Member:
    """An item of a list, which has no name."""
    return _Member("", item, PART, min(len(item.raw), _LEAST_PART), len(item.raw))
