"""Responses without a text, and JSON in very small budgets."""

from __future__ import annotations

import json

import pytest

from actors.compressor.messages import Policy
from tests.actors.compressor import texts
from tests.actors.compressor.texts import compress, without_note


def test_structured_content_alone_is_replaced_by_a_text_within_the_budget() -> None:
    whole = texts.issues(120)
    made = compress(structured=whole, policy=Policy(max_chars=6_000, max_tokens=1_500))
    assert made.reply.stand_in is not None
    out = made.reply.stand_in.text
    assert len(out) <= 6_000
    assert not made.reply.keep_structured
    assert made.reply.keys[0] in out
    assert [original.text for original in made.originals] == [whole]
    assert json.loads(without_note(out))[0]["number"] == 120


def test_structured_content_alone_stays_within_the_budget_and_where_it_is_asked_for() -> None:
    for structured, policy in (
        ('{"count":1.10}', Policy()),
        (texts.issues(120), Policy(max_chars=6_000, keep_structured=True)),
        (texts.issues(120), Policy(max_chars=6_000, strategy="none")),
    ):
        made = compress(structured=structured, policy=policy)
        assert made.reply.keep_structured
        assert made.reply.stand_in is None
        assert not made.originals


def test_a_store_that_fails_leaves_structured_content_as_it_is() -> None:
    made = compress(structured=texts.issues(120), policy=Policy(max_chars=6_000))
    assert made.whole.keep_structured
    assert made.whole.stand_in is None
    assert made.whole.store_failed


SMALL = {
    "records": texts.issues(40),
    "object": json.dumps({f"key{at}": {"list": [*range(30)], "text": "words " * 9} for at in range(80)}),
    "lines": texts.KINDS["ndjson"],
    "strings": json.dumps(["x" * 40] * 200),
}


@pytest.mark.parametrize("strategy", ["auto", "schema_pruning", "extract_fields"])
def test_json_stays_json_where_the_answer_to_the_query_is_too_long(strategy: str) -> None:
    answers = {f"key{at}": [{"voucher": "zebrafish " * 30, "at": at}] * 9 for at in range(8)}
    policy = Policy(strategy=strategy, max_chars=400, max_tokens=300, untouched_chars=50)
    out = texts.shortened(json.dumps(answers), policy, query="zebrafish voucher")
    assert len(out) <= 400
    assert json.loads(without_note(out))


DEEP = {
    "an answer below": '{"under":' * 600 + '{"voucher":"zebrafish"}' + "}" * 600,
    "an answer beside": '{"voucher":"zebrafish","other":' + "[" * 600 + "]" * 600 + "}",
}


@pytest.mark.parametrize("name", sorted(DEEP))
def test_a_query_is_no_reason_to_render_without_end(name: str) -> None:
    text = f"[{DEEP[name]},{texts.issues(20)}]"
    out = texts.shortened(text, Policy(max_chars=2_000, max_tokens=800), query="zebrafish voucher")
    assert len(out) <= 2_000
    assert json.loads(without_note(out))


@pytest.mark.parametrize("query", ["", "zebrafish voucher"])
def test_what_could_just_be_parsed_can_be_rendered_too(query: str) -> None:
    for depth in range(700, 1_000, 10):
        text = f'[{{"voucher":"zebrafish","other":{"[" * depth}{"]" * depth}}},{texts.issues(20)}]'
        assert len(texts.shortened(text, Policy(max_chars=2_000, max_tokens=800), query=query)) <= 2_000


@pytest.mark.parametrize("strategy", ["auto", "truncate", "schema_pruning", "extract_fields"])
@pytest.mark.parametrize("name", sorted(SMALL))
def test_json_stays_json_in_a_tiny_budget(name: str, strategy: str) -> None:
    for chars in (220, 260, 320, 400, 600):
        policy = Policy(strategy=strategy, max_chars=chars, max_tokens=chars // 2, untouched_chars=50)
        out = texts.shortened(SMALL[name], policy)
        assert len(out) <= chars
        body, _, said = out.rpartition("\n[shortened: ")
        assert said
        assert json.loads(body)
