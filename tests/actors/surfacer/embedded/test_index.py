"""The index follows the folder and ranks by BM25 in every script."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.surfacer.embedded.index import Index
from config.notes import LARGEST_FILE

NOTES = {
    "auth.md": "# Tokens\nThe auth handler rotates the refresh token on every use.\n",
    "pool.md": "---\nnamespace: infra\n---\n# Pool\npgbouncer runs in transaction mode.\n",
    "운영.md": "# 백업\n데이터베이스의 백업은 매일 새벽 3시에 한다.\n",
    "在庫.md": "# 同期\nマイナス在庫になったら販売停止にする。\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def index(folder: Path) -> Iterator[Index]:
    found = Index(folder, folder.parent / "index.db")
    found.refresh(60)
    yield found
    found.close()


def best(index: Index, query: str, namespace: str = "") -> str:
    hits = index.search(query, limit=5, namespace=namespace)
    return hits[0].chunk.source if hits else ""


@pytest.mark.parametrize(
    ("query", "source"),
    [
        ("rotating refresh tokens", "auth.md"),
        ("pgbouncer", "pool.md"),
        ("데이터베이스를 백업하는 방법", "운영.md"),
        ("백업", "운영.md"),
        ("database backup", "운영.md"),
        ("在庫の販売停止", "在庫.md"),
        ("nothing alike zzz", ""),
        ('" OR * NEAR( ^', ""),
    ],
)
def test_search(index: Index, query: str, source: str) -> None:
    assert best(index, query) == source


def test_namespaces(index: Index) -> None:
    assert best(index, "pgbouncer transaction", "infra") == "pool.md"
    assert best(index, "pgbouncer transaction", "default") == ""


def test_changes_by_hand_are_picked_up(index: Index, folder: Path) -> None:
    (folder / "new.md").write_text("The terraform state is locked in DynamoDB.")
    (folder / "auth.md").write_text("# Tokens\nNow about kangaroos.")
    (folder / "pool.md").unlink()
    index.refresh(60, force=True)
    assert best(index, "terraform state") == "new.md"
    assert best(index, "kangaroo") == "auth.md"
    assert best(index, "rotates refresh handler") == ""
    assert best(index, "pgbouncer") == ""
    assert index.size() == (4, 4)


def test_a_note_that_is_too_large_is_told_of_once(folder: Path) -> None:
    (folder / "large.md").write_bytes(b"x" * (LARGEST_FILE + 1))
    said: list[str] = []
    index = Index(folder, folder.parent / "index.db", said.append)
    for _ in range(2):
        index.refresh(60, force=True)
    assert said == [f"{folder / 'large.md'} is not searched: it has over 1,000,000 bytes; split it"]
    assert index.size()[0] == len(NOTES)
    index.close()


def test_it_survives_a_restart_and_stays_private(index: Index, folder: Path) -> None:
    index.close()
    again = Index(folder, folder.parent / "index.db")
    assert best(again, "pgbouncer") == "pool.md"
    assert stat.S_IMODE((folder.parent / "index.db").stat().st_mode) == 0o600
    again.close()


def test_a_corrupt_index_is_rebuilt_from_the_notes(index: Index, folder: Path) -> None:
    index.close()
    (folder.parent / "index.db").write_bytes(b"garbage" * 999)
    again = Index(folder, folder.parent / "index.db")
    assert again.set_aside
    again.refresh(60)
    assert best(again, "pgbouncer") == "pool.md"
    again.close()


def test_helpful_chunks_rise(folder: Path) -> None:
    for name in ("one.md", "two.md"):
        (folder / name).write_text("The rocket launches at dawn.")
    index = Index(folder, folder.parent / "index.db")
    index.refresh(60)
    first, second = index.search("rocket dawn", limit=2)
    assert index.increment_access([second.chunk.id, "unknown"]) == 1
    assert [hit.chunk.id for hit in index.search("rocket dawn", limit=2)] == [second.chunk.id, first.chunk.id]
    index.close()


def test_secrets_of_a_note_are_not_kept_in_the_index(index: Index, folder: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    (folder / "deploy.md").write_text(f"Deploy bot token {secret}\n")
    index.refresh(60, force=True)
    assert best(index, "deploy bot") == "deploy.md"
    index.close()
    assert all(secret.encode() not in path.read_bytes() for path in folder.parent.glob("index.db*"))


def test_a_large_folder_is_taken_in_step_by_step(folder: Path) -> None:
    for number in range(120):
        (folder / f"n{number}.md").write_text(f"note number{number}")
    index = Index(folder, folder.parent / "index.db")
    steps = 1
    while not index.refresh(0, force=True):
        steps += 1
    assert steps == 3
    assert index.size()[0] == 124
    index.close()


def test_it_can_be_rebuilt_while_running(index: Index) -> None:
    index.rebuild()
    assert Path(index.set_aside).exists()
    assert best(index, "pgbouncer") == ""
    index.refresh(60, force=True)
    assert best(index, "pgbouncer") == "pool.md"
