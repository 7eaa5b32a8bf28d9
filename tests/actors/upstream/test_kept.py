"""The kept catalogue on disk."""

from __future__ import annotations

import json

import msgspec
import pytest

from actors.upstream.kept import SCHEMA_VERSION, Kept, KeptServer, load
from bus.log import Log
from config.place import Place

SERVERS = {"fs": KeptServer(connection="c", tools=[msgspec.Raw(b'{"name":"read"}')])}


@pytest.mark.parametrize("version", [SCHEMA_VERSION, SCHEMA_VERSION + 1])
async def test_the_file_of_a_newer_version_is_left_alone(place: Place, version: int) -> None:
    path = place.home / "catalogue.json"
    path.write_text(json.dumps({"schema_version": version, "servers": {}}))
    before = path.read_bytes()
    kept = Kept(path, Log("upstream", place.logs))
    await kept.open()
    kept.update(SERVERS)
    await kept.close()
    if version > SCHEMA_VERSION:
        assert path.read_bytes() == before
    else:
        assert list(load(path)) == ["fs"]
