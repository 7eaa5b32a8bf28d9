"""A cluster that belongs to one process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bus.launch import environment
from cli.cluster import PrivateCluster, ensure_cluster
from config.place import Place
from tests.cluster.conftest import has_process, owners, until_all_run
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.slow

OWNER = """
import sys
from cli.cluster import PrivateCluster
from config.place import Place
cluster = PrivateCluster(Place.from_environment())
print(cluster.place.state, flush=True)
sys.stdin.read()
cluster.stop()
"""
Owner = "subprocess.Popen[str]"


@pytest.fixture
def owner(home: Place, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    argv = [sys.executable, "-P", "-c", OWNER]
    process = subprocess.Popen(
        argv, cwd=tmp_path, env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def place_of(owner: subprocess.Popen[str], home: Place) -> Place:
    """Where the owner's cluster lives."""
    assert owner.stdout is not None
    state = Path(owner.stdout.readline().strip())
    return home if state == home.state else home.with_state(state)


def test_it_uses_the_homes_own_state_and_ends_with_its_owner(owner: subprocess.Popen[str], home: Place) -> None:
    assert place_of(owner, home) == home
    ours = until_all_run(home)
    owner.communicate(timeout=30)
    assert owner.returncode == 0
    assert not [pid for pid in ours.values() if has_process(pid)]
    assert home.state.exists()


def test_it_ends_with_an_owner_that_is_killed(owner: subprocess.Popen[str], home: Place) -> None:
    place_of(owner, home)
    ours = until_all_run(home)
    owner.kill()
    owner.wait()
    eventually_blocking(lambda: not [pid for pid in ours.values() if has_process(pid)])


def test_beside_a_running_cluster_it_has_a_state_of_its_own(
    home: Place, owner: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    private = place_of(owner, home)
    until_all_run(private)
    cluster = PrivateCluster(home)
    try:
        assert cluster.place.state == home.state / "private" / str(os.getpid())
        scratch = until_all_run(cluster.place)
        assert not set(scratch.values()) & set(until_all_run(private).values())
        cluster.ensure()
        assert until_all_run(cluster.place) == scratch
        os.kill(scratch["supervisor"], 9)
        eventually_blocking(lambda: not owners(cluster.place))
        cluster.ensure()
        until_all_run(cluster.place)
    finally:
        cluster.stop()
    assert owners(cluster.place) == {}
    assert not cluster.place.state.exists()
    assert len(owners(home)) == 6


def test_what_a_killed_owner_left_is_removed_by_the_next(home: Place) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = home.state / "private" / str(ended.pid)
    (left / "logs").mkdir(parents=True)
    mine = home.state / "private" / str(os.getpid())
    mine.mkdir()
    cluster = PrivateCluster(home)
    cluster.stop()
    assert not left.exists()
    assert mine.exists()


def test_a_client_without_a_cluster_of_its_own_joins_the_private_one(owner: subprocess.Popen[str], home: Place) -> None:
    before = until_all_run(place_of(owner, home))
    ensure_cluster(home)
    assert owners(home) == before


@pytest.mark.parametrize("busy", [False, True])
def test_nothing_survives_a_private_gateway_that_is_killed(home: Place, tmp_path: Path, busy: bool) -> None:
    if busy:  # the home's own state is taken
        ensure_cluster(home, mode="pinned")
        until_all_run(home)
    argv = [sys.executable, "-P", "-m", "cli", "gateway", "--private"]
    pipe = subprocess.PIPE
    gateway = subprocess.Popen(argv, cwd=tmp_path, env=environment(home), stdin=pipe, stdout=pipe)
    private = home.with_state(home.state / "private" / str(gateway.pid)) if busy else home
    ours = until_all_run(private)
    gateway.kill()
    gateway.communicate()
    eventually_blocking(lambda: not [pid for pid in ours.values() if has_process(pid)])
    eventually_blocking(lambda: len(owners(home)) == (6 if busy else 0))
