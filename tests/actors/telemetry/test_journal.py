from __future__ import annotations

import resource
import stat
from pathlib import Path

import pytest

from actors.telemetry.journal import Journal
from bus.errors import Busy, StateError
from tests.actors.telemetry.events import call, calls, lines


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "events"


def opened(directory: Path, **options: int) -> Journal:
    journal = Journal(directory, **options)
    journal.open()
    return journal


def content(journal: Journal) -> bytes:
    return b"".join(extent.path.read_bytes() for extent in journal.extents)


def test_what_is_appended_is_in_the_file_byte_for_byte(directory: Path) -> None:
    journal = opened(directory)
    batch = lines(call(tool="읽기"), call(server="git"))
    assert journal.append(batch) == 0
    assert content(journal) == batch
    assert journal.appended == 2
    assert journal.size == len(batch)


def test_files_are_private(directory: Path) -> None:
    journal = opened(directory)
    journal.append(lines(call()))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(journal.extents[0].path.stat().st_mode) == 0o600
    assert journal.extents[0].path.name == "events-000001.jsonl"


@pytest.mark.parametrize(
    "bad",
    [
        b"not json",
        b"[]",
        b'{"kind":"call"}',
        b'{"kind":"dance","event_id":"a","ts":"2026-01-01T00:00:00Z"}',
        b'{"kind":"fault","component":"a","what":"b"}',
        b'{"kind":"fault","component":"a","what":"b","event_id":"x1"}',
        b'{"kind":"fault","component":"a","what":"b","event_id":"x1","ts":"yesterday"}',
        b'{"kind":"fault","component":"a","what":"b","event_id":"x1","ts":"2026-13-45T00:00:00Z"}',
        b'{"kind":"fault","component":"a","what":"b","event_id":"","ts":"2026-01-01T00:00:00Z"}',
        b'{"kind":"fault","component":"a","what":"\\ud800","event_id":"x1","ts":"2026-01-01T00:00:00Z"}',
        b'{"kind":"fault","component":"a","what":7,"event_id":"x1","ts":"2026-01-01T00:00:00Z"}',
        b"\xff\xfe",
        b"[" * 20_000,
    ],
)
def test_a_bad_line_is_counted_and_keeps_no_good_one_back(directory: Path, bad: bytes) -> None:
    journal = opened(directory)
    first, second = lines(call()), lines(call())
    assert journal.append(first + bad + b"\n" + second) == 1
    assert content(journal) == first + second
    assert (journal.appended, journal.rejected) == (2, 1)


def test_an_oversized_line_is_rejected(directory: Path) -> None:
    journal = opened(directory)
    assert journal.append(lines(call(strategy="x" * 1024 * 1024), call())) == 1
    assert journal.appended == 1


def test_segments_rotate_and_a_restart_goes_on_in_the_newest(directory: Path) -> None:
    journal = opened(directory, segment_bytes=2_000)
    written = [lines(call()) for _ in range(12)]
    for batch in written:
        journal.append(batch)
    numbers = [extent.number for extent in journal.extents]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 2
    assert all(extent.size <= 2_000 for extent in journal.extents)
    journal.close()
    again = opened(directory, segment_bytes=1_000_000)
    again.append(lines(call(tool="last")))
    assert again.extents[-1].number == numbers[-1]
    assert content(again).startswith(b"".join(written))
    assert content(again).endswith(again.extents[-1].path.read_bytes().splitlines(keepends=True)[-1])


def test_a_torn_last_line_is_closed(directory: Path) -> None:
    journal = opened(directory)
    journal.append(lines(call()))
    journal.close()
    path = journal.extents[0].path
    with path.open("ab") as file:
        file.write(b'{"kind":"call","ser')
    healed = opened(directory)
    healed.append(lines(call(tool="after")))
    rows = path.read_bytes().splitlines()
    assert len(rows) == 3
    assert b"after" in rows[2]
    assert healed.torn
    assert healed.size == path.stat().st_size


def test_only_loaded_segments_are_deleted(directory: Path) -> None:
    journal = opened(directory, segment_bytes=1_000, keep_bytes=2_500)
    for _ in range(10):
        journal.append(lines(call()))
    everything = journal.extents
    journal.retire()
    assert journal.extents == everything, "nothing is loaded yet"
    journal.note_loaded({everything[0].number: everything[0].size, everything[1].number: 10})
    journal.retire()
    assert journal.extents == everything[1:]
    assert not everything[0].path.exists()
    journal.note_loaded({extent.number: extent.size for extent in everything})
    journal.retire()
    assert journal.size <= 2_500
    assert journal.extents[-1] == everything[-1]


def test_old_segments_are_deleted_and_the_open_one_never(directory: Path) -> None:
    journal = opened(directory, segment_bytes=1_000, keep_days=1)
    for _ in range(6):
        journal.append(lines(call()))
    newest = journal.extents[-1]
    journal.note_loaded({extent.number: extent.size for extent in journal.extents})
    journal.retire(now=newest.path.stat().st_mtime + 60)
    assert len(journal.extents) > 1
    journal.retire(now=newest.path.stat().st_mtime + 2 * 86_400)
    assert journal.extents == (newest,)


def test_a_full_record_refuses_instead_of_growing(directory: Path) -> None:
    journal = opened(directory, max_bytes=1_000)
    journal.append(lines(call()))
    before = content(journal)
    with pytest.raises(Busy, match="mms health"):
        journal.append(lines(*calls(5)))
    assert content(journal) == before


def test_a_write_that_the_disk_takes_in_part_leaves_nothing_behind(directory: Path) -> None:
    journal = opened(directory)
    journal.append(lines(call()))
    before = content(journal)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))  # as a full disk: a part of the batch fits
    try:
        with pytest.raises(StateError, match="cannot be written"):
            journal.append(lines(*calls(3)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert content(journal) == before
    after = lines(call(tool="after"))
    journal.append(after)
    assert content(journal) == before + after
    assert journal.appended == 2


def test_a_directory_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file")
    with pytest.raises(StateError, match="events"):
        Journal(tmp_path / "events").open()
