"""Paths from an environment, also from one that says little."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from bus.errors import ConfigError
from config.place import Place, private_directory


@pytest.mark.parametrize("env", [{}, {"HOME": ""}])
def test_without_a_home_the_systems_counts(env: dict[str, str]) -> None:
    assert Place.from_environment(env).home == Path(pwd.getpwuid(os.getuid()).pw_dir, ".memtomem")


def test_the_root_directory_may_be_a_home() -> None:
    assert str(Place.from_environment({"HOME": "/"}).config_file) == "/.memtomem/stm_proxy.json"
    assert Place.from_environment({"HOME": "/h", "MEMTOMEM_STM_HOME": "~"}).home == Path("/h")


def test_a_file_in_the_place_of_a_directory_is_called_one(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.touch()
    with pytest.raises(ConfigError, match=f"cannot use the directory {file}: it is a file"):
        private_directory(file)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs a directory of ours whose mode cannot change")
def test_a_directory_that_cannot_be_made_private_is_named() -> None:
    with pytest.raises(ConfigError, match="/proc/self/task is open to other users and cannot be closed"):
        private_directory(Path("/proc/self/task"))
