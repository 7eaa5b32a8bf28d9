"""Listings of files and paths."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from actors.compressor.budget import Budget
from actors.compressor.detect import Kind, detect
from actors.compressor.strategies.paths import tree
from tests.actors.compressor.texts import shortened


def listing(names: list[str], size: int = 4_711) -> list[str]:
    return [f"-rw-r--r--  1 app app {size + at:8} Apr  7  2026 {name}" for at, name in enumerate(names)]


def test_all_names_of_a_long_listing_stay_and_the_odd_lines_whole() -> None:
    parts: list[str] = []
    for at in range(30):
        parts += [f"./service_{at}/src:", "total 84", *listing([f"module_{at}_{n}.py" for n in range(12)]), ""]
    parts[70] = "-rwsr-xr-x  1 root app    90112 Apr  7  2026 elevate"
    text = "\n".join(parts)
    out = shortened(text)
    assert detect(text) is Kind.FILES
    assert len(out) < 0.5 * len(text)
    assert "-rwsr-xr-x  1 root app    90112 Apr  7  2026 elevate" in out
    for at in range(30):
        assert f"./service_{at}/src:\nmodule_{at}_0.py, " in out
    assert f"names of all {sum(' app ' in part for part in parts)} entries" in out


def test_the_first_names_of_each_folder_stay_where_not_all_fit() -> None:
    parts: list[str] = []
    for at in range(60):
        parts += [f"/srv/{at}:", *listing([f"a rather long name {at} {n}.parquet" for n in range(80)])]
    out = shortened("\n".join(parts))
    assert "the first " in out
    for at in range(60):
        assert f"/srv/{at}:\na rather long name {at} 0.parquet, " in out
    assert "…+" in out


def test_folders_with_their_numbers_stay_where_no_names_fit() -> None:
    parts: list[str] = []
    for at in range(3_000):
        parts += [f"/srv/group_{at % 7}/unit_{at}:", *listing([f"{n}.bin" for n in range(3)])]
    out = shortened("\n".join(parts))
    assert "/srv/: " in out
    for at in range(7):
        assert f"group_{at} " in out


@pytest.mark.parametrize("options", ["-la", "-l --time-style=long-iso", "-lh"])
def test_what_ls_prints_is_a_listing(tmp_path: Path, options: str) -> None:
    for at in range(400):
        (tmp_path / f"report {at:03}.txt").write_text("x" * at)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("report 001.txt")
    command = ["ls", *options.split(), str(tmp_path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    out = shortened(text)
    assert detect(text) is Kind.FILES
    assert "folder/" in out
    assert "link -> report 001.txt" in out
    assert all(f"report {at:03}.txt" in out for at in range(400))


def test_archives_name_the_folder_of_each_entry() -> None:
    lines = [f"-rw-r--r-- sam/staff {at:9} 2026-11-19 15:04 package/part_{at % 5}/file_{at}" for at in range(300)]
    out = shortened("\n".join(lines))
    assert "package/part_3/:\nfile_3 3, file_8 8, " in out
    assert "names and sizes of all 300 entries" in out


def test_tagged_entries_are_listed() -> None:
    lines = [f"[{'DIR' if at % 9 == 0 else 'FILE'}] entry_number_{at:04}" for at in range(500)]
    out = shortened("\n".join(lines))
    assert "entry_number_0000/, entry_number_0001, " in out
    assert "entry_number_0499" in out


def test_what_a_listing_says_besides_its_entries_stays() -> None:
    lines = [f"[FILE] entry_number_{at:04}                {at}.25 KB" for at in range(800)]
    out = shortened("\n".join([*lines, "", "Total: 800 files, 0 directories", "Combined size: 311.5 MB"]))
    assert "Total: 800 files, 0 directories\nCombined size: 311.5 MB\n" in out


def test_the_query_is_answered_from_a_listing() -> None:
    parts: list[str] = []
    for at in range(300):
        parts += [f"/srv/{at}:", *listing([f"a rather long name {at} {n}.parquet" for n in range(80)])]
    parts[12_345] = "-rw-r--r--  1 app app   90112 Apr  7  2026 quarterly_forecast.xlsx"
    assert "90112 Apr  7  2026 quarterly_forecast.xlsx" in shortened("\n".join(parts), query="quarterly forecast")


def test_many_folders_with_one_entry_each_are_paths_all_the_same() -> None:
    lines = [f"/repo/group_{at % 11}/artifact_{at}/error-{at}.jar" for at in range(2_000)]
    out = shortened("\n".join(lines))
    assert detect("\n".join(lines)) is Kind.PATHS
    assert "2000 paths as folders" in out
    for at in range(11):
        assert f"group_{at} " in out
    assert sum("error-" in line for line in out.splitlines()) == 0


def test_folders_are_counted_whatever_they_end_with() -> None:
    numbers = tree({"src/": 2, "src": 3, "src/a/": 4, "": 1, "/": 1}, [], Budget(1_000, 1_000))
    assert numbers == "./: src 5, . 2\nsrc/: a 4"


def test_links_are_paths() -> None:
    lines = [f"https://docs.example.org/guide/part-{at // 20}/page-{at}.html" for at in range(600)]
    out = shortened("\n".join(lines))
    assert detect("\n".join(lines)) is Kind.PATHS
    assert "https://docs.example.org/guide/part-7/: page-140.html page-141.html " in out
    assert all(f"page-{at}.html" in out for at in range(600))


def test_entries_of_endless_spaces_are_read_in_the_time_of_their_length() -> None:
    odd = ["[FILE] a" + " " * 200_000 + "b", "-rw-r--r-- 1 a" + " " * 200_000 + "b", "[DIR] " + "c" * 200_000]
    lines = [f"[FILE] entry_number_{at:04}" for at in range(900)]
    assert "entry_number_0000, " in shortened("\n".join([*lines[:400], *odd, *lines[400:]]))
