"""JSON with comments and trailing commas, as clients' configurations are written: read, and changed in one place with
every other byte left alone. Pure.

A path leads through objects by key and through lists by position; the position behind the last element appends one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)
_BLANKS = re.compile(r"\s*")
_KEY = re.compile(r'\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)


Path = Sequence[str | int]


class _Member(NamedTuple):
    """A member of an object or list: its decoded key or position, and where key and value stand."""

    key: str | int
    start: int
    value: int
    end: int


class _Object(NamedTuple):
    """An object or list: its members, and the offsets of its braces or brackets."""

    members: list[_Member]
    opening: int
    closing: int
    is_list: bool = False


def parse(text: str) -> dict[str, Any]:
    """The object in a text; `{}` for an empty one.

    Raises:
        ValueError: it is no JSON object; the message says where.
    """
    plain = _plain(text)
    if not plain.strip():
        return {}
    try:
        document = json.loads(plain)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("it must hold a JSON object")
    return document


def put(text: str, path: Path, value: Any) -> str:
    """The text with the member at `path` set, and objects and lists on the way to it made where they are missing or
    null.

    Raises:
        ValueError: the text is no JSON object, or something on the way is none.
    """
    parse(text)
    plain = _plain(text)
    if not plain.strip():
        return text + json.dumps(_nested(path, value), indent=2, ensure_ascii=False) + "\n"
    here = _object(plain, plain.index("{"))
    for depth, key in enumerate(path):
        member = _find(here, key)
        if member is None:
            return _insert(text, here, key, _nested(path[depth + 1 :], value))
        if depth == len(path) - 1 or plain[member.value : member.end] == "null":
            shown = _formatted(_nested(path[depth + 1 :], value), *_layout(text, here))
            return text[: member.value] + shown + text[member.end :]
        is_list = isinstance(path[depth + 1], int)
        if plain[member.value] != ("[" if is_list else "{"):
            raise ValueError(f'"{key}" must be {"a list" if is_list else "an object"}')
        here = _container(plain, member.value)
    raise ValueError("the path is empty")


def remove(text: str, path: Path) -> str:
    """The text without the member at `path`; the same text when there is no such member. Of a name that is there more
    than once none stays, since the one before would hold then.

    Raises:
        ValueError: the text is no JSON object.
    """
    fewer = _removed(text, path)
    while isinstance(path[-1], str) and fewer != text:
        text, fewer = fewer, _removed(fewer, path)
    return fewer


def _removed(text: str, path: Path) -> str:
    """The text without the last member at `path`."""
    parse(text)
    plain = _plain(text)
    if not plain.strip():
        return text
    here = _object(plain, plain.index("{"))
    for key in path[:-1]:
        member = _find(here, key)
        if member is None or plain[member.value] not in "{[":
            return text
        here = _container(plain, member.value)
    member = _find(here, path[-1])
    if member is None:
        return text
    at = here.members.index(member)
    if at:
        return text[: here.members[at - 1].end] + text[member.end :]
    if len(here.members) > 1:
        return text[: member.start] + text[here.members[1].start :]
    rest = text[member.end : here.closing].lstrip().removeprefix(",")
    inside = text[here.opening + 1 : member.start] + rest
    return text[: here.opening + 1] + (inside if inside.strip() else "") + text[here.closing :]


def is_empty(text: str, path: Path) -> bool:
    """Whether an object or a list stands at `path` that holds nothing, no comment either.

    Raises:
        ValueError: the text is no JSON object.
    """
    parse(text)
    plain = _plain(text)
    here = _object(plain, plain.index("{"))
    for key in path:
        member = _find(here, key)
        if member is None or plain[member.value] not in "{[":
            return False
        here = _container(plain, member.value)
    return not text[here.opening + 1 : here.closing].strip()


def _plain(text: str) -> str:
    """Strict JSON of the same length: comments and trailing commas become blanks."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])

    text = " " + text[1:] if text.startswith("\ufeff") else text
    return _TRAILING_COMMA.sub(blank, _TOKEN.sub(blank, text))


def _container(plain: str, opening: int) -> _Object:
    return _object(plain, opening) if plain[opening] == "{" else _list(plain, opening)


def _list(plain: str, opening: int) -> _Object:
    members: list[_Member] = []
    at = opening + 1
    while True:
        start = _after_blanks(plain, at)
        if plain[start] == "]":
            return _Object(members, opening, start, True)
        end, closed = _value_end(plain, start)
        members.append(_Member(len(members), start, start, start + len(plain[start:end].rstrip())))
        if closed:
            return _Object(members, opening, end, True)
        at = end + 1


def _object(plain: str, opening: int) -> _Object:
    members: list[_Member] = []
    at = opening + 1
    while key := _KEY.match(plain, at):
        end, closed = _value_end(plain, key.end())
        value_end = key.end() + len(plain[key.end() : end].rstrip())
        members.append(_Member(json.loads(key[1]), key.start(1), key.end(), value_end))
        at = end + 1
        if closed:
            return _Object(members, opening, end)
    return _Object(members, opening, plain.index("}", at))


def _after_blanks(plain: str, at: int) -> int:
    blanks = _BLANKS.match(plain, at)
    return blanks.end() if blanks is not None else at


def _value_end(plain: str, start: int) -> tuple[int, bool]:
    """Where the comma or brace after a value stands, and whether it is the brace."""
    depth = 0
    for match in _STRUCTURE.finditer(plain, start):
        sign = match[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            if depth == 0:
                return match.start(), True
            depth -= 1
        elif sign == "," and depth == 0:
            return match.start(), False
    raise ValueError("it ends in the middle of a value")


def _find(here: _Object, key: str | int) -> _Member | None:
    """The last member of that name, which is the one that parsers take."""
    return next((member for member in reversed(here.members) if member.key == key), None)


def _insert(text: str, here: _Object, key: str | int, value: Any) -> str:
    newline, indent, unit = _layout(text, here)
    member = _formatted(value, newline, indent, unit)
    if isinstance(key, str):
        member = f"{json.dumps(key, ensure_ascii=False)}: {member}"
    elif key != len(here.members):
        raise ValueError(f"a list of {len(here.members)} has no position {key}")
    if here.members:
        after = here.members[-1].end
        return text[:after] + "," + (newline + indent if newline else " ") + member + text[after:]
    inside = text[here.opening + 1 : here.closing]
    closing = "" if "\n" in inside else newline + indent.removesuffix(unit)
    kept = inside if inside.strip() or "\n" in inside else ""
    return text[: here.opening + 1] + newline + indent + member + kept + closing + text[here.closing :]


def _layout(text: str, here: _Object) -> tuple[str, str, str]:
    """Line break (empty in an object on one line), indentation of the object's members, and one step of it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indentation(text, here.opening)
    unit = _unit(text)
    if not here.members:
        return newline, outer + unit, unit
    line = text[text.rfind("\n", 0, here.members[0].start) + 1 : here.members[0].start]
    return ("", "", unit) if line.strip() else (newline, line, unit)


def _unit(text: str) -> str:
    """One step of indentation: that of the first indented line."""
    first = re.search(r"\n([ \t]+)[^\s]", text)
    return first[1] if first else "  "


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _formatted(value: Any, newline: str, indent: str, unit: str) -> str:
    if not newline:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value} if isinstance(key, str) else [value]
    return value
