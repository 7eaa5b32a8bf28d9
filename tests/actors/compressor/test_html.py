from __future__ import annotations

import pytest

from actors.compressor.html import to_markdown
from actors.compressor.html_pieces import is_bearable, pieces


def test_a_page() -> None:
    page = """<html><head><title>T</title><style>p{}</style></head><body><h1>Guide &amp; more</h1>
    <p>See <a href="/x">the <b>docs</b></a>, or <code>run</code>.<br>Next line</p><script>evil()</script>
    <ul><li>one</li><li>two<ol><li>first</li><li>second</li></ol></li></ul>
    <pre>a  b
      c</pre><hr><p><img src="data:image/png;base64,AA" alt="logo"></p></body></html>"""
    assert to_markdown(page) == (
        "# Guide & more\n\nSee [the **docs**](/x), or `run`.\nNext line\n\n- one\n- two\n  1. first\n  2. second\n\n"
        "```\na  b\n      c\n```\n\n---\n\n![logo]()"
    )


def test_a_data_table_and_a_layout_table() -> None:
    assert to_markdown("<table><tr><th>a</th><th>b</th></tr><tr><td>1.10</td><td>x y</td></tr></table>") == (
        "| a | b |\n|---|---|\n| 1.10 | x y |"
    )
    assert to_markdown("<table><tr><td><h2>Head</h2><p>text</p></td></tr></table>") == "## Head\n\ntext"


def test_the_title_stands_in_for_a_missing_heading() -> None:
    assert to_markdown("<html><head><title>A b</title></head><body><p>c</p></body></html>") == "# A b\n\nc"


@pytest.mark.parametrize(
    "soup",
    [
        "<div>" * 30_000 + "kept",
        "<b>" * 2_000 + "kept",
        "<p>a<br>" * 4_000 + "kept",
        "<ul><li>" * 3_000 + "kept",
        "<table><tr><td>" * 400 + "kept",
        "kept" + "<" * 50_000,
        "kept\ud800\x00<!--" * 300,
        "<blockquote>" * 499 + "kept",
    ],
)
def test_hostile_pages_end_and_keep_their_text(soup: str) -> None:
    text = to_markdown(soup)
    assert "kept" in text
    text.encode()


def test_links_without_a_target_keep_their_words() -> None:
    assert to_markdown("<p><a href='javascript:x()'>go</a> <a>there</a></p>") == "go there"


def test_a_long_page_is_read_in_pieces_that_cut_nothing_apart() -> None:
    parts = []
    for at in range(4_000):
        cells = "".join(f"<tr><td>r{at}.{row}</td><td><p>{row}</p></td></tr>" for row in range(3))
        parts.append(
            f"<h2>Part {at}</h2><p>words of {at}</p><pre>\n<p>pre {at}\n</pre><script>if (a) '<p>no {at}'</script>"
            f"<ul><li>one<ol><li>in {at}</li></ol></li></ul><table>{cells}</table><!-- <p>hidden {at} -->"
        )
    page = f"<html><head><title>Manual</title></head><body>{''.join(parts)}</body></html>"
    assert len(page) > 1_200_000
    made = to_markdown(page)
    assert made.startswith("# Manual\n\n## Part 0\n")
    assert made.count("# Manual") == 1
    assert made.count("\n```\n") == 2 * 4_000
    assert "hidden" not in made and "no 17" not in made
    first = to_markdown(f"<body>{parts[0]}</body>")
    assert made == "# Manual\n\n" + "\n\n".join(_numbered(first, at) for at in range(4_000))


def _numbered(part: str, at: int) -> str:
    for words in ("Part {}", "words of {}", "pre {}", "in {}", "r{}."):
        part = part.replace(words.format(0), words.format(at))
    return part


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (
            f"<table>{''.join(f'<tr><td>{at}</td><td>b</td></tr>' for at in range(9_000))}</table>",
            "\n".join(["| 0 | b |", "|---|---|", *(f"| {at} | b |" for at in range(1, 9_000))]),
        ),
        (
            f"<table>{''.join(f'<tr><td><i>{at}</i></td></tr>' for at in range(9_000))}</table>",
            "\n".join(["| *0* |", "|---|", *(f"| *{at}* |" for at in range(1, 9_000))]),
        ),
        (
            f"<ol>{''.join(f'<li>one {at}' for at in range(20_000))}</ol>",
            "\n".join(f"{at + 1}. one {at}" for at in range(20_000)),
        ),
        ("<p>" + "<br>".join(map(str, range(30_000))), "\n".join(map(str, range(30_000)))),
        (
            "<pre>" + "\n".join(["top", *(f"  {at} <b>x</b>" for at in range(20_000))]),
            "\n".join(["```", "top", *(f"  {at} x" for at in range(20_000)), "```"]),
        ),
        (f"<p>{'&lt;&amp; ' * 30_000}", ("<& " * 30_000).strip()),
        (f"<object>{'<p>not shown</p>' * 20_000}</object><p>shown", "shown"),
        (f"<p>a<script>{'if (a<b) ' * 40_000}</script>b", "ab"),
        (f"<a href='/x'>{'<span>word</span> ' * 20_000}</a>", f"[{('word ' * 20_000).strip()}](/x)"),
    ],
    ids=["table", "table of marks", "list", "line breaks", "preformatted", "references", "left out", "script", "link"],
)
def test_what_is_longer_than_a_piece_is_cut_where_nothing_shows(page: str, expected: str) -> None:
    assert len(list(pieces(page))) > 1 or "<script>" in page
    assert to_markdown(f"<!DOCTYPE html><html><body>{page}") == expected


def test_pieces_are_the_page() -> None:
    page = "".join(f'<div title="a > b{at}">x &amp; y<!-- <p> {at} --><style>a<b</style></div>' for at in range(9_000))
    made = list(pieces(page))
    assert "".join(made) == page
    assert all(piece.count("<!--") == piece.count("-->") for piece in made)
    assert all(piece.count("<style>") == piece.count("</style>") for piece in made)


def test_a_page_that_would_multiply_in_the_parser_loses_its_tags_only() -> None:
    marks = "".join(f"<b id={at}>" for at in range(400))
    page = f"<p>{marks}{'<p>kept' * 20_000}"
    assert not is_bearable(page)
    assert is_bearable(f"<p>{marks}kept")
    assert is_bearable("<p><b>kept</b>" * 20_000)
    assert to_markdown(page).count("kept") == 20_000


def test_links_within_the_page_are_their_words() -> None:
    page = (
        '<html><body><h2 id="a"><a href="#a">§</a>Locks</h2><p>See <a href="#b">below</a> (<a href="#c">link</a>) or '
        '<a href="https://example.org/x#y">there</a>.</p></body></html>'
    )
    assert to_markdown(page) == "## Locks\n\nSee below (link) or [there](https://example.org/x#y)."
