"""What becomes of damaged files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bus.aside import all_aside, move_aside

START = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def test_a_file_goes_with_what_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "recall.db"
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").write_text(suffix)
    aside = move_aside(path, START)
    assert aside.name == "recall.db.damaged-20261130T120000.000000Z"
    assert sorted(found.name.removeprefix(aside.name) for found in tmp_path.iterdir()) == ["", "-shm", "-wal"]
    assert all(found.stat().st_mode & 0o777 == 0o600 for found in tmp_path.iterdir())
    assert all_aside(tmp_path) == [aside]


def test_the_newest_of_each_file_are_kept(tmp_path: Path) -> None:
    path, other = tmp_path / "a.duckdb", tmp_path / "a.db"
    other.touch()
    kept = [move_aside(other, START)]
    for minute in range(5):
        path.touch()
        Path(f"{path}.wal").touch()
        kept.append(move_aside(path, START + timedelta(minutes=minute)))
    assert all_aside(tmp_path) == sorted([kept[0], *kept[-3:]])
    assert len(list(tmp_path.glob("*.wal"))) == 3
