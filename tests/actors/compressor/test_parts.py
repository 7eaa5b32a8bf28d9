"""Texts put together of others: each part is shortened as what it is, and none of them is lost from sight."""

from __future__ import annotations

import json
import re

import pytest

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
