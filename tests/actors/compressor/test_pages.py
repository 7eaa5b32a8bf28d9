"""Reading originals again: pages, searches, sections."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.compressor.budget import Budget
from actors.compressor.detect import detect
from actors.compressor.messages import ReadMore, SelectChunks
from actors.compressor.pages import FOOTER, find, page, valid
from actors.compressor.read import read_more, select_chunks
from actors.compressor.recall import Entry
from actors.compressor.sections import outline
from config.tokens import cost
from tests.actors.compressor import texts

KEY = "abcdefghij0123456789"
WIDE = Budget(16_000, 4_000)


def entry(text: str, chunk: int = 0) -> Entry:
    return Entry(text, "srv", "tool", "trace", chunk, 1800)


def read_all(text: str, limit: int | None, chars: int, tokens: int) -> str:
    """Follows the read-on lines to the end, as an agent does."""
    parts, offset = [], 0
    while True:
        made = read_more(ReadMore(key=KEY, offset=offset, limit=limit, max_chars=chars, max_tokens=tokens), entry(text))
        out = made.text.data.decode()
        assert not made.is_error
        assert len(out) <= chars
        assert cost(out) <= tokens
        body, _, footer = out.rpartition(FOOTER)
        assert len(body) == made.served
        parts.append(body)
        more = re.search(rf'\n\[-> stm_proxy_read_more\(key="{KEY}", offset=(\d+)\)\]$', footer)
        assert (more is not None) == ("has_more=True" in footer)
        if more is None:
            assert footer.startswith(f"{offset}-{len(text)}/{len(text)} | remaining=0 ")
            return "".join(parts)
        assert int(more[1]) == offset + made.served > offset
        offset = int(more[1])


@pytest.mark.parametrize("kind", sorted(texts.KINDS))
def test_pages_join_to_the_original(kind: str) -> None:
    assert read_all(texts.KINDS[kind], None, 16_000, 4_000) == texts.KINDS[kind]


CLUSTERS = ["a", "9", " ", "\n", "\r\n", "한", "é", "e\u0301", "👩\u200d💻", "🇰🇷", "\ud800", "\x00"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(CLUSTERS), max_size=400).map("".join), st.integers(1, 200) | st.none())
def test_pages_of_any_length_join_exactly(text: str, limit: int | None) -> None:
    assert read_all(text, limit, 400, 130) == valid(text)


def test_pages_do_not_part_clusters() -> None:
    text = "👩\u200d💻" * 100
    made = page(text, 0, 50, KEY, 1800, WIDE)
    assert made.end % 3 == 0


@pytest.mark.parametrize(
    ("offset", "limit", "words"),
    [(-1, None, "offset -1 is outside of 0 to 5"), (6, None, "offset 6 is outside"), (0, 0, "limit 0 is not")],
)
def test_positions_outside_are_refused(offset: int, limit: int | None, words: str) -> None:
    made = read_more(ReadMore(key=KEY, offset=offset, limit=limit), entry("hello"))
    assert made.is_error
    assert words in made.text.text


def test_the_end_is_an_empty_finished_page() -> None:
    made = read_more(ReadMore(key=KEY, offset=5), entry("hello"))
    assert made.text.text == f"{FOOTER}5-5/5 | remaining=0 | has_more=False | ttl=1800s]"
    assert made.served == 0
    assert made.server == "srv"
    assert made.trace_id == "trace"
    assert KEY not in made.key_digest


def test_progressive_originals_go_on_in_slices_with_hints() -> None:
    text = texts.markdown(60)
    made = read_more(ReadMore(key=KEY, offset=2_000), entry(text, chunk=1_000))
    assert 700 < made.served <= 1_000
    assert made.is_progressive
    assert re.search(r'\n\[Remaining: "Section \d+', made.text.text)


def test_find_brings_the_passage_with_its_offset() -> None:
    text = texts.log(4000, (1371,))
    made = read_more(ReadMore(key=KEY, find="FATAL quota"), entry(text))
    out = made.text.text
    assert text.splitlines()[1370] in out
    assert len(out) <= 4_200
    offset = int(re.search(r"\n@(\d+) \(line \d+\)\n", out)[1])  # type: ignore[index]
    passage = out.split(")\n", 1)[1].split("\n@")[0]
    assert text[offset:].startswith(passage)


def test_find_ranks_rare_words_that_stand_together_first() -> None:
    text = "\n".join(f"line {at} about cache and token" for at in range(900))
    text = text.replace("line 500 about", "zebra cache").replace("line 700 about", "line 700 zebra,")
    first = find(text, "zebra cache", KEY, WIDE).text.split("\n@")[1]
    assert "zebra" in first


@pytest.mark.parametrize(
    ("query", "hit"),
    [
        ('"exact phrase here"', "with the exact phrase here in it"),
        ("데이터베이스를", "데이터베이스가 느립니다"),
        ("E1185-462", "code E1185-462 seen"),
        ("ÇELIK", "Çelik met İstanbul"),
    ],
)
def test_find_knows_phrases_particles_and_codes(query: str, hit: str) -> None:
    text = texts.log(300) + hit + "\nphrase exact here\n" + texts.log(300, seed=8)
    assert hit in find(text, query, KEY, WIDE).text


def test_find_reads_through_json_escapes() -> None:
    text = json.dumps([{"n": at, "t": f"값 {at}"} for at in range(900)] + [{"n": 900, "t": "데이터베이스가 느립니다"}])
    out = find(text, "데이터베이스를", KEY, WIDE).text
    assert json.dumps("데이터베이스가 느립니다") in out


def test_find_in_one_long_line() -> None:
    text = texts.issues(200)
    title = json.loads(text)[123]["title"]
    assert title in find(text, f'"{title}"', KEY, WIDE).text


def test_find_without_a_match_says_so() -> None:
    assert find("some words", "absent", KEY, WIDE).text == '[find: nothing matches "absent" in 10 characters]'


def test_find_keeps_to_a_small_budget() -> None:
    made = read_more(ReadMore(key=KEY, find="INFO items", max_chars=300, max_tokens=100), entry(texts.log(900)))
    assert len(made.text.text) <= 300
    assert cost(made.text.text) <= 100


def test_sections_of_json_by_member_and_index() -> None:
    text = '{"a": [1.10, {"b": 2}], "c d": "x", "e": {}}'
    made = select_chunks(SelectChunks(key=KEY, sections=("c d", "a", "a.1", "zzz")), entry(text))
    assert not made.is_error
    assert made.text.text == (
        f'[section "c d" | chars=31-34/{len(text)}]\n"x"\n'
        f'[section "a" | chars=6-22/{len(text)}]\n[1.10, {{"b": 2}}]\n'
        f'[section "a.1" | chars=13-21/{len(text)}]\n{{"b": 2}}\n'
        '[unknown sections: "zzz" | there are 5: "a", "c d", "e", "a.0", "a.1"]'
    )
    assert made.served == 3 + 16 + 8


def test_sections_of_markdown_by_heading() -> None:
    text = "intro\n\n# One\n\ntext\n\n```\n# no heading\n```\n\n## Two\n\nmore\n\n## Two\n\nagain\n"
    form, found = outline(text, detect(text))
    assert form == "markdown"
    assert [section.key for section in found] == ["(top)", "One", "Two", "Two (2)"]
    assert "".join(text[section.start : section.end] for section in found) == text
    made = select_chunks(SelectChunks(key=KEY, sections=("Two (2)",)), entry(text))
    assert made.text.text.endswith("## Two\n\nagain\n\n")


def test_sections_of_other_texts_are_paragraphs() -> None:
    text = "first para\n\nsecond para\n\n" + "x" * 10_000
    form, found = outline(text, detect(text))
    assert form == "text"
    assert [section.key for section in found][:2] == ["1", "2"]
    assert "".join(text[section.start : section.end] for section in found) == text


def test_unknown_sections_only_is_an_error() -> None:
    made = select_chunks(SelectChunks(key=KEY, sections=("nope",)), entry('{"a":1}'))
    assert made.is_error
    assert made.text.text == '[unknown sections: "nope" | there are 1: "a"]'


@pytest.mark.parametrize("chars", [400, 600, 1_000, 4_000])
def test_what_is_said_about_unknown_sections_leaves_room_for_known_ones(chars: int) -> None:
    text = "ERROR pool lost 41\n" + "".join(f"## Heading number {at}\nsome words of part {at}\n" for at in range(40))
    wanted = ("", "Heading number 7", "of no such name", *(f"unknown {at}" for at in range(30)))
    answer = select_chunks(
        SelectChunks(key="k", sections=wanted, max_chars=chars, max_tokens=chars // 2), entry(text)
    ).text.text
    assert Budget(chars, chars // 2).fits(answer)
    assert "## Heading number 7" in answer
    assert "unknown sections" in answer


def test_sections_that_are_too_long_say_where_to_read_on() -> None:
    text = json.dumps({"big": "y" * 50_000, "small": 1, "other": "z" * 50_000})
    made = select_chunks(
        SelectChunks(key=KEY, sections=("big", "other", "small"), max_chars=3_000, max_tokens=1_500), entry(text)
    )
    out = made.text.text
    assert len(out) <= 3_000
    assert cost(out) <= 1_500
    offsets = [int(found) for found in re.findall(rf'\[-> stm_proxy_read_more\(key="{KEY}", offset=(\d+)\)\]', out)]
    assert len(offsets) == 2
    assert text[offsets[0]] == "y"
    assert "\n1\n" in out


def test_pages_with_lone_surrogates_keep_their_budget() -> None:
    text = (
        "2026-11-01T10:00:00Z ERROR pool lost 41\n" * 2
        + "\ud800\n" * 21
        + "2026-11-01T10:00:00Z ERROR pool lost 41\n" * 4
    )
    entry = Entry(text, "s", "t", "", 0, 1800)
    offset = 0
    while offset < len(text):
        page = read_more(ReadMore(key="k", offset=offset, max_chars=400, max_tokens=200), entry)
        assert Budget(400, 200).fits(page.text.text)
        offset += page.served
    for section in ("1", "2"):
        chunk = select_chunks(SelectChunks(key="k", sections=(section,), max_chars=400, max_tokens=200), entry)
        assert Budget(400, 200).fits(chunk.text.text)
