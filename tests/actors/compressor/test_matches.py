"""What a search found."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.actors.compressor.texts import shortened


def found(files: int, each: int, words: str = "retries the request") -> str:
    return "\n".join(
        f"src/part_{at % 9}/module_{at}.py:{line * 7}:    call_{at}_{line}({words!r})"
        for at in range(files)
        for line in range(1, each + 1)
    )


def test_each_file_is_named_once_where_all_matches_fit() -> None:
    text = found(12, 20, "waits").replace("src/", "packages/services/billing/source/")
    out = shortened(text)
    assert "all 240 lines, each file named once" in out
    assert out.count("module_3.py") == 1
    assert "part_3/module_3.py:7:    call_3_1(" in out
    for at in range(12):
        for line in range(1, 21):
            assert f"{line * 7}:    call_{at}_{line}(" in out


def test_the_first_matches_of_each_file_stay() -> None:
    out = shortened(found(60, 40))
    assert " of 2400 lines, the first " in out
    for at in range(60):
        assert f"module_{at}.py:7:    call_{at}_1(" in out
    assert " …+" in out


def test_all_files_are_named_where_their_matches_do_not_fit() -> None:
    out = shortened(found(500, 5, "waits until the upstream has closed its socket and retries the request then"))
    assert "numbers of lines in each file" in out
    assert all(f"module_{at}.py" in out for at in range(500))


def test_folders_are_counted_where_the_files_are_too_many() -> None:
    out = shortened(found(4_000, 3))
    for at in range(9):
        count = 3 * len(range(at, 4_000, 9))
        assert f"part_{at} {count}" in out


def test_the_query_is_answered_with_the_lines_around() -> None:
    lines = found(500, 5).split("\n")
    lines[1_777] = "src/part_1/module_odd.py:12:    zebra(crossing)"
    out = shortened("\n".join(lines), query="zebra crossing")
    assert lines[1_777] in out
    assert lines[1_776] in out


def test_what_a_search_says_besides_its_matches_stays_and_long_ones_are_cut() -> None:
    text = f"{found(60, 40)}\nsrc/big.js:1:{'x' * 2_000}\ngrep: ./core.bin: binary file matches\n(2401 matches)"
    out = shortened(text)
    assert "grep: ./core.bin: binary file matches" in out
    assert "(2401 matches)" in out
    assert f"src/big.js:1:{'x' * 290}" in out
    assert "x" * 301 not in out


@pytest.mark.parametrize("options", ["-rn", "-rnC1"])
def test_what_grep_prints(tmp_path: Path, options: str) -> None:
    for at in range(30):
        body = "\n".join(f"value_{at}_{line} = compute({line})\n" for line in range(60))
        (tmp_path / f"module_{at}.py").write_text(body)
    command = ["grep", options, "compute", "."]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    out = shortened(text)
    assert len(out) < 0.35 * len(text)
    assert all(f"module_{at}.py" in out for at in range(30))
