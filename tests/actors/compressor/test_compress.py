"""One response as a whole: what is touched, the shared budget, notes, keys, the structured copy."""

from __future__ import annotations

import json
import re

import pytest

from actors.compressor.messages import Cleaning, Policy
from config.tokens import cost
from tests.actors.compressor import texts
from tests.actors.compressor.texts import compress, delivered, issue, shortened, without_note

NOTE = (
    r"\[shortened: .{1,130} \| source intact \| stm_proxy_read_more\(key=\"\w{20}\", offset=0\)"
    r" or find=\"…\" \| ttl=1800s\]"
)


def test_short_texts_are_left_alone() -> None:
    text = '{"a": null, "tags": "[\\"a\\"]", "subtasks": [],  "pad": "' + "x" * 500 + '"}'
    assert compress(text).reply.texts == (None,)
    assert compress("\x1b[1m" + "x" * 1999).reply.texts[0] is not None or len("\x1b[1m" + "x" * 1999) <= 2003
    assert compress("x  \n" * 500).reply.texts == (None,)


def test_strategy_none_is_left_alone_at_any_length() -> None:
    made = compress(texts.log(5000), policy=Policy(strategy="none"), structured="{}")
    assert made.reply.texts == (None,)
    assert made.reply.strategy == "none"
    assert made.reply.keep_structured
    assert not made.originals


def test_between_untouched_and_budget_only_clean_and_only_if_it_pays() -> None:
    pretty = json.dumps({f"key{at}": {"value": at} for at in range(120)}, indent=4)
    made = compress(pretty)
    assert made.reply.strategy == "clean"
    assert delivered(made, pretty) == [json.dumps(json.loads(pretty), separators=(",", ":"))]
    assert not made.originals  # nothing was lost, so nothing needs a key
    assert compress(texts.code(30)).reply.texts == (None,)


def test_a_cleaned_page_carries_a_key_to_its_source() -> None:
    page = texts.page(40)
    made = compress(page)
    out = delivered(made, page)[0]
    assert made.reply.strategy == "clean"
    assert re.search(NOTE + "$", out)
    assert "cleaned, HTML to Markdown" in out
    assert made.originals[0].text == page
    assert "Part 39" in out


def test_the_note_is_one_line_of_the_agreed_form() -> None:
    for kind, text in texts.KINDS.items():
        out = shortened(text)
        last = out.splitlines()[-1]
        assert re.fullmatch(NOTE, last), (kind, last)
        assert out.count("[shortened: ") == 1


def test_counts_field() -> None:
    text = json.dumps({"slugs": [f"r{at}" for at in range(120)], "total": 120}, separators=(",", ":"))
    made = compress(text, policy=Policy(max_chars=700, max_tokens=200, untouched_chars=100))
    out = delivered(made, text)[0]
    body = json.loads(without_note(out))
    assert body["total"] == 120
    kept = [slug for slug in body["slugs"] if re.fullmatch(r"r\d+", slug)]
    assert f"{len(kept)} of 120 items" in out
    assert made.originals[0].text == text
    assert made.reply.keys == (issue(text, 0).key,)


def test_needle_log() -> None:
    text = texts.log(2000, (1371,)) + (
        "ERROR collecting test_broken.py\nE   ImportError: No module named 'nowhere'\n"
        "=== 3 failed, 97 passed, 1 error in 2.2s ===\n"
    )
    out = shortened(text)
    assert text.splitlines()[1370] in out
    assert "E   ImportError: No module named 'nowhere'" in out
    assert "=== 3 failed, 97 passed, 1 error in 2.2s ===" in out


def test_numbers_keep_their_lexemes() -> None:
    record = '{"id":9007199254740993,"x":1.10,"e":1E400,"neg":-0.0,"big":2512292042121000001,"name":"row %d"}'
    text = "[" + ",".join(record % at for at in range(900)) + "]"
    out = shortened(text)
    first = out[: out.index("}") + 1]
    assert first == "[" + record % 0
    assert "1.1," not in out


def test_the_same_input_gives_the_same_bytes() -> None:
    for text in texts.KINDS.values():
        assert shortened(text, query="line cache") == shortened(text, query="line cache")


def test_memory_only_originals_say_until_restart() -> None:
    text = texts.log(2000)
    out = delivered(compress(text, memory_only=True), text)[0]
    assert out.endswith("| ttl=1800s, until restart]")


def test_several_texts_share_one_budget_and_small_ones_stay() -> None:
    small, long, longer = "a short answer", texts.log(1500), texts.issues(200)
    made = compress(small, long, longer)
    out = delivered(made, small, long, longer)
    assert out[0] == small
    assert sum(map(len, out)) <= 16_000
    assert sum(map(cost, out)) <= 4_000
    assert min(len(out[1]), len(out[2])) > 2_000
    assert len(made.reply.keys) == 2


def test_very_many_texts_keep_the_first_ones_and_one_key() -> None:
    blocks = [f"block {at}: " + "word " * 150 for at in range(300)]
    made = compress(*blocks)
    out = delivered(made, *blocks)
    assert sum(map(len, out)) <= 16_000
    assert sum(map(cost, out)) <= 4_000
    whole = sum(1 for text, block in zip(out, blocks, strict=True) if text == block)
    assert whole >= 5
    assert f"{whole} of 300 text blocks" in out[whole]
    assert set(out[whole + 1 :]) == {""}
    assert made.originals[0].text == "\n".join(blocks)


def test_a_structured_copy_that_fits_is_kept() -> None:
    text = texts.issues(8)
    made = compress(text, structured=text)
    assert made.reply.texts == (None,)
    assert made.reply.keep_structured


@pytest.mark.parametrize("wrap", [False, True])
def test_a_structured_copy_goes_when_the_text_is_shortened(wrap: bool) -> None:
    text = texts.issues(100)
    structured = json.dumps({"result": json.loads(text)} if wrap else json.loads(text), indent=1)
    made = compress(text, structured=structured)
    assert not made.reply.keep_structured
    assert [original.text for original in made.originals] == [text]
    log = texts.log(2000)
    assert not compress(log, structured=json.dumps({"result": log})).reply.keep_structured


def test_a_copy_goes_when_only_both_together_are_too_long() -> None:
    text = texts.issues(20)
    made = compress(text, structured=text)
    assert made.reply.texts == (None,)
    assert not made.reply.keep_structured
    assert not made.originals


def test_structured_content_that_says_more_gets_a_key_of_its_own() -> None:
    text, structured = "see the structured part", texts.issues(100)
    made = compress(text, structured=structured)
    out = delivered(made, text)[0]
    assert out.startswith(
        f"{text}\n[shortened: structuredContent of {len(structured)} characters left out | source intact"
    )
    assert not made.reply.keep_structured
    assert [original.text for original in made.originals] == [structured]


def test_a_note_below_a_text_that_is_no_valid_unicode() -> None:
    text = "2026-11-01T10:00:00Z ERROR pool lost 41\n" * 3 + "\ud800"
    made = compress(text, structured=json.dumps([{"id": None}] * 35), policy=Policy(max_chars=600, max_tokens=300))
    (out,) = delivered(made, text)
    assert not made.reply.keep_structured
    assert out.startswith("2026-11-01T10:00:00Z ERROR pool lost 41\n") and "\ufffd\n" in out


def test_small_structured_content_stays_beside_a_shortened_text() -> None:
    text = texts.log(3000)
    made = compress(text, structured='{"count":3000}')
    assert made.reply.keep_structured
    assert made.reply.delivered_chars <= 16_000


def test_structured_content_can_be_kept_on_request() -> None:
    text = texts.issues(100)
    made = compress(text, structured=text, policy=Policy(keep_structured=True))
    assert made.reply.keep_structured
    assert made.reply.texts[0] is not None


def test_counts_of_the_reply() -> None:
    text = texts.log(3000)
    reply = compress(text, structured="{}").reply
    assert reply.original_chars == len(text) + 2
    assert reply.texts[0] is not None
    assert reply.delivered_chars == len(reply.texts[0].text) + 2
    assert reply.delivered_tokens <= 4_000 < reply.original_tokens


def test_when_storing_fails_everything_is_delivered_whole() -> None:
    whole = compress(texts.log(3000), structured=texts.issues(100)).whole
    assert whole.texts == (None,)
    assert whole.keep_structured
    assert whole.store_failed
    assert whole.keys == ()
    assert whole.delivered_chars == whole.original_chars


def test_cleaning_can_be_switched_off() -> None:
    page = texts.page(40)
    assert compress(page, policy=Policy(cleaning=Cleaning(enabled=False))).reply.texts == (None,)
