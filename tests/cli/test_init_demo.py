"""`mms init --demo`: an example server in the configuration, and its files, without a network."""

from __future__ import annotations

import json

import pytest

from cli import example
from cli.init import init
from config.place import Place
from tests.cli.conftest import Invoke, document_of
from tests.fixtures.home import Home

pytestmark = pytest.mark.slow

COMMANDS = [init]


def test_the_example_is_set_up_and_can_be_tried() -> None:
    home = Home()
    try:
        first = home.mms("init", "--demo")
        assert first.returncode == 0, first.stderr
        assert first.stdout.split() == ["demo__list_files", "demo__read_file"]
        steps = [line.strip() for line in first.stderr.splitlines() if line.startswith("  ")]
        assert [step.partition(".")[0] for step in steps] == ["1", "2", "3", "4", "5"]
        path = json.dumps({"path": example.LOG})
        assert f"`mms call demo__read_file '{path}'`" in first.stderr
        read = home.mms("call", "demo__read_file", path)
        assert read.returncode == 0, read.stderr
        assert "KeyError: 'XTS'" in read.stdout
        assert len(read.stdout) < (home.path / "demo" / example.LOG).stat().st_size / 4
        again = home.mms("init", "--demo")
        assert again.returncode == 0, again.stderr
        assert "is there already" in again.stderr
    finally:
        home.mms("down")
        home.remove()


def test_a_server_of_that_name_is_left_alone(mms: Invoke, place: Place) -> None:
    place.config_file.write_text('{"upstream_servers": {"demo": {"prefix": "demo", "command": "mine"}}}')
    result = mms(COMMANDS, "init", "--demo", "--json")
    assert result.exit_code == 1
    assert "`mms remove demo` makes room" in document_of(result)["message"]
    assert json.loads(place.config_file.read_text())["upstream_servers"]["demo"]["command"] == "mine"
    assert not example.folder(place).exists()
