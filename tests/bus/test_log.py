"""The log of a process: lines of JSON, private, and quiet about a disk that fails."""

from __future__ import annotations

import json
import resource
import stat
from pathlib import Path

import pytest

from bus.log import Log


def test_a_line_is_one_json_object_in_a_private_file(tmp_path: Path) -> None:
    log = Log("actor", tmp_path)
    log.info("started", path="a\nb", odd="\ud800")
    log.debug("left out")
    log.level = "DEBUG"
    log.debug("told", number=1)
    first, second = map(json.loads, (tmp_path / "actor.log").read_text().splitlines())
    assert (first["event"], first["level"], first["path"]) == ("started", "info", "a\nb")
    assert (second["event"], second["number"]) == ("told", 1)
    assert stat.S_IMODE((tmp_path / "actor.log").stat().st_mode) == 0o600


def test_a_full_disk_costs_lines_and_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log("actor", tmp_path)
    log.info("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "actor.log").stat().st_size, hard))
    try:
        for _ in range(3):
            log.error("lost")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.info("after")
    assert capsys.readouterr().err == f"the log {tmp_path / 'actor.log'} cannot be written: File too large\n"
    lines = (tmp_path / "actor.log").read_text().splitlines()
    assert json.loads(lines[0])["event"] == "before"
    assert json.loads(lines[-1])["event"] == "after"


def test_a_folder_that_is_not_there_costs_lines_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log("actor", tmp_path / "logs")
    log.info("lost")
    log.info("lost")
    assert capsys.readouterr().err.count("cannot be written: No such file or directory") == 1
    (tmp_path / "logs").mkdir()
    log.info("told")
    (line,) = (tmp_path / "logs" / "actor.log").read_text().splitlines()
    assert json.loads(line)["event"] == "told"
