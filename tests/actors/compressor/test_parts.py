"""Texts put together of others: each part is shortened as what it is, and none of them is lost from sight."""

from __future__ import annotations

import json
import re

import pytest

from actors.compressor import jsontext
from actors.compressor.strategies.parts import split
from tests.actors.compressor import texts
from tests.actors.compressor.texts import shortened

CODE, LOG, PAGE = texts.KINDS["code"][:14_000], texts.log(150, (71,)), texts.markdown(40)


@pytest.mark.parametrize(
    "heads",
    [
        ("src/app.py:\n", "var/app.log:\n", "docs/page.md:\n"),
        ("==> src/app.py <==\n", "==> var/app.log <==\n", "==> docs/page.md <==\n"),
        ("=== src/app.py ===\n", "=== var/app.log ===\n", "=== docs/page.md ===\n"),
        ("## File: src/app.py\n", "## File: var/app.log\n", "## File: docs/page.md\n"),
        ('<file path="src/app.py">\n', '<file path="var/app.log">\n', '<file path="docs/page.md">\n'),
    ],
    ids=["colon", "tail", "rule", "heading", "tag"],
)
def test_files_are_shortened_each_as_what_it_is(heads: tuple[str, str, str]) -> None:
    text = "\n".join(f"{head}{body.rstrip()}\n\n---" for head, body in zip(heads, (CODE, LOG, PAGE), strict=True))
    out = shortened(text)
    assert all(head.strip() in out for head in heads)
    assert "3 parts, each as what it is" in out
    assert LOG.splitlines()[71 - 1] in out  # the error line
    assert re.search(r"^def \w+", out, re.M)
    assert re.search(r"^## ", out, re.M)
    assert len(out) <= 16_000


def test_joined_parts_are_the_text() -> None:
    text = f"Files:\n\na/b.py:\n{CODE}\n\nc/d.log:\n{LOG}"
    found = split(text)
    assert found is not None
    assert "".join(part.head + part.body + part.tail for part in found) == text


def test_a_long_fence_is_shortened_inside_and_what_follows_it_stays() -> None:
    records = json.dumps([{"name": f"customer {at}", "notes": "word " * 60} for at in range(80)], indent=1)
    out = shortened(f"Found 80 customers:\n\n```json\n{records}\n```\n\nNext step: call export with id=9.\n")
    assert out.startswith("Found 80 customers:\n")
    assert "Next step: call export with id=9." in out
    inner = out.split("```json\n")[1].split("\n```")[0]
    assert "customer 79" in inner
    json.loads(inner)


def test_a_document_with_examples_is_one_text() -> None:
    example = "```sh\nrun it\nrun it\n```"
    page = "".join(f"# Part {at}\n\n{'prose ' * 60}\n\n{example}\n\n" for at in range(40))
    assert split(page) is None
    assert split(CODE) is None


RECORDS = [
    {"id": at * 37, "title": f"record {at}", "state": "failed" if at == 57 else "ok", "body": "word " * 60}
    for at in range(90)
]
WIDE, FLAT = json.dumps(RECORDS, indent=2), json.dumps(RECORDS)
LINES = "\n".join(map(json.dumps, RECORDS))


@pytest.mark.parametrize(
    "text",
    [
        f"Found 90 results:\n\n{WIDE}",
        f"Results: {FLAT}",
        f"Results\n{FLAT}\n",
        f"{WIDE}\n\nNote: more results are available.",
        f"\ufeff{WIDE}",
        WIDE.replace("\n", "\r\n"),
        WIDE[: int(len(WIDE) * 0.97)],
        FLAT[: int(len(FLAT) * 0.97)],
        f"Here are the lines:\n{LINES}",
        LINES[:-30],
    ],
    ids=["sentence", "same line", "own line", "note", "BOM", "CRLF", "cut", "cut flat", "lines", "cut lines"],
)
def test_json_that_is_not_the_whole_text_is_still_json(text: str) -> None:
    out = shortened(text)
    assert len(out) < len(text) / 2
    assert all(f'"record {at}"' in out for at in (3, 40, 80))
    assert '"failed"' in out


def test_what_stands_around_json_stays() -> None:
    out = shortened(f"Found 90 results:\n\n{WIDE}\n\nNote: more results are available.")
    assert out.startswith("Found 90 results:\n")
    assert "Note: more results are available." in out
    two = shortened(f"{WIDE}\n{WIDE.replace('record', 'other')}")
    assert "record 80" in two
    assert "other 80" in two


def test_what_was_cut_off_is_said() -> None:
    assert "JSON that was cut off, closed" in shortened(FLAT[:-300])
    assert jsontext.completed('{"a": [1, 2, {"b": "x, y') == '{"a": [1, 2]}'
    assert jsontext.completed('{"a": "never, ends') is None
    assert jsontext.completed('{"a": 1}') is None
    assert jsontext.completed('{"a": 1] ') is None


def test_a_table_behind_a_sentence_is_a_table() -> None:
    rows = "\n".join(f"2026-01-{at % 28 + 1:02},{100 + at},{'REJECTED' if at == 300 else 'ok'}" for at in range(900))
    out = shortened(f"Prices of the year:\n\nday,close,state\n{rows}\n")
    assert out.startswith("Prices of the year:\n")
    assert "REJECTED" in out
    assert "ok 899" in out


def test_rows_of_values_are_records() -> None:
    rows = [["branch", "month", "revenue", "note"]] + [
        [f"branch {at % 9}", f"2026-{at % 12 + 1:02}", 5_000 + at, "closed for repairs" if at == 200 else ""]
        for at in range(400)
    ]
    out = shortened(json.dumps({"range": "A1:D400", "values": rows}))
    assert "closed for repairs" in out
    assert '"revenue":5000' in out
    pairs = [
        [
            {"field": "@timestamp", "value": f"07:{at // 60:02}:{at % 60:02}"},
            {"field": "@message", "value": f"event {at}"},
        ]
        for at in range(400)
    ]
    out = shortened(json.dumps({"results": pairs, "status": "Complete"}))
    assert '"@message":"event 0"' in out
    assert '"status":"Complete"' in out
    json.loads(out.rsplit("\n[shortened: ", 1)[0])


def test_a_page_inside_of_json_is_read_as_a_page() -> None:
    page = "".join(
        f"<h2>Part {at}</h2><p>{'some words of it ' * 30}</p><ul><li>point {at}</li></ul>" for at in range(60)
    )
    out = shortened(json.dumps({"id": "9", "title": "Design", "body": {"storage": {"value": page}}}))
    body = json.loads(out.rsplit("\n[shortened: ", 1)[0])
    assert all(f"## Part {at}" in body["body"]["storage"]["value"] for at in range(60))
    assert "HTML to Markdown" in out


def test_captions_are_one_text() -> None:
    text = "WEBVTT\nKind: captions\nLanguage: en\n\n"
    for at in range(900):
        said = "Then the glacier breaks, and nobody has seen that" if at == 600 else f"sentence {at} of the film"
        time = f"00:{at // 60:02}:{at % 60:02}"
        text += f"{time}.000 --> {time}.900\n<v Narrator>{said}</v>\n\n"
    out = shortened(text)
    assert "parts" not in out
    assert "sentence 899 of the film" in out
    assert "the glacier breaks" in out


def test_parts_in_parts_come_to_an_end() -> None:
    text = "words of introduction\n\n" * 30 + "\n".join(
        f"2026-11-03 07:{at % 60:02}:00 INFO step {at}" for at in range(900)
    )
    out = shortened("".join(f"src/f{at}.log:\n{text[:9_000]}\n\n" for at in range(4)))
    assert out.count("parts, each as what it is") == 1
    assert all(f"src/f{at}.log:" in out for at in range(4))


@pytest.mark.parametrize("before", ["응답은 다음과 같습니다:", "Resultado — última página:", "The answer:"])
def test_values_and_files_are_found_behind_any_script(before: str) -> None:
    rows = [{"번호": number, "name": f"값 {number}"} for number in range(200)]
    value = json.dumps(rows, ensure_ascii=False)
    found = split(f"{before} [東京] {{大阪}}\n{value}\n끝.\n")
    assert found is not None
    assert [part.body for part in found][1] == f"{value}\n"

    files = "".join(f"==> 자료/파일{at}.md <==\n{'본문 ' * 600}\n\n" for at in range(3))
    found = split(files)
    assert found is not None
    assert [part.head for part in found] == [f"==> 자료/파일{at}.md <==\n" for at in range(3)]
