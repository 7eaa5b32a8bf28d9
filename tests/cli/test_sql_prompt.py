"""The prompt's history and completion; the prompt itself is tried in `test_analytics`."""

from __future__ import annotations

from pathlib import Path

from cli.sql_prompt import Completer, History


def test_tables_columns_and_keywords_are_completed() -> None:
    asked: list[int] = []

    def names() -> list[str]:
        asked.append(1)
        return ["surfacing", "call", "surfacing_id", "cached"]

    completer = Completer(names)
    assert completer.matches("surf") == ["surfacing", "surfacing_id"]
    assert completer.matches("ca") == ["cached", "call", "case", "cast"]
    assert completer.matches("SEL") == ["SELECT"]
    assert [completer("ca", number) for number in (0, 3, 4)] == ["cached", "cast", None]
    assert len(asked) == 1


def test_the_history_is_private_bounded_and_free_of_secrets(tmp_path: Path) -> None:
    history = History(tmp_path / "sql_history", limit=3)
    assert history.lines() == []
    for number in range(5):
        assert history.add(f"SELECT {number};")
    assert not history.add("SELECT 'ghp_0123456789abcdefghijABCDEFGHIJ012345';")
    assert History(history.path).lines() == ["SELECT 2;", "SELECT 3;", "SELECT 4;"]
    assert history.path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["sql_history"]


def test_a_history_that_cannot_be_kept_costs_nothing_else(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    history = History(blocked / "sql_history")
    assert history.add("SELECT 1;")
    assert history.lines() == []


def test_what_cannot_be_encoded_costs_nothing_else(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    assert history.add("select '\udcff'") and history.add("select 1")
    assert history.lines() == ["select '?'", "select 1"]
