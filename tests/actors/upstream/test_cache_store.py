"""The store of the response cache: bounds, lives, restarts, and what happens when the disk fails."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.upstream.cache_store import CacheStore
from bus.errors import StateError


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Home:
    """A directory with the file, a clock, and what was reported."""

    def __init__(self, path: Path) -> None:
        self.file = path / "cache.db"
        self.clock = Clock()
        self.reports: list[tuple[str, str]] = []

    @asynccontextmanager
    async def store(self, memory_bytes: int = 1_000_000) -> AsyncIterator[CacheStore]:
        store = CacheStore(
            self.file, lambda what, detail: self.reports.append((what, detail)), clock=self.clock,
            memory_bytes=memory_bytes,
        )  # fmt: skip
        await store.open()
        try:
            yield store
        finally:
            await store.close()

    def rows(self, query: str = "SELECT count(*) FROM responses JOIN bodies USING (key)") -> list[tuple[object, ...]]:
        connection = sqlite3.connect(self.file)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


async def kept(store: CacheStore, *numbers: int) -> list[int]:
    return [number for number in numbers if await store.get(key(number), None) is not None]


async def test_what_was_put_comes_back_as_it_was_also_after_a_restart(home: Home) -> None:
    body = '{"x":1.10,"s":"\\ud83d\\ude00 한글"}'.encode()
    async with home.store() as store:
        store.put(key(1), "s", "t", body, 60)
        assert await store.get(key(1), 60) == body
        assert await store.get(key(2), 60) is None
    async with home.store() as store:
        assert (len(store), store.total_bytes, store.in_memory) == (1, len(body), 0)
        assert await store.get(key(1), 60) == body
        assert store.in_memory == 1
        assert await store.get(key(1), 60) == body
    assert home.reports == []
    assert stat.S_IMODE(home.file.stat().st_mode) == 0o600
    assert home.rows("PRAGMA user_version") == [(1,)]


async def test_a_put_under_the_same_key_replaces(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"old", 60)
        await store.settle()
        store.put(key(1), "s", "t", b"newer", 60)
        assert await store.get(key(1), 60) == b"newer"
        assert (len(store), store.total_bytes) == (1, 5)
    async with home.store() as store:
        assert await store.get(key(1), 60) == b"newer"


async def test_lives_end_by_the_clock(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"a", 60)
        store.put(key(2), "s", "t", b"b", None)
        store.put(key(3), "s", "t", b"c", 600)
        home.clock.now += 59
        assert await kept(store, 1, 2, 3) == [1, 2, 3]
        home.clock.now += 1
        assert await kept(store, 1, 2, 3) == [2, 3]
        assert await store.get(key(3), 30) is None, "a shorter life in the configuration holds for older entries"
        home.clock.now += 1e9
        assert await kept(store, 2) == [2]
        await store.settle()
        assert home.rows() == [(1,)]


async def test_expired_entries_go_at_a_restart_and_while_running(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"a", 60)
        store.put(key(2), "s", "t", b"b", 6_000)
    home.clock.now += 61
    async with home.store() as store:
        assert len(store) == 1
        home.clock.now += 6_000
        store.put(key(3), "s", "t", b"c", 60)
        assert len(store) == 1
        await store.settle()
        assert home.rows() == [(1,)]


async def test_a_clock_that_was_set_back_makes_nothing_live_longer(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"a", 60)
        home.clock.now -= 1_000
        assert await store.get(key(1), 60) is None


async def test_the_least_recently_used_goes_first_also_after_a_restart(home: Home) -> None:
    async with home.store() as store:
        store.limit(3, 1_000_000)
        for number in (1, 2, 3):
            home.clock.now += 1
            store.put(key(number), "s", "t", b"x", None)
        home.clock.now += 1
        assert await store.get(key(1), None)
        store.put(key(4), "s", "t", b"x", None)
        assert await kept(store, 2) == []
        await store.settle()
        assert home.rows() == [(3,)]
    async with home.store() as store:
        store.limit(2, 1_000_000)
        assert await kept(store, 3) == []
        assert await kept(store, 1, 4) == [1, 4]


async def test_bytes_are_bounded(home: Home) -> None:
    async with home.store() as store:
        store.limit(1_000, 1_000)
        for number in range(50):
            store.put(key(number), "s", "t", bytes(100), None)
            assert store.total_bytes <= 1_000
        assert await kept(store, *range(50)) == list(range(40, 50))
        store.put(key(99), "s", "t", bytes(600), None)
        assert await kept(store, 99) == [], "one response must not push out most others"
        assert len(store) == 10
        await store.settle()
        assert home.rows("SELECT count(*), sum(length(body)) FROM bodies") == [(10, 1_000)]


async def test_memory_is_bounded_and_the_disk_has_the_rest(home: Home) -> None:
    async with home.store(memory_bytes=1_000) as store:
        for number in range(20):
            store.put(key(number), "s", "t", bytes([number]) * 200, None)
        store.put(key(50), "s", "t", bytes(900), None)
        assert len(store) == 21
        assert store.in_memory == 5
        for number in range(20):
            assert await store.get(key(number), None) == bytes([number]) * 200
        assert await store.get(key(50), None) == bytes(900)
        assert store.in_memory == 5


@pytest.mark.parametrize(
    ("server", "tool", "left"),
    [("", "", []), ("a", "", [3]), ("a", "x", [2, 3]), ("", "x", [2]), ("b", "y", [1, 2, 3]), ("a", "none", [1, 2, 3])],
)
async def test_forgetting_has_a_scope_and_reaches_the_disk(home: Home, server: str, tool: str, left: list[int]) -> None:
    async with home.store() as store:
        for number, (its_server, its_tool) in enumerate((("a", "x"), ("a", "y"), ("b", "x")), 1):
            store.put(key(number), its_server, its_tool, b"x", None)
        await store.settle()
        assert store.forget(server, tool) == 3 - len(left)
        assert await kept(store, 1, 2, 3) == left
        store.put(key(9), "a", "x", b"later", None)
        await store.settle()
        assert home.rows() == [(len(left) + 1,)]
    async with home.store() as store:
        assert await kept(store, 1, 2, 3, 9) == [*left, 9]


async def test_an_entry_that_goes_while_its_body_is_read_is_not_given(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"x", None)
    async with home.store() as store:
        reading = asyncio.create_task(store.get(key(1), None))
        await asyncio.sleep(0)
        store.forget("s")
        assert await reading is None


async def test_a_corrupt_file_is_set_aside(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"x", None)
    home.file.write_bytes(b"no database at all" * 1_000)
    async with home.store() as store:
        assert len(store) == 0
        store.put(key(2), "s", "t", b"y", None)
    [(what, detail)] = home.reports
    assert what == "store_set_aside"
    assert Path(detail.split()[-1]).read_bytes().startswith(b"no database")
    async with home.store() as store:
        assert await kept(store, 1, 2) == [2]


async def test_damage_while_running_costs_the_entries_and_no_call(home: Home) -> None:
    async with home.store(memory_bytes=1_000) as store:
        for number in range(200):
            store.put(key(number), "s", "t", bytes(250), None)
        await store.settle()
        store._disk._database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[union-attr]
        store._disk._database.connection.execute("PRAGMA cache_size = 0")  # type: ignore[union-attr]
        with home.file.open("r+b") as file:
            file.seek(4_096)
            file.write(b"\xff" * (home.file.stat().st_size - 4_096))
        for number in range(200):
            assert await store.get(key(number), None) in (None, bytes(250))
        assert [what for what, _ in home.reports] == ["store_set_aside"]
        store.put(key(500), "s", "t", b"after", None)
        await store.settle()
        assert home.rows() == [(1,)]
        assert await store.get(key(500), None) == b"after"


async def test_the_file_of_a_newer_version_is_left_alone_and_memory_serves(home: Home) -> None:
    connection = sqlite3.connect(home.file)
    connection.executescript("PRAGMA user_version = 99; CREATE TABLE later (x)")
    connection.close()
    before = home.file.read_bytes()
    async with home.store() as store:
        store.put(key(1), "s", "t", b"x", None)
        assert await store.get(key(1), None) == b"x"
        assert store.forget() == 1
        await store.settle()
        assert "newer" in store.error or "version 99" in store.error
    assert [what for what, _ in home.reports] == ["store_failed"]
    assert home.file.read_bytes() == before


async def test_memory_alone_is_bounded_too(home: Home) -> None:
    home.file.mkdir()
    async with home.store(memory_bytes=1_000) as store:
        for number in range(20):
            store.put(key(number), "s", "t", bytes(200), None)
        store.put(key(50), "s", "t", bytes(900), None)
        assert (len(store), store.in_memory) == (5, 5)
        assert await kept(store, *range(20)) == [15, 16, 17, 18, 19]


async def test_a_disk_that_fails_keeps_memory_serving_and_is_tried_again(home: Home) -> None:
    async with home.store() as store:
        store.put(key(1), "s", "t", b"one", None)
        await store.settle()
        blocker = sqlite3.connect(home.file, isolation_level=None)
        store._disk._database.connection.execute("PRAGMA busy_timeout = 0")  # type: ignore[union-attr]
        blocker.execute("BEGIN IMMEDIATE")
        store.put(key(2), "s", "t", b"two", None)
        await store.settle()
        assert "locked" in store.error
        assert await kept(store, 1, 2) == [1, 2]
        assert store.forget("s") == 2
        with pytest.raises(StateError, match="could not be deleted"):
            await store.settle()
        assert [what for what, _ in home.reports] == ["store_failed"]
        blocker.execute("ROLLBACK")
        blocker.close()
        await store.settle()
        assert store.error == ""
        store.put(key(3), "s", "t", b"three", None)
        await store.settle()
        assert home.rows("SELECT key FROM responses JOIN bodies USING (key)") == [(key(3),)]


KILLED = """
import asyncio, os, sys
from pathlib import Path
from actors.upstream.cache_store import CacheStore
async def main():
    store = CacheStore(Path(sys.argv[1]), print)
    await store.open()
    for number in range(100):
        store.put(number.to_bytes(32, "big"), "s", "t", b"x" * 1000, None)
    await store.settle()
    print("written", flush=True)
    number = 100
    while True:
        store.put(number.to_bytes(32, "big"), "s", "t", b"y" * 1000, None)
        number += 1
        await asyncio.sleep(0)
asyncio.run(main())
"""


async def test_a_kill_in_the_middle_of_writing_loses_nothing_that_was_written(home: Home) -> None:
    def run() -> None:
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, str(home.file)], stdout=subprocess.PIPE, cwd=os.getcwd()
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"written\n"
            process.send_signal(signal.SIGKILL)

    await asyncio.to_thread(run)
    home.clock.now = time.time()
    async with home.store() as store:
        assert await kept(store, *range(100)) == list(range(100))
    assert home.reports == []


async def test_closing_writes_what_waits(home: Home) -> None:
    async with home.store() as store:
        for number in range(500):
            store.put(key(number), "s", "t", bytes(500), None)
    assert home.rows() == [(500,)]
