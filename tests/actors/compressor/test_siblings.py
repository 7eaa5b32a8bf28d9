"""The recall files and the key that several replicas share."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from actors.compressor.compress import Original
from actors.compressor.recall import Recall
from actors.compressor.secret import installation_secret
from actors.compressor.siblings import files, sweep
from bus.errors import StateError

TEXT = "A line of a long text.\n" * 900


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def put(recall: Recall, text: str, ttl: int = 1_800, chunk: int = 0) -> str:
    ticket = recall.ticket(text, ttl)
    recall.put([Original(text, ticket, chunk)], "srv", "tool", "trace")
    return ticket.key


def test_a_key_is_found_in_the_file_of_a_replica_that_is_gone(tmp_path: Path, clock: Clock) -> None:
    first, second = Recall(tmp_path, clock), Recall(tmp_path, clock, number=2)
    key = put(second, TEXT, chunk=400)  # and never closed: as after SIGKILL, all of it is in the log file
    assert first.ticket(TEXT, 1_800).key == key
    found = first.get(key)
    assert found is not None
    assert (found.text, found.server, found.tool, found.trace_id, found.chunk) == (TEXT, "srv", "tool", "trace", 400)
    # What was asked for lives on, whatever becomes of the other file.
    clock.now += 1_700
    assert first.get(key) is not None
    for path in tmp_path.glob("recall-2.db*"):
        path.unlink()
    clock.now += 1_700
    assert first.get(key) is not None
    clock.now += 1_801
    assert first.get(key) is None


def test_what_has_expired_or_cannot_be_read_is_not_found(tmp_path: Path, clock: Clock) -> None:
    first, second = Recall(tmp_path, clock), Recall(tmp_path, clock, number=2)
    key = put(second, TEXT)
    (tmp_path / "recall-3.db").write_bytes(b"no database at all" * 100)
    (tmp_path / "recall-4.db").touch()
    clock.now += 1_801
    assert first.get(key) is None
    assert first.get("unknown") is None
    assert first.held().entries == 0


def test_credentials_stay_in_their_replica_s_memory(tmp_path: Path) -> None:
    first, second = Recall(tmp_path), Recall(tmp_path, number=2)
    key = put(second, TEXT + "\npassword=hunter2hunter2\n")
    assert second.get(key) is not None
    assert first.get(key) is None


def test_files_of_replicas_that_are_no_more_go_when_they_hold_nothing(tmp_path: Path, clock: Clock) -> None:
    Recall(tmp_path, clock).close()
    for number in (2, 3, 4):
        recall = Recall(tmp_path, clock, number=number)
        if number != 2:
            put(recall, f"{number} {TEXT}")
        recall.close()
    owned = {4}

    def removed(replicas: int) -> list[str]:
        return [path.name for path in sweep(tmp_path, replicas, owned.__contains__, clock.now)]

    assert removed(2) == []
    assert removed(1) == ["recall-2.db"]
    clock.now += 1_801
    assert removed(1) == ["recall-3.db"]
    owned.clear()
    assert removed(1) == ["recall-4.db"]
    assert list(files(tmp_path)) == [1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recall.db", "recall.key"]


def test_a_key_file_that_others_could_read_is_private_again_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "recall.key"
    made, fault = installation_secret(path)
    assert (len(made), fault, path.stat().st_mode & 0o777) == (32, "", 0o600)
    path.chmod(0o644)
    found, fault = installation_secret(path)
    assert found == made
    assert "mode 0644" in fault
    assert path.stat().st_mode & 0o777 == 0o600
    assert installation_secret(path) == (made, "")


@pytest.mark.parametrize("garbage", [b"", b"short", b"x" * 4_000])
def test_a_key_file_that_is_none_is_set_aside(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "recall.key"
    path.write_bytes(garbage)
    made, fault = installation_secret(path)
    (aside,) = tmp_path.glob("recall.key.damaged-*")
    assert aside.name in fault
    assert aside.read_bytes() == garbage
    assert path.read_bytes() == made
    assert Recall(tmp_path).key_fault == ""


def _make(path: Path) -> bytes:
    return installation_secret(path)[0]


def test_replicas_that_start_at_the_same_moment_have_one_secret(tmp_path: Path) -> None:
    (tmp_path / "recall.key").write_bytes(b"garbage")
    with multiprocessing.get_context("fork").Pool(4) as pool:
        made = pool.map(_make, [tmp_path / "recall.key"] * 32)
    assert len(set(made)) == 1
    assert len(list(tmp_path.glob("recall.key.damaged-*"))) == 1


def test_a_directory_that_cannot_be_written_is_a_plain_error(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"recall\.key"):
        installation_secret(tmp_path / "missing" / "recall.key")
    assert os.listdir(tmp_path) == []
