from __future__ import annotations

import pytest

from actors.compressor.html import to_markdown


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
