"""Subtitles: what is said, a line for each cue behind the time it begins."""

from __future__ import annotations

import re

_TIME = re.compile(r"(?:(\d{1,3}:\d\d:\d\d)|(\d\d:\d\d))[.,]\d{3} --> [\d:.,]{9,16}(?: .*)?$")
_NUMBER = re.compile(r"\d{1,6}$")
_SPEAKER = re.compile(r"<v(?:\.[\w.]{1,40})? ([^<>]{1,60})>")
_TAG = re.compile(r"</?(?:[cvibu]|ruby|rt|lang|font)(?:[. ][^<>]{0,80})?>|<\d\d:\d\d:\d\d\.\d{3}>")
_FEWEST = 10


def is_subtitles(head: str) -> bool:
    """Whether the beginning of a text is one of subtitles (WebVTT, SubRip)."""
    return head.count(" --> ") >= _FEWEST and sum(map(bool, map(_TIME.match, head.split("\n")))) >= _FEWEST


def spoken(text: str) -> str:
    """`[00:01:02] words` for each cue; what stands before the first one, and notes between them, as they are."""
    out: list[str] = []
    at: str | None = None
    said: list[str] = []

    def close() -> None:
        nonlocal at
        if at is not None and said:
            words = _TAG.sub("", _SPEAKER.sub(r"\1: ", " ".join(said)))
            out.append(f"[{at}] {words.strip()}")
        at = None
        said.clear()

    lines = [line.strip() for line in text.split("\n")]
    for place, line in enumerate(lines):
        if time := _TIME.match(line):
            close()
            at = time[1] or time[2]
        elif not line:
            close()
        elif at is not None:
            said.append(line)
        elif not (_NUMBER.match(line) and place + 1 < len(lines) and _TIME.match(lines[place + 1])):
            out.append(line)
    close()
    return "\n".join(out)
