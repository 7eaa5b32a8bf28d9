"""What the gateway keeps while the compressor is down can be read and searched like any shortened response."""

from __future__ import annotations

import re

import pytest

from gateway.fallback import Fallback

TEXT = "".join(f"row {number} of the ledger\n" for number in range(2_000)) + "Ende: Straße gesperrt (a+b).\n"


@pytest.fixture
def kept() -> tuple[Fallback, str]:
    fallback = Fallback()
    short = fallback.shorten(TEXT, 2_000, 2_000)
    assert len(short) <= 2_000
    return fallback, re.findall(r'key="([^"]+)"', short)[0]


def test_pages_make_up_the_whole(kept: tuple[Fallback, str]) -> None:
    fallback, key = kept
    read, offset = "", 0
    while offset < len(TEXT):
        page = fallback.read(key, offset, None, 2_000)
        assert page is not None
        read += page.split("\n---\n[progressive:")[0]
        offset = int(re.findall(r"chars=\d+-(\d+)/", page)[0])
    assert read == TEXT
    assert fallback.read("local-unknown", 0, None, 2_000) is None


@pytest.mark.parametrize("words", ["row 1234 of", "ROW 1234 OF", "  row 1234 of ", "straße gesperrt (A+B)", "is Ende:"])
def test_words_are_found(kept: tuple[Fallback, str], words: str) -> None:
    fallback, key = kept
    page = fallback.read(key, 0, None, 2_000, words)
    assert page is not None
    assert ("row 1234 of the ledger" if "1234" in words else "Ende: Straße gesperrt") in page
    assert len(page) <= 2_000


def test_words_that_are_not_there_are_said_to_be_missing(kept: tuple[Fallback, str]) -> None:
    fallback, key = kept
    page = fallback.read(key, 0, None, 2_000, 'no "such\nthing')
    assert page is not None
    assert page == f'[find: nothing matches "no \\"such\\nthing" in {len(TEXT)} characters]'
