"""Starting processes: their environment, their output, what is written down about them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bus.census import is_stopping, note_stopping, orphans, write_census
from bus.errors import AlreadyRunning
from bus.launch import ChildSpec, environment, last_words, launch, output
from bus.lock import OwnerLock, owner_of
from config.place import Place


def python(code: str) -> ChildSpec:
    return ChildSpec("child", (sys.executable, "-c", code))


def test_the_environment_shadows_nothing_and_names_the_place_and_the_parent(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "MMS_PARENT"):
        monkeypatch.setenv(name, "/project")
    monkeypatch.setenv("SETTING", "kept")
    found = environment(place)
    assert not {"PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "MMS_PARENT"} & found.keys()
    assert found["SETTING"] == "kept"
    assert found["MEMTOMEM_STM_HOME"] == str(place.home)
    child = launch(python("import os; print(os.environ['MMS_PARENT'], os.getcwd())"), place)
    assert child.wait(20) == 0
    assert output(place.logs, "child").read_text() == f"{os.getpid()} {place.locks}\n"


def test_the_output_of_the_start_before_is_kept(place: Place) -> None:
    for text in ("one", "two", "three"):
        launch(python(f"import sys; sys.exit({text!r})"), place).wait(20)
    path = output(place.logs, "child")
    assert (path.read_text(), path.with_suffix(".out.1").read_text()) == ("three\n", "two\n")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("written", "words"),
    [(b"", ""), (b"one\ntwo\n\n  \n", "two"), (b"x" * 10_000 + b"\nend", "end"), (b"\xff\xfe\n", "\ufffd\ufffd")],
)
def test_the_last_words_are_the_last_line(place: Place, written: bytes, words: str) -> None:
    output(place.logs, "child").write_bytes(written)
    assert last_words(place.logs, "child") == words
    assert last_words(place.logs, "nobody") == ""


def test_orphans_are_listed_and_still_hold_their_name(place: Place) -> None:
    assert orphans(place.locks) == {}
    lock = OwnerLock(place.locks / "upstream.lock")
    lock.acquire()
    write_census(place.locks, {"upstream": os.getpid(), "tuner": os.getpid()})
    assert orphans(place.locks) == {"upstream": os.getpid()}
    write_census(place.locks, {"upstream": 1})
    assert orphans(place.locks) == {}
    lock.release()


def test_a_supervisor_that_stops_is_told_from_the_one_after_it(place: Place) -> None:
    assert not is_stopping(place.locks, os.getpid())
    note_stopping(place.locks)
    assert is_stopping(place.locks, os.getpid())
    assert not is_stopping(place.locks, os.getpid() + 1)


def test_whoever_asks_for_the_owner_is_not_taken_for_it(place: Place) -> None:
    path = place.locks / "upstream.lock"
    code = "import pathlib, sys; from bus.lock import owner_of; print(flush=True)\n"
    code += "while True: owner_of(pathlib.Path(sys.argv[1]))"
    lock = OwnerLock(path)
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as asking:
        try:
            assert asking.stdout is not None
            asking.stdout.readline()
            for _ in range(1_000):
                lock.acquire()
                lock.release()
        finally:
            asking.kill()


def test_a_lock_can_be_handed_over_without_a_gap(place: Place) -> None:
    path = place.locks / "upstream.lock"
    lock = OwnerLock(path)
    lock.acquire()
    adopted = OwnerLock.adopt(path, os.dup(lock.fd))
    lock.release()
    assert owner_of(path) == os.getpid()
    assert not os.get_inheritable(adopted.fd)
    with pytest.raises(AlreadyRunning):
        OwnerLock(path).acquire()
    adopted.name_owner(12345)
    assert owner_of(path) == 12345
    adopted.release()
    assert owner_of(path) == 0
