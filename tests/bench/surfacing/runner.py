"""Takes situations through the real surfacer, in front of a real memory server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from actors.surfacer.ltm import Ltm
from actors.surfacer.ltm_link import StdioLink, connector
from actors.surfacer.messages import Surface
from actors.surfacer.store import Retention, Store
from actors.surfacer.surface import Surfacer
from bus.child import environment
from bus.message import Blob
from bus.tasks import end
from config.schema_surfacing import SurfacingSettings
from tests.bench.surfacing.figures import Answer
from tests.bench.surfacing.situations import Labelled, Situation, write_notes

SETTINGS = SurfacingSettings(dedup_ttl_seconds=0)
READY_SECONDS = 60.0
INDEX_SECONDS = 120.0
_LONG_RESPONSE = 10_000


@asynccontextmanager
async def embedded(labelled: Labelled, folder: Path) -> AsyncIterator[Ltm]:
    """The embedded LTM over the notes, as the surfacer starts it."""
    write_notes(labelled, folder / "memories")
    kind, connect = connector(
        SETTINGS, memories=folder / "memories", index=folder / "index.db", group_dir=None, env={"PATH": "/usr/bin:/bin"}
    )
    assert kind == "embedded"
    async with _connected(Ltm(connect, kind)) as ltm:
        yield ltm


@asynccontextmanager
async def memtomem(labelled: Labelled, folder: Path, *, command: str) -> AsyncIterator[Ltm]:
    """The public LTM with a home of its own, at its defaults; it indexes the notes before anything is asked."""
    memories = folder / ".memtomem" / "memories"
    write_notes(labelled, memories)
    env = environment({}) | {"HOME": str(folder)}
    link: list[StdioLink] = []

    async def connect() -> StdioLink:
        link.append(await StdioLink.open([command], env=env, cwd=folder, group_dir=None))
        return link[-1]

    async with _connected(Ltm(connect, "memtomem")) as ltm:
        for namespace in sorted({note.namespace for note in labelled.notes.values()}):
            place = memories if namespace == "default" else memories / namespace
            arguments = {"path": str(place), "recursive": True, "namespace": namespace, "force": True}
            params = {"name": "mem_index", "arguments": arguments}
            await link[-1].request("tools/call", json.dumps(params).encode(), INDEX_SECONDS)
        yield ltm


async def run(labelled: Labelled, ltm: Ltm, folder: Path) -> list[Answer]:
    """Each situation as the first call of a session of its own, its response long enough."""
    store = Store(folder / "surfacing.db", Retention(0, 0))

    async def at_once(work: Callable[[], Any]) -> Any:
        return work()

    surfacer = Surfacer(SETTINGS, store, at_once, on_breaker_open=lambda: None, on_store_failure=lambda message: None)
    surfacer.searches.ltm = ltm
    try:
        return [await _answer(surfacer, s, labelled, str(number)) for number, s in enumerate(labelled.situations)]
    finally:
        store.close()


async def _answer(surfacer: Surfacer, situation: Situation, labelled: Labelled, session: str) -> Answer:
    request = Surface(
        server="tools",
        tool=situation.tool,
        advertised=situation.tool,
        arguments=Blob.of(json.dumps(situation.arguments, ensure_ascii=False)),
        context_query=situation.context_query,
        response_chars=_LONG_RESPONSE,
        session=session,
    )
    outcome = await surfacer.surface(request, None)
    shown = tuple(
        frozenset(name for name, note in labelled.notes.items() if note.text in found.memory.text)
        for found in outcome.shown
    )
    block = outcome.reply.block
    return Answer(shown, outcome.reply.reason, len(block.text) if block else 0)


@asynccontextmanager
async def _connected(ltm: Ltm) -> AsyncIterator[Ltm]:
    task = asyncio.create_task(ltm.run())
    try:
        await ltm.wait_ready(READY_SECONDS)
        assert ltm.state == "ready", ltm.error
        yield ltm
    finally:
        await end((task,))
