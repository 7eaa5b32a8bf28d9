"""`mms memory import`, `add` and `serve` as a person or a client meets them."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.memory_import import Import, notes_in
from config.notes import LARGEST_FILE
from tests.fixtures.home import MMS, Home
from tests.fixtures.mcp_client import McpClient

NOTE = "---\nnamespace: ops\ntags: [release]\n---\n# Freeze\n\nDeploys are frozen on Fridays.\n"


@pytest.fixture
def home() -> Iterator[Home]:
    home = Home()
    yield home
    home.remove()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with everything that people have in theirs."""
    folder = tmp_path / "notes"
    (folder / "deep" / "deeper").mkdir(parents=True)
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "hidden.md").write_text("hidden")
    (folder / "freeze.md").write_text(NOTE)
    (folder / "deep" / "copy.md").write_text(NOTE.replace("\n", "\r\n"))
    (folder / "deep" / "deeper" / "한국어.markdown").write_text("# 배포\n\n배포는 화요일에 한다.\n")
    (folder / "secret.md").write_text("the key is ghp_0123456789abcdefghijklmnopqrstuvwxyz\n")
    (folder / "large.md").write_text("x" * (LARGEST_FILE + 1))
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    (folder / "empty.md").write_text("\n")
    (folder / "picture.png").write_bytes(b"png")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("# Private\n\nnobody's business\n")
    (folder / "link.md").symlink_to(outside / "private.md")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    return folder


def test_a_folder_is_taken_over_once(home: Home, notes: Path) -> None:
    tried = home.mms("memory", "import", str(notes), "--dry-run", "--json")
    assert not (home.path / "memories").exists()
    done = home.mms("memory", "import", str(notes), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["imported"] == json.loads(tried.stdout)["imported"]
    assert len(told["imported"]) == 2
    assert "notes/deep/deeper/한국어.markdown" in told["imported"]
    reasons = {entry["file"]: entry["reason"] for entry in told["skipped"]}
    assert sorted(reasons.values()) == [
        "credential", "duplicate", "link", "no text", "no text", "too large", "unreadable",
    ]  # fmt: skip
    assert reasons["link.md"] == "link"
    kept = [path for path in (home.path / "memories").rglob("*") if path.is_file()]
    assert len(kept) == 2
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in kept)
    assert not any("nobody" in path.read_text() for path in kept)
    again = home.mms("memory", "import", str(notes))
    assert "Imported 0 notes" in again.stderr
    assert "3 duplicates left out" in again.stderr


def test_a_note_of_the_same_name_is_never_overwritten(tmp_path: Path) -> None:
    memories, source = tmp_path / "memories", tmp_path / "source"
    for folder, text in ((memories / "n", "mine"), (source, "theirs")):
        folder.mkdir(parents=True)
        (folder / "a.md").write_text(text)
    taking = Import(memories, "n", dry=False)
    taken = [taking.take(name, path, is_link=is_link) for name, path, is_link in notes_in(source)]
    assert [one.target for one in taken] == ["n/a-2.md"]
    assert (memories / "n" / "a.md").read_text() == "mine"


@pytest.mark.parametrize("words", [["{memories}"], ["{memories}/sub"], ["{notes}", "--into", "../x"]])
def test_what_makes_no_sense_is_refused(home: Home, notes: Path, words: list[str]) -> None:
    memories = home.path / "memories"
    (memories / "sub").mkdir(parents=True)
    refused = home.mms("memory", "import", *(word.format(memories=memories, notes=notes) for word in words))
    assert refused.returncode == 2


def test_adding_says_little_and_the_note_is_found(home: Home) -> None:
    added = home.mms("memory", "add", "Deploys are frozen on Fridays", "--title", "Freeze")
    assert added.returncode == 0, added.stderr
    file = added.stdout.strip()
    assert file.endswith("-freeze.md")
    assert "(1 chunk)" in added.stderr
    assert "frozen" in (home.path / "memories" / file).read_text()
    assert "Deploys are frozen" in home.mms("memory", "search", "frozen deploys").stdout
    # A note that is written by hand while the server runs is found as well.
    (home.path / "memories" / "hand.md").write_text("# 점검\n\n정기 점검은 일요일 새벽 2시.\n")
    assert "일요일" in home.mms("memory", "search", "정기 점검 시간").stdout
    (home.path / "memories" / "hand.md").unlink()
    assert "일요일" not in home.mms("memory", "search", "정기 점검 시간").stdout
    assert home.mms("down").returncode == 0


def test_the_list_names_notes_by_their_titles(home: Home) -> None:
    folder = home.path / "memories"
    folder.mkdir()
    (folder / "given.md").write_text("---\ntags: [a]\ntitle: 'Deploy policy'\n---\n\nFrozen on Fridays.\n")
    (folder / "heading.md").write_text("---\ntags: [a]\n---\nabove\n## Freeze\n")
    (folder / "plain.MARKDOWN").write_text("just a line\nand another\n")
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "hidden.md").write_text("no note")
    listed = home.mms("memory", "list", "--json")
    titles = {note["file"]: note["title"] for note in json.loads(listed.stdout)["notes"]}
    assert titles == {"given.md": "Deploy policy", "heading.md": "Freeze", "plain.MARKDOWN": "just a line"}
    assert json.loads(listed.stdout)["too_large"] == []
    (folder / "large.md").write_bytes(b"x" * (LARGEST_FILE + 1))
    assert "not searched: large.md. Split" in home.mms("memory", "list").stderr


async def test_the_notes_are_served_to_any_client(home: Home) -> None:
    (home.path / "memories").mkdir()
    (home.path / "memories" / "freeze.md").write_text(NOTE)
    client = await McpClient.start([str(MMS), "memory", "serve"], env=home.environment())
    await client.handshake()
    assert {"mem_search", "mem_add", "mem_do"} <= (await client.tools()).keys()
    found = await client.call("mem_search", {"query": "frozen deploys", "namespace": "ops"})
    assert "Deploys are frozen" in found.text
    await client.close()
    assert client.faults == []
