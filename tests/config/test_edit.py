"""Locked, atomic writes."""

import fcntl
import json
import multiprocessing
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import config.edit
from bus.errors import ConfigError
from config.edit import edit
from config.place import Place
from config.read import read_file

Write = Callable[[Any], None]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_write_creates_a_private_file(place: Place) -> None:
    assert edit(place, lambda document: document | {"enabled": True})
    assert read_file(place.config_file) == {"enabled": True}
    assert mode(place.config_file) == 0o600
    assert not place.config_file.with_name("stm_proxy.json.bak").exists()


def test_unknown_keys_and_order_stay_and_the_previous_file_is_kept(place: Place, write: Write) -> None:
    before = {"zeta": [1, {"x": None}], "enabled": False, "alpha": "한국어", "big": 2512292042121000001}
    write(before)
    place.config_file.chmod(0o644)
    edit(place, lambda document: document | {"enabled": True})
    text = place.config_file.read_text()
    assert list(json.loads(text).items()) == list((before | {"enabled": True}).items())
    assert "한국어" in text
    assert mode(place.config_file) == 0o600
    backup = place.config_file.with_name("stm_proxy.json.bak")
    assert json.loads(backup.read_text()) == before
    assert mode(backup) == 0o600
    assert sorted(path.name for path in place.home.iterdir() if path.is_file()) == [
        ".stm_proxy.lock",
        "stm_proxy.json",
        "stm_proxy.json.bak",
    ]


@pytest.mark.parametrize("content", [b"", b'{"a":', b"[]", b"\xff", b'{"a": 1, "a": 2}', b'{"a": [{"b": 1, "b": 1}]}'])
def test_a_broken_file_is_refused_and_its_bytes_stay(place: Place, write: Write, content: bytes) -> None:
    write(content)
    with pytest.raises(ConfigError, match=r"stm_proxy\.json"):
        edit(place, lambda document: document)
    assert place.config_file.read_bytes() == content
    assert not place.config_file.with_name("stm_proxy.json.bak").exists()


def test_no_change_or_a_failing_change_writes_nothing(place: Place, write: Write) -> None:
    write({"a": 1})
    before = place.config_file.stat()

    def fail(document: dict[str, Any]) -> dict[str, Any]:
        document["a"] = 2
        raise ConfigError("no")

    assert not edit(place, lambda document: None)
    with pytest.raises(ConfigError, match="no"):
        edit(place, fail)
    assert place.config_file.stat().st_ino == before.st_ino
    assert read_file(place.config_file) == {"a": 1}


def test_a_linked_file_stays_a_link(place: Place, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    place.config_file.symlink_to(real)
    edit(place, lambda document: {"a": 1})
    assert place.config_file.is_symlink()
    assert json.loads(real.read_text()) == {"a": 1}


def test_a_held_lock_is_an_error_that_names_it(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.edit, "LOCK_SECONDS", 0.0)
    descriptor = os.open(place.home / config.edit.LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(ConfigError, match=r"\.stm_proxy\.lock"):
            edit(place, lambda document: {"a": 1})
    finally:
        os.close(descriptor)
    assert edit(place, lambda document: {"a": 1})


def test_a_failed_write_leaves_everything_as_it_was(place: Place, write: Write) -> None:
    write({"a": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(ConfigError, match=r"cannot write .*File too large"):
            edit(place, lambda document: document | {"b": "x" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert read_file(place.config_file) == {"a": 1}
    assert {path.name for path in place.home.iterdir() if "json" in path.name} == {
        "stm_proxy.json",
        "stm_proxy.json.bak",
    }


def test_a_lock_that_is_a_link_is_refused(place: Place, tmp_path: Path) -> None:
    (place.home / config.edit.LOCK_NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot open the lock"):
        edit(place, lambda document: {"a": 1})
    assert not (tmp_path / "elsewhere").exists()


def _count_up(place: Place) -> None:
    for _ in range(10):
        edit(place, lambda document: {"n": document.get("n", 0) + 1})


def test_concurrent_writers_lose_nothing(place: Place) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_count_up, args=(place,)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert read_file(place.config_file) == {"n": 30}
