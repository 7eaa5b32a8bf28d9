"""Hot reload."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any

from bus.log import Log
from config.edit import edit
from config.load import Loaded, load_settings
from config.place import Place
from config.watch import ConfigWatcher

Write = Callable[[Any], None]


def watcher_of(place: Place, **env: str) -> ConfigWatcher:
    return ConfigWatcher(place, env, interval=0.005)


async def next_of(watcher: ConfigWatcher) -> Loaded:
    return await asyncio.wait_for(watcher.changed(), 20)


async def test_a_change_is_noticed_and_the_environment_still_counts(place: Place, write: Write) -> None:
    write({"default_compression": "none"})
    watcher = watcher_of(place, MEMTOMEM_STM_SURFACING__MAX_RESULTS="1")
    assert watcher.current == load_settings(place, {"MEMTOMEM_STM_SURFACING__MAX_RESULTS": "1"})
    edit(place, lambda document: {"default_compression": "truncate"})
    loaded = await next_of(watcher)
    assert loaded is watcher.current
    assert loaded.settings.proxy.default_compression == "truncate"
    assert loaded.settings.surfacing.max_results == 1


async def test_a_file_that_appears_is_noticed(place: Place, write: Write) -> None:
    watcher = watcher_of(place)
    assert (watcher.current.problems, watcher.error) == ((), "")
    waiting = asyncio.create_task(watcher.changed())
    await asyncio.sleep(0)
    write({"default_compression": "none"})
    assert (await asyncio.wait_for(waiting, 20)).settings.proxy.default_compression == "none"


async def test_same_size_and_times_do_not_hide_a_change(place: Place, write: Write) -> None:
    write({"log_level": "DEBUG"})
    watcher = watcher_of(place)
    stamp = place.config_file.stat()
    write({"log_level": "ERROR"})
    os.utime(place.config_file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert (await next_of(watcher)).settings.log_level == "ERROR"


async def test_the_level_of_a_log_follows(place: Place, write: Write) -> None:
    log = Log("test", place.logs)
    write({"log_level": "WARNING"})
    watcher = ConfigWatcher(place, {}, interval=0.005, log=log)
    log.info("too little")
    log.warning("enough")
    write({"log_level": "DEBUG"})
    await next_of(watcher)
    log.debug("now enough")
    write({"log_level": "CRITICAL"})
    await next_of(watcher)
    log.error("not any more")
    written = (place.logs / "test.log").read_text()
    assert [json.loads(line)["event"] for line in written.splitlines()] == ["enough", "now enough"]


async def test_a_broken_edit_keeps_the_last_good_state_and_shows_the_error(place: Place, write: Write) -> None:
    write({"default_compression": "none"})
    watcher = watcher_of(place)
    good = watcher.current
    write(b'{"default_compression": "tru')
    assert await next_of(watcher) is good
    assert "half-written" in watcher.error
    write({"default_compression": "none"})
    assert (await next_of(watcher)).generation == good.generation
    assert watcher.error == ""


async def test_an_edit_with_a_wrong_value_keeps_the_last_good_state(place: Place, write: Write) -> None:
    """One that was there from the start holds up nothing else."""
    write({"default_compression": "none", "log_level": "LOUD"})
    watcher = watcher_of(place)
    assert watcher.error == ""
    write({"default_compression": "truncate", "log_level": "LOUD"})
    good = await next_of(watcher)
    assert good.settings.proxy.default_compression == "truncate"
    write({"default_compression": "smaller", "log_level": "LOUD"})
    assert await next_of(watcher) is good
    assert "default_compression must be one of" in watcher.error
    write({"default_compression": "hybrid"})
    assert (await next_of(watcher)).settings.proxy.default_compression == "hybrid"
    assert watcher.error == ""


async def test_a_file_that_goes_away_keeps_the_last_good_state(place: Place, write: Write) -> None:
    write({"default_compression": "none"})
    watcher = watcher_of(place)
    good = watcher.current
    place.config_file.unlink()
    assert await next_of(watcher) is good
    assert "is gone" in watcher.error
    write({"default_compression": "truncate"})
    assert (await next_of(watcher)).settings.proxy.default_compression == "truncate"
    assert watcher.error == ""


async def test_a_file_that_becomes_something_else(place: Place, write: Write) -> None:
    write({"default_compression": "none"})
    watcher = watcher_of(place)
    good = watcher.current
    place.config_file.unlink()
    place.config_file.mkdir()
    while "regular file" not in watcher.error:
        assert await next_of(watcher) is good
    place.config_file.rmdir()
    write({"default_compression": "truncate"})
    while (await next_of(watcher)).settings.proxy.default_compression != "truncate":
        pass
    assert watcher.error == ""


async def test_an_old_file_is_not_read_again_until_it_changes(place: Place, write: Write) -> None:
    write({"default_compression": "none"})
    os.utime(place.config_file, (1_000_000_000, 1_000_000_000))
    watcher = watcher_of(place)
    waiting = asyncio.create_task(watcher.changed())
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    write({"default_compression": "hybrid"})
    assert (await asyncio.wait_for(waiting, 20)).settings.proxy.default_compression == "hybrid"


async def test_broken_from_the_start(place: Place, write: Write) -> None:
    write(b"[]")
    watcher = watcher_of(place)
    assert "not a list" in watcher.error
    assert watcher.current.file_error == watcher.error
    write({"default_compression": "none"})
    assert (await next_of(watcher)).settings.proxy.default_compression == "none"
    assert watcher.error == ""


async def test_rewriting_the_same_content_is_no_change(place: Place, write: Write) -> None:
    write({"default_compression": "none"})
    watcher = watcher_of(place)
    place.config_file.rename(place.home / "old")
    place.config_file.write_bytes((place.home / "old").read_bytes())
    waiting = asyncio.create_task(watcher.changed())
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done
    write({"default_compression": "hybrid"})
    assert (await asyncio.wait_for(waiting, 20)).settings.proxy.default_compression == "hybrid"


async def test_iterating_gives_each_change(place: Place, write: Write) -> None:
    watcher = watcher_of(place)
    write({"default_compression": "none"})
    async for loaded in watcher:
        if loaded.settings.proxy.default_compression == "hybrid":
            break
        write({"default_compression": "hybrid"})
    assert watcher.current.settings.proxy.default_compression == "hybrid"
