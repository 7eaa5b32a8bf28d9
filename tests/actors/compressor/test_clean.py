from __future__ import annotations

import base64
import json
import random

import pytest

from actors.compressor.clean import clean
from actors.compressor.detect import Kind, Seen, look
from actors.compressor.messages import Cleaning
from tests.actors.compressor import texts


def cleaned(text: str, switches: Cleaning | None = None) -> tuple[str, tuple[str, ...]]:
    made = clean(text, look(text), switches or Cleaning())
    return made.text, made.dropped


def test_escapes_and_trailing_white_space_go_without_a_word() -> None:
    assert cleaned("\x1b[31mred\x1b[0m text   \n\x1b]0;title\x07next\t\n") == ("red text\nnext\n", ())


def test_code_keeps_its_indentation_and_blank_lines() -> None:
    source = texts.code(3)
    assert cleaned(source) == (source, ())


def test_json_is_minified_with_its_lexemes() -> None:
    assert cleaned('{ "x": 1.10,\n "s": "a  b  " }') == ('{"x":1.10,"s":"a  b  "}', ())


def test_identical_lines_in_a_row_are_counted() -> None:
    text, dropped = cleaned("start of it\n" + "connection lost, trying again\n" * 40 + "end of it\n")
    assert "connection lost, trying again [×40]" in text
    assert text.count("connection lost") == 1
    assert dropped == ("repeats",)


def test_a_paragraph_that_comes_again_is_named() -> None:
    paragraph = texts.sentence(random.Random(1), 40)
    text, dropped = cleaned(f"{paragraph}\n\nsomething else\n\n{paragraph}\n")
    assert text.count(paragraph) == 1
    assert f"begins “{paragraph[:40].strip()}”" in text
    assert dropped == ("repeats",)


def test_repeats_inside_fences_stay() -> None:
    text = "## A\n\n## B\n\n```\n" + "same line\n" * 9 + "```\n"
    assert cleaned(text)[0] == text


def test_base64_is_named_by_type_and_size() -> None:
    blob = base64.b64encode(bytes.fromhex("89504e470d0a1a0a") + bytes(range(256)) * 4).decode()
    text, dropped = cleaned(f"image: data:image/png;base64,{blob} end")
    assert text == "image: [base64 image/png, 1032 bytes] end"
    assert dropped == ("base64",)
    lines = "\n".join(blob[at : at + 76] for at in range(0, len(blob), 76))
    assert cleaned(f"-----BEGIN X-----\n{lines}\n-----END X-----")[0] == (
        "-----BEGIN X-----\n[base64 image/png, 1032 bytes]\n-----END X-----"
    )


@pytest.mark.parametrize("text", ["a" * 400, "0123456789" * 40, "HELLO" * 60])
def test_long_words_and_numbers_are_no_base64(text: str) -> None:
    assert cleaned(text) == (text, ())


def test_link_floods_keep_their_first_links_and_a_count() -> None:
    flood = "\n".join(f"- [page {n}](https://example.org/{n})" for n in range(60))
    text, dropped = cleaned(f"## Links\n\n{flood}\n\n## After\n\nwords\n")
    assert "[page 3]" in text
    assert "[page 4]" not in text
    assert "[56 more links]" in text
    assert dropped == ("links",)


def test_progress_bars_keep_their_last_state() -> None:
    assert cleaned("load 1%\rload 50%\rload 100%\ndone and finished\r\n")[0] == "load 100%\ndone and finished\n"


def test_lines_of_a_system_that_ends_them_with_carriage_returns_stay() -> None:
    text = "the first line\rthe second one\rand a third, all different"
    assert cleaned(text) == (text, ())


def test_switches() -> None:
    repeated = "one and the same line\n" * 9
    assert cleaned(repeated, Cleaning(deduplicate=False)) == (repeated, ())
    html = texts.page(3)
    assert cleaned(html, Cleaning(strip_html=False))[0] == html
    assert cleaned("\x1b[1mx", Cleaning(enabled=False)) == ("\x1b[1mx", ())


def test_a_diff_keeps_the_blank_of_its_context_lines() -> None:
    text = texts.diff(2) + " \n"
    assert clean(text, Seen(Kind.DIFF), Cleaning()).text == text


def test_nothing_but_escapes_is_said_to_be_dropped() -> None:
    assert cleaned("\x1b[0m" * 50) == ("", ("nothing but white space and escapes",))


def test_what_is_too_long_to_clean_still_says_what_it_was_freed_from() -> None:
    text = "one of very many lines\n" * 200_000
    assert cleaned(json.dumps(text)) == (text, ("JSON string to text",))
