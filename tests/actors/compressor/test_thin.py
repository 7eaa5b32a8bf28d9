"""Texts that are too long to be read whole."""

from __future__ import annotations

import random
import re

from actors.compressor.messages import Policy
from actors.compressor.thin import LARGE, thin
from tests.actors.compressor.texts import shortened
from tests.bench.compress import milliseconds, sized


def numbered(lines: int, odd: dict[int, str]) -> str:
    rng = random.Random(1)
    return "\n".join(
        odd.get(at, f"2026-11-01T10:00:00Z INFO step {at} took {rng.randint(1, 999)} ms") for at in range(1, lines + 1)
    )


def test_trouble_and_both_ends_are_found_in_a_text_that_is_thinned() -> None:
    text = numbered(60_000, {31_337: "2026-11-01T10:00:00Z FATAL db quota exceeded in segment 31337"})
    assert len(text) > LARGE
    out = shortened(text)
    assert "FATAL db quota exceeded in segment 31337" in out
    assert "step 1 took" in out
    assert "step 60000 took" in out
    assert "of 60000 lines" in out


def test_a_rare_word_of_trouble_is_found_behind_frequent_ones() -> None:
    odd = {at: f"2026-11-01T10:00:00Z INFO step {at} wrote the process exit code" for at in range(100, 60_000, 7)}
    # Neither the first of its stretch, nor among the first thousands of its kind, nor shouted by chance.
    odd |= {41_003: "Traceback (most recent call last):", 50_003: "2026-11-01T10:00:00Z ERROR pool lost 50003"}
    odd |= {at: f"2026-11-01T10:00:00Z INFO step {at} has no error" for at in range(101, 60_000, 7)}
    out = shortened(numbered(60_000, odd))
    assert "Traceback (most recent call last):" in out
    assert "ERROR pool lost 50003" in out


def test_what_is_left_out_is_named_by_the_lines_of_the_whole_text() -> None:
    text = numbered(60_000, {41_000: "2026-11-01T10:00:00Z ERROR pool lost 41000"})
    lines = text.split("\n")
    out = shortened(text).rsplit("\n[shortened: ", 1)[0]
    number = 1
    for line in out.split("\n"):
        gap = re.fullmatch(r"\[lines? (\d+)(?:-(\d+))?\]", line)
        if gap:
            assert int(gap[1]) == number
            number = int(gap[2] or gap[1]) + 1
        else:
            assert line == lines[number - 1]
            number += 1
    assert number == len(lines) + 1


def test_the_query_reaches_into_a_text_that_is_thinned() -> None:
    text = numbered(60_000, {23_456: "2026-11-01T10:00:00Z INFO voucher zebrafish redeemed"})
    assert "zebrafish" not in shortened(text)
    assert "voucher zebrafish redeemed" in shortened(text, query="zebrafish voucher")


def test_a_second_hit_of_a_query_in_one_stretch_is_found() -> None:
    odd = {at: f"2026-11-01T10:00:00Z INFO step {at} asks the zebra" for at in (30_000, 30_100)}
    odd[30_100] += " and hears 7741"
    text = numbered(60_000, odd)
    assert "asks the zebra and hears 7741" in shortened(text, query="zebra")


def test_a_thinned_text_is_a_part_of_the_whole() -> None:
    text = numbered(80_000, {})
    lines = text.split("\n")
    made = thin(text, "")
    assert len(made.text) < len(text) / 2
    assert made.total_lines == len(lines)
    assert [lines[number - 1] for number in made.lines] == made.text.split("\n")


def test_one_endless_line_is_thinned_too() -> None:
    text = "word " * 600_000
    out = shortened(text, Policy(max_chars=4_000, max_tokens=1_000))
    assert len(out) <= 4_000
    assert out.startswith("word word")


def test_time_grows_no_faster_than_the_text() -> None:
    for kind in ("log", "json"):
        small, large = (milliseconds(sized(kind, size), 2) for size in (200_000, 2_000_000))
        assert large <= 20 * small, kind
