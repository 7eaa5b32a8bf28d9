"""Python values printed as they are (`[{'id': 1, 'name': None}]`), which some servers answer with, as JSON."""

from __future__ import annotations

import json
import re

_TOKEN = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|\bNone\b|\bTrue\b|\bFalse\b|[()]|,(?=\s*[)\]}])", re.S)
_WORDS = {"None": "null", "True": "true", "False": "false", "(": "[", ")": "]"}
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.S)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_MOST = 4_000_000
STARTS = ("[{'", "{'", "[('", "['", '[("', "[(")


def as_json(text: str) -> str | None:
    """The text with Python's words, strings and tuples written as JSON's; `None` where it does not begin like one.

    Whether the result is JSON is for its reader to find out.
    """
    if len(text) > _MOST or not text.startswith(STARTS):
        return None
    return _TOKEN.sub(_token, text)


def _token(found: re.Match[str]) -> str:
    token = found[0]
    if token[0] in "'\"":
        inner = token[1:-1]
        if "\\" not in inner and '"' not in inner and inner.isprintable():
            return f'"{inner}"'
        return json.dumps(_ESCAPE.sub(_escape, inner) if "\\" in inner else inner, ensure_ascii=False)
    return _WORDS.get(token, "")


def _escape(found: re.Match[str]) -> str:
    code = found[0][1:]
    if code in _SIMPLE:
        return _SIMPLE[code]
    if code[0] in "xuU":
        point = int(code[1:], 16)
        return chr(point) if point <= 0x10FFFF else found[0]
    return chr(int(code, 8)) if code[0] in "01234567" else found[0]
