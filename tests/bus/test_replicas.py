"""Names of replicas and who serves what."""

from __future__ import annotations

import pytest

from bus.endpoint import Runtime
from bus.replicas import actor_of, ranked, replica, replicas


def test_the_first_has_the_actor_s_own_name() -> None:
    assert replicas("compressor", 3) == ("compressor", "compressor-2", "compressor-3")
    for name in replicas("compressor", 16):
        assert actor_of(name) == "compressor"
        assert Runtime(None).address(name) == f"inproc://{name}"


@pytest.mark.parametrize("name", ["upstream", "compressor-1", "compressor-0", "compressor-20", "a-b"])
def test_other_names_are_nobody_s_replica(name: str) -> None:
    assert actor_of(name) == name


def test_contents_are_shared_out_evenly_and_stay_where_they_are() -> None:
    contents = [b"content %d" % number for number in range(3_000)]
    three, four = replicas("compressor", 3), replicas("compressor", 4)
    before = {content: ranked(content, three) for content in contents}
    assert all(sorted(order) == sorted(three) for order in before.values())
    for name in three:
        assert 800 < sum(order[0] == name for order in before.values()) < 1_200
    after = {content: ranked(content, four) for content in contents}
    for content in contents:
        # A new replica takes its share and moves nothing else.
        assert [name for name in after[content] if name != replica("compressor", 4)] == before[content]
