"""The kept catalogue on disk."""

from __future__ import annotations

import json

import msgspec
import pytest

from actors.upstream.kept import MAX_BYTES, SCHEMA_VERSION, Kept, KeptServer, load
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


async def test_a_catalogue_that_is_too_large_to_be_kept_is_said_once(place: Place) -> None:
    path = place.state / "catalogue.json"
    kept = Kept(path, Log("upstream", place.logs))
    large = b'{"name":"large","description":"%s"}' % (b"x" * MAX_BYTES)
    for connection in "ab":
        kept.update({"fs": KeptServer(connection=connection, tools=[msgspec.Raw(large)])})
        await kept.close()
    assert not path.exists()
    kept.update(SERVERS)
    await kept.close()
    assert list(load(path)) == ["fs"]
    (line,) = (place.logs / "upstream.log").read_text().splitlines()
    assert "hide tools that nobody needs" in json.loads(line)["error"]


async def test_an_unreadable_file_is_said_and_replaced(place: Place) -> None:
    path = place.state / "catalogue.json"
    path.write_bytes(b"{")
    kept = Kept(path, Log("upstream", place.logs))
    await kept.open()
    kept.update(SERVERS)
    await kept.close()
    assert list(load(path)) == ["fs"]
    assert "cannot be read" in (place.logs / "upstream.log").read_text()
