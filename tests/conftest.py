"""Fixtures that every test may use: a scratch place for a cluster, in this process or over real sockets."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.place import Place


@pytest.fixture
def place() -> Iterator[Place]:
    """A scratch home of its own, short enough for socket paths."""
    home = Path(tempfile.mkdtemp(prefix="mms-"))
    found = Place.from_environment({"MEMTOMEM_STM_HOME": str(home / "home"), "MMS_RUNTIME_DIR": str(home / "run")})
    found.prepare()
    yield found
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["inproc", "ipc"])
def any_place(request: pytest.FixtureRequest, place: Place) -> Place:
    """The same actors in one process and over real sockets."""
    return dataclasses.replace(place, runtime=None) if request.param == "inproc" else place
