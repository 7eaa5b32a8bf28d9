"""`mms cache` where no cluster runs; with one: tests/cluster."""

from __future__ import annotations

import pytest

from cli.cache import cache
from config.place import Place
from tests.cli.conftest import Invoke, document_of


@pytest.mark.parametrize("command", ["clear", "stats"])
def test_without_a_cluster_it_says_so_and_starts_none(place: Place, mms: Invoke, command: str) -> None:
    result = mms([cache], "cache", command)
    assert result.exit_code == 1
    assert result.stderr == f"Error: no cluster runs for {place.home}; `mms up` starts it\n"
    assert document_of(mms([cache], "cache", command, "--json"))["error"] == "not_running"
