"""What the surfacer relies on, held against the embedded LTM and, where it is installed, the public one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from actors.surfacer.ltm import Ltm
from actors.surfacer.memory import is_own_id
from tests.bench.surfacing.runner import embedded, memtomem, run
from tests.bench.surfacing.situations import Labelled, Note, Situation
from tests.fixtures.memtomem import find_memtomem

NOTES = Labelled(
    notes={
        "auth": Note("default", "auth.md", "Refresh tokens", "The handler rotates the refresh token on every use."),
        "pool": Note("default", "ops/postgres.md", "Pool", "pgbouncer pools by transaction; prepared statements fail."),
        "other": Note("harbour", "auth.md", "Berths", "Berth tokens are handed out by the pilot."),
        "korean": Note("default", "운영.md", "배포 절차", "운영 배포는 매주 화요일에만 진행한다."),
    },
    situations=(
        Situation("read_file", ("auth",), {"path": "src/auth/refresh_token.py"}),
        Situation("web_search", (), {"query": "sourdough hydration for rye bread"}),
    ),
)  # fmt: skip
SERVERS = ("embedded", "memtomem")


@pytest.fixture(params=SERVERS)
async def ltm(request: pytest.FixtureRequest) -> AsyncIterator[Ltm]:
    """The server over the notes, in a home of its own."""
    command = find_memtomem()
    if request.param == "memtomem" and not command:
        # It wants a newer Python than the project does, so neither the test environment nor CI installs it.
        pytest.skip("the public memtomem is not installed: make ltm-env")
    server = embedded if request.param == "embedded" else partial(memtomem, command=command)
    folder = Path(tempfile.mkdtemp(prefix="mms-"))
    try:
        async with server(NOTES, folder) as ltm:
            yield ltm
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def test_the_contract(ltm: Ltm, tmp_path: Path) -> None:
    """One after the other over one server, which takes a second or two to start."""
    await it_tells_its_abilities(ltm)
    await structured_and_compact_hits_are_read(ltm)
    await what_is_not_there_is_not_found_or_not_shown(ltm, tmp_path)
    await a_namespace_limits_the_search(ltm)
    await working_memory_may_be_asked_for(ltm)
    await helpful_memories_are_told(ltm)
    await a_new_note_is_found_at_once(ltm)


async def it_tells_its_abilities(ltm: Ltm) -> None:
    assert {"mem_search", "mem_add", "mem_do"} <= ltm.abilities.tools.keys()
    assert {"structured", "compact"} <= ltm.abilities.formats
    assert ltm.abilities.version
    assert ltm.abilities.mode == "bm25_only"


async def structured_and_compact_hits_are_read(ltm: Ltm) -> None:
    found = await ltm.search("refresh token", timeout=10)
    assert found.scale in ("rrf", "bm25")
    first = found.memories[0]
    assert "rotates the refresh token" in first.text
    assert Path(first.source).name == "auth.md"
    assert first.namespace == "default"
    assert is_own_id(first.id)
    assert first.score > 0
    compact = await ltm.search("refresh token", timeout=10, style="compact")
    assert "rotates the refresh token" in compact.memories[0].text
    korean = await ltm.search("운영 배포", timeout=10)
    assert "화요일" in korean.memories[0].text


async def what_is_not_there_is_not_found_or_not_shown(ltm: Ltm, tmp_path: Path) -> None:
    right, none = await run(NOTES, ltm, tmp_path)
    assert right.shown == (frozenset({"auth"}),)
    assert none.shown == ()


async def a_namespace_limits_the_search(ltm: Ltm) -> None:
    found = await ltm.search("tokens", timeout=10, namespace="harbour")
    assert [memory.namespace for memory in found.memories] == ["harbour"]


async def working_memory_may_be_asked_for(ltm: Ltm) -> None:
    found = await ltm.search("pgbouncer", timeout=10, session_context=True)
    assert "prepared statements" in found.memories[0].text


async def helpful_memories_are_told(ltm: Ltm) -> None:
    found = await ltm.search("pgbouncer", timeout=10)
    await ltm.boost([found.memories[0].id])


async def a_new_note_is_found_at_once(ltm: Ltm) -> None:
    text, _ = await ltm.add("Quokka enclosures are cleaned at dawn.", title="Quokkas", namespace="", tags=("zoo",))
    assert text
    found = await ltm.search("quokka", timeout=10)
    assert "cleaned at dawn" in found.memories[0].text
