"""Python values printed as they are (`[{'id': 1, 'name': None}]`), which some servers answer with, as JSON."""

from __future__ import annotations

import json
import re

_STRING = re.compile(r"('(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\")", re.S)
_WHOLE = re.compile(rf"(?:[^'\"]++|{_STRING.pattern})*+\Z", re.S)
"""Every string that is opened ends; where one does not, looking for its end from each quote would take for ever."""
_LAST_COMMA = re.compile(r",\s{0,100}([\])}])")
_WORDS = (("None", "null"), ("True", "true"), ("False", "false"), ("(", "["), (")", "]"))
_CALL = re.compile(r"(?:(?P<call>Decimal|(?:uuid\.)?UUID)\()?\0(?(call)\))")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,40})(?:\.\d{1,40})?(?:[eE][+-]?\d{1,4})?")
_DATE = re.compile(
    r"\b(?:datetime\.)?date(?:time)?\((?P<parts>\d{1,4}(?:, ?\d{1,6}){2,6})"
    r"(?P<zone>, ?tzinfo=[\w.]{0,60}(?i:utc)(?:\(\))?)?\)"
)
"""Without a zone or in UTC: what another one is worth only its own code knows."""
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.S)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_MOST = 2_500_000
_STARTS = ("[{'", "{'", "[('", "['", '[("', "[(")
_BETWEEN = "\0"


def as_json(text: str) -> str | None:
    """The text with Python's words, strings and tuples written as JSON's; `None` where it does not begin like one.

    Whether the result is JSON is for its reader to find out.
    """
    if len(text) > _MOST or not text.startswith(_STARTS) or _BETWEEN in text or not _WHOLE.match(text):
        return None
    pieces = _STRING.split(text)
    outside = _BETWEEN.join(pieces[::2])
    if "Decimal(" in outside or "UUID(" in outside:
        outside = _constructed(outside, pieces)
    if "date" in outside:
        outside = _DATE.sub(_date, outside)
    for word, other in _WORDS:
        outside = outside.replace(word, other)
    pieces[::2] = _LAST_COMMA.sub(r"\1", outside).split(_BETWEEN)
    pieces[1::2] = [_string(piece) for piece in pieces[1::2]]
    return "".join(pieces)


def _constructed(outside: str, pieces: list[str]) -> str:
    """Without the calls around strings: of a `Decimal` its digits, of a `UUID` its text."""
    at = -1

    def bare(found: re.Match[str]) -> str:
        nonlocal at
        at += 1
        if found["call"] == "Decimal" and _NUMBER.fullmatch(pieces[2 * at + 1][1:-1]):
            pieces[2 * at + 1] = pieces[2 * at + 1][1:-1]
        return _BETWEEN

    return _CALL.sub(bare, outside)


def _date(found: re.Match[str]) -> str:
    parts = [int(part) for part in found["parts"].split(",")]
    day = "-".join(f"{part:0{width}}" for part, width in zip(parts[:3], (4, 2, 2), strict=False))
    if len(parts) == 3:
        return f'"{day}"'
    hours = ":".join(f"{part:02}" for part in [*parts[3:6], 0, 0][: max(2, min(3, len(parts) - 3))])
    fraction = f".{parts[6]:06}" if len(parts) > 6 else ""
    zone = "+00:00" if found["zone"] else ""
    return f'"{day}T{hours}{fraction}{zone}"'


def _string(token: str) -> str:
    if token[0] not in "'\"":
        return token
    inner = token[1:-1]
    if "\\" not in inner and '"' not in inner and inner.isprintable():
        return f'"{inner}"'
    return json.dumps(_ESCAPE.sub(_escape, inner) if "\\" in inner else inner, ensure_ascii=False)


def _escape(found: re.Match[str]) -> str:
    code = found[0][1:]
    if code in _SIMPLE:
        return _SIMPLE[code]
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point <= 0x10FFFF else found[0]
    return chr(int(code, 8)) if code[0] in "01234567" else found[0]
