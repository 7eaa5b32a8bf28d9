"""Subtitles as video and meeting servers hand them out."""

from __future__ import annotations

import pytest

from actors.compressor.subtitles import is_subtitles, spoken
from tests.actors.compressor.texts import shortened

VTT = """\
WEBVTT

NOTE made by hand

1
00:00:01.000 --> 00:00:03.500 align:start
<v Kim>We begin <c.loud>now</c>,
and slowly.</v>

00:01:02.250 --> 00:01:04.000
<00:01:02.500><c>words</c> timed one by one
"""
SRT = """\
1
00:00:01,000 --> 00:00:03,500
<i>We begin</i>

2
01:00:02,250 --> 01:00:04,000
1984
was a year
"""


def test_each_cue_is_a_line() -> None:
    assert spoken(VTT) == (
        "WEBVTT\nNOTE made by hand\n[00:00:01] Kim: We begin now, and slowly.\n[00:01:02] words timed one by one"
    )
    assert spoken(SRT) == "[00:00:01] We begin\n[01:00:02] 1984 was a year"


@pytest.mark.parametrize("mark", [".", ","])
def test_more_of_what_was_said_has_room(mark: str) -> None:
    cues = [
        f"{at + 1}\n00:{at // 30:02}:{at * 2 % 60:02}{mark}000 --> 00:{at // 30:02}:{at * 2 % 60 + 1:02}{mark}500\n"
        f"<v Dana>This is the sentence with the number {at} of all that was said.</v>\n"
        for at in range(600)
    ]
    cues[300] = cues[300].replace("This is the", "So we agreed to drop the")
    text = "\n".join(["WEBVTT\n", *cues] if mark == "." else cues)
    assert is_subtitles(text[:4_000])
    out = shortened(text)
    assert "[00:10:00] Dana: So we agreed to drop the sentence with the number 300" in out
    assert "cue numbers and end times" in out
    assert " --> " not in out


def test_other_texts_with_arrows_are_none() -> None:
    assert not is_subtitles("\n".join(f"a --> b{at}" for at in range(100)))
    assert not is_subtitles("2026-01-01 10:00:00.123 --> started\n" * 50)
