from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.compressor.budget import Budget
from actors.compressor.excerpt import FILLER, MUST, Gaps, choose, spread
from actors.compressor.ranks import holding
from actors.compressor.units import LONGEST_UNIT, merge_fences, safe_cut, split
from tests.actors.compressor.texts import shortened


@given(st.text(alphabet="ab \n\r\té한👩‍💻", max_size=300))
def test_units_cover_everything_but_white_space(text: str) -> None:
    units = split(text)
    joined = "".join(units.contents)
    assert "".join(joined.split()) == "".join(text.split())
    assert "".join(units.full(index) for index in range(len(units))) == (text[units.starts[0] :] if len(units) else "")


def test_long_lines_are_cut_at_spaces_into_pieces() -> None:
    units = split("word " * 1000)
    assert len(units) > 5
    assert all(len(line) <= LONGEST_UNIT for line in units.contents)
    assert all(units.full(index).startswith("word") for index in range(len(units)))
    assert set(units.lines) == {1}


def test_clusters_are_not_parted() -> None:
    family = "👩\u200d💻"
    assert safe_cut(f"ab{family}", 3, 0) == 2
    assert safe_cut("ae\u0301x", 2, 0) == 1
    assert safe_cut("🇰🇷", 1, 0) == 0
    assert safe_cut("a\r\nb", 2, 0) == 1
    assert safe_cut("e" + "\u0301" * 50, 20, 10) == 20  # progress comes before clusters without an end


def test_gaps_are_marked_in_source_lines() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 101))
    units = split(text)
    ranks = [MUST if index in (0, 39, 99) else 0 for index in range(100)]
    wide = Budget(1000, 1000)
    assert choose(units, ranks, wide, wide, Gaps.BLOCK).text == (
        "line 1\n[lines 2-39]\nline 40\n[lines 41-99]\nline 100"
    )
    assert choose(units, ranks, wide, wide, Gaps.INLINE).text == "line 1 …+38\nline 40 …+59\nline 100"
    assert choose(units, ranks, wide, wide, Gaps.SILENT).text == "line 1\nline 40\nline 100"


def test_gaps_inside_a_long_line_count_characters() -> None:
    units = split("word " * 1000 + "\nlast\n")
    ranks = [MUST if index in (0, len(units) - 1) else 0 for index in range(len(units))]
    made = choose(units, ranks, Budget(5000, 5000), Budget(5000, 5000), Gaps.BLOCK)
    assert made.text.endswith(" characters]\nlast")
    assert "…" in made.text


def test_everything_fits() -> None:
    text = "a\n\n\nb\n"
    made = choose(split(text), [FILLER, FILLER], Budget(99, 99), Budget(99, 99), Gaps.BLOCK)
    assert made.complete
    assert made.text == text


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 60)), min_size=1, max_size=80), st.integers(20, 900))
def test_more_budget_never_means_less_and_the_budget_holds(rows: list[tuple[int, int]], chars: int) -> None:
    units = split("\n".join("x" * length for _, length in rows))
    ranks = [rank for rank, _ in rows]
    for gaps in Gaps:
        small, large = Budget(chars, chars), Budget(chars * 1.3, chars * 1.3)
        first = choose(units, ranks, small, small.scaled(0.5), gaps)
        second = choose(units, ranks, large, large.scaled(0.5), gaps)
        assert first.kept <= second.kept
        assert len(first.text) <= chars or not first.kept


def test_spread_covers_the_range_from_the_start() -> None:
    order = [*spread(range(100))]
    assert sorted(order) == list(range(100))
    assert order[:2] == [0, 99]
    assert max(b - a for a, b in zip(sorted(order[:10]), sorted(order[:10])[1:], strict=False)) < 40


def test_fenced_blocks_are_one_unit_and_long_ones_stay_closed() -> None:
    text = "# T\n```py\na\nb\n```\nafter\n~~~\n" + "row of it\n" * 200 + "~~~\nend\n```\nopen\n"
    units = merge_fences(split(text))
    assert units.contents[1] == "```py\na\nb\n```"
    long = units.overrides[3]
    assert long.startswith("~~~\nrow of it\n")
    assert long.endswith("\n~~~\n")
    assert "…+" in long
    assert (units.lines[3], units.last_lines[3]) == (7, 208)
    made = choose(units, [MUST, MUST, 0, 0, MUST, 0, 0], Budget(999, 999), Budget(999, 999), Gaps.INLINE)
    assert made.text == "# T\n```py\na\nb\n```\n…+203\nend …+2"
    assert made.kept == 6
    assert units.contents[4:] == ["end", "```", "open"]


def test_words_are_found_in_their_units_whatever_stands_before() -> None:
    units = split(
        "데이터 İ é ok\nplain\n\n결론: 배포\nan ERROR here and an error there\n✗ broken\n" + "x" * 700 + " fail"
    )
    found = holding(units, ("error", "fail", "결론", "✗"))
    assert [units.contents[at].split()[0][:6] for at in found] == ["결론:", "an", "✗", "xxxxxx"]


def test_a_fence_in_a_list_ends_where_its_indented_mark_stands() -> None:
    text = "- item\n\n  ```js\n  let x\n  ```\n\nprose between\n\n```\nother\n```\n"
    units = merge_fences(split(text))
    assert [unit.split("\n")[0] for unit in units.contents] == ["- item", "  ```js", "prose between", "```"]


def test_marks_that_close_nothing_open_nothing() -> None:
    units = merge_fences(split("~~~\na\n```\nb\n"))
    assert units.contents == ["~~~", "a", "```", "b"]


def test_a_query_reaches_into_a_long_fence() -> None:
    block = "\n".join(f"value_{at} = compute({at})" for at in range(90))
    text = "".join(
        f"## Part {at}\n\n{'Prose that explains it. ' * 70}\n\n```py\n{block.replace('value', f'part{at}')}\n```\n\n"
        for at in range(12)
    )
    out = shortened(text, query="part7_66")
    assert "part7_66 = compute(66)" in out
    assert out.count("```") % 2 == 0


def test_a_gap_that_is_shorter_than_its_mark_is_no_gap() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 41))
    units = split(text)
    ranks = [MUST if index in (0, 2, 20) else 1 for index in range(40)]
    made = choose(units, ranks, Budget(1000, 1000), Budget(0, 0), Gaps.BLOCK)
    assert made.text.startswith("line 1\nline 2\nline 3\n[lines 4-20]\n")


def test_blank_lines_around_a_short_unit_count_when_a_gap_is_closed() -> None:
    units = split("\n".join("x" + "\n" * 30 if number % 2 else f"kept {number}" for number in range(60)))
    ranks = [MUST if line.startswith("kept") else 0 for line in units.contents]
    for gaps in (Gaps.BLOCK, Gaps.INLINE):
        for chars in (300, 600, 900, 1200):
            assert len(choose(units, ranks, Budget(chars, chars), Budget(0, 0), gaps).text) <= chars
