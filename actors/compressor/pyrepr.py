"""Python values printed as they are (`[{'id': 1, 'name': None}]`), which some servers answer with, as JSON."""

from __future__ import annotations

import json
import re

_STRING = re.compile(r"('(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\")", re.S)
_WHOLE = re.compile(rf"(?:[^'\"]++|{_STRING.pattern})*+\Z", re.S)
"""Every string that is opened ends; where one does not, looking for its end from each quote would take for ever."""
_LAST_COMMA = re.compile(r",\s{0,100}([\])}])")
_WORDS = (("None", "null"), ("True", "true"), ("False", "false"), ("(", "["), (")", "]"))
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
    for word, other in _WORDS:
        outside = outside.replace(word, other)
    pieces[::2] = _LAST_COMMA.sub(r"\1", outside).split(_BETWEEN)
    pieces[1::2] = [_string(piece) for piece in pieces[1::2]]
    return "".join(pieces)


def _string(token: str) -> str:
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
