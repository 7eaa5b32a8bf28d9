"""The surfacer as an actor: messages in, messages out; the work is in `surface`, `ltm` and `store`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

import msgspec

from actors.surfacer.events import opportunity_event, surfacing_event
from actors.surfacer.hooks import Hooks
from actors.surfacer.ltm import Ltm
from actors.surfacer.ltm_link import connector
from actors.surfacer.ltm_reply import LtmFault
from actors.surfacer.memory import is_own_id
from actors.surfacer.messages import (
    AddMemory,
    Boost,
    ClearSurfacingCache,
    GetShown,
    GetSurfacerHealth,
    MemoryNote,
    MemoryNotes,
    Prepare,
    Proposal,
    ProposeMemory,
    SearchMemory,
    ShownEvent,
    Surface,
    Surfaced,
    SurfacerHealth,
)
from actors.surfacer.query import Query, extract
from actors.surfacer.relevance import score
from actors.surfacer.store import Retention, Store
from actors.surfacer.surface import Surfacer
from actors.telemetry.messages import FaultEvent
from actors.tuner.messages import WatchTuning
from bus.actor import Actor, Context, handles
from bus.aside import aside_of
from bus.errors import BusError, DeadlineExceeded, PeerUnavailable, Refused, StateError
from bus.message import Blob
from bus.rpc import RpcError
from bus.tasks import end
from config.credentials import is_credential, mask
from config.place import Place
from config.schema_surfacing import SurfacingSettings
from config.watch import ConfigWatcher

T = TypeVar("T")

DATABASE = "surfacing.db"
EMBEDDED_INDEX = "embedded.db"
MEMORIES = "memories"
PATIENCE_SECONDS = 15.0
"""How long a direct search or a new note waits for an LTM that is still starting."""
_RETRY_TUNER_SECONDS = 2.0
_TELL_SECONDS = 1.0
_SWEEP_SECONDS = 3600.0
_MOST_LINES, _LONGEST_LINE = 100, 500
_LTM_KEYS = ("enabled", "ltm_mcp_transport", "ltm_mcp_command", "ltm_mcp_args", "ltm_mcp_url", "ltm_mcp_headers")


class SurfacerActor(Actor):
    """Finds memories that fit a call, through one connection to the LTM."""

    name = "surfacer"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._home = place
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="surfacing-db")
        self._watcher: ConfigWatcher
        self._open = ExitStack()
        self._store: Store
        self._surfacer: Surfacer
        self._ltm_task: asyncio.Task[Any] | None = None
        self._sampled_out = 0
        self._aside = aside_of(place.state / EMBEDDED_INDEX)
        self._hooks = Hooks(self, place)

    async def setup(self) -> None:
        self._watcher = await asyncio.to_thread(ConfigWatcher, self._home, log=self.log)
        settings = self._watcher.current.settings.surfacing
        loop = asyncio.get_running_loop()
        self._store = await self._on_disk(lambda: self._open_store(settings, loop))
        self._open.callback(self._store.close)
        await asyncio.to_thread(self._hooks.tell, self._watcher.current.settings)
        self._surfacer = Surfacer(
            settings,
            self._store,
            self._on_disk,
            on_breaker_open=self._breaker_opened,
            on_store_failure=self._store_failed,
        )
        if settings.warmup_enabled:
            self._connect()
        self.spawn(self._follow_tuner(), name="follow-tuner")
        self.spawn(self._follow_configuration(), name="follow-configuration")
        self.spawn(self._sweep(), name="sweep")

    async def teardown(self) -> None:
        if hasattr(self, "_surfacer"):
            await self._surfacer.searches.close()
        await asyncio.get_running_loop().run_in_executor(self._disk, self._open.close)
        self._disk.shutdown(wait=False)

    @handles(Surface)
    async def surface(self, request: Surface, context: Context) -> Surfaced:
        if self._ltm_task is None:
            self._connect()
        if request.holdout:  # a hook, which holds no lease of its own
            self._hooks.renew_lease()
        try:
            outcome = await self._surfacer.surface(request, context.remaining())
        except asyncio.CancelledError:
            self._record_opportunity(request, "cancelled", "")
            raise
        reply = outcome.reply
        self._record_opportunity(request, reply.reason or "surfaced", outcome.query_digest)
        if outcome.shown:
            self.events.add(surfacing_event(request, outcome))
            # These are few and can be rated: they do not wait for a batch, with which they could be lost.
            self.spawn(self.events.flush(_TELL_SECONDS), name="tell-shown")
        return reply

    @handles(Prepare)
    async def prepare(self, request: Prepare, context: Context) -> None:
        if self._ltm_task is None:
            self._connect()
        await self._surfacer.prepare(request)

    @handles(GetShown)
    async def get_shown(self, request: GetShown, context: Context) -> ShownEvent:
        found = await self._on_disk(lambda: self._store.find(request.surfacing_id))
        if found is None:
            return ShownEvent()
        event, memory_ids = found
        return ShownEvent(
            found=True, server=event.server, tool=event.tool, trace_id=event.trace_id, memory_ids=memory_ids
        )

    @handles(Boost)
    async def boost(self, request: Boost, context: Context) -> None:
        ltm = self._surfacer.searches.ltm
        if ltm is None or ltm.state != "ready":
            return
        ids = await self._on_disk(lambda: self._store.claim_boost(request.surfacing_id, request.memory_ids))
        try:
            await ltm.boost([memory_id for memory_id in ids if is_own_id(memory_id)])
        except BusError as error:
            self.log.warning("boost_failed", error=error.message, trace_id=context.trace_id)

    @handles(GetSurfacerHealth)
    async def health(self, request: GetSurfacerHealth, context: Context) -> SurfacerHealth:
        surfacer, searches, ltm = self._surfacer, self._surfacer.searches, self._surfacer.searches.ltm
        return SurfacerHealth(
            ltm=ltm.state if ltm else "disabled" if not surfacer.settings.enabled else "down",
            ltm_kind=ltm.kind if ltm else "",
            ltm_version=ltm.abilities.version if ltm else "",
            ltm_error=ltm.error if ltm else "",
            breaker=searches.breaker.state,
            score_scale=ltm.scale if ltm else "",
            mode=ltm.abilities.mode if ltm else "",
            min_score=surfacer.settings.min_score,
            counters=dict(surfacer.counters),
            attempts=searches.attempts,
            faults=searches.faults,
            search_hints=searches.hints,
            last_hints=searches.last_hints,
            sampled_out=self._sampled_out,
            pid=os.getpid(),
        )

    @handles(AddMemory)
    async def add_memory(self, request: AddMemory, context: Context) -> MemoryNotes:
        if not request.content.strip():
            raise Refused("the note is empty; give it some text")
        if is_credential("\n".join([request.content, request.title, request.namespace, *request.tags])):
            raise Refused("the note looks as if it held a credential, which is never stored; leave the secret out")
        ltm = await self._connected(context)
        text, told = await ltm.add(request.content, title=request.title, namespace=request.namespace, tags=request.tags)
        self._surfacer.searches.cache.clear()
        ids = told.get("chunk_ids")
        source, namespace = str(told.get("source", "")), str(told.get("namespace", request.namespace))
        notes = tuple(
            MemoryNote(id=str(i), source=source, namespace=namespace) for i in (ids if isinstance(ids, list) else [])
        )
        return MemoryNotes(notes=notes, text=text)

    @handles(SearchMemory)
    async def search_memory(self, request: SearchMemory, context: Context) -> MemoryNotes:
        if is_credential(request.query):
            raise Refused("the query looks as if it held a credential, which never leaves; leave the secret out")
        ltm = await self._connected(context)
        settings = self._surfacer.settings
        found = await ltm.search(
            request.query,
            timeout=settings.timeout_seconds,
            namespace=request.namespace or settings.default_namespace or "",
            limit=max(1, min(request.limit, 100)),
            style=settings.result_format,
        )
        query = extract(server="", tool="", arguments={}, context_query=request.query) or _EMPTY
        home = frozenset({request.namespace.casefold()}) if request.namespace else frozenset()
        notes = tuple(
            MemoryNote(
                id=s.memory.id,
                source=s.memory.source,
                namespace=s.memory.namespace,
                content=s.memory.text,
                relevance=round(s.relevance, 3),
            )
            for s in score(query, found.memories, home)
        )
        return MemoryNotes(notes=notes)

    @handles(ProposeMemory)
    async def propose_memory(self, request: ProposeMemory, context: Context) -> Proposal:
        if not request.content.strip():
            raise Refused("content is empty; say what is worth remembering")
        for name, longest in _PROPOSAL_CHARS.items():
            if len(getattr(request, name)) > longest:
                raise Refused(f"{name} has more than {longest} characters")
        texts = (request.content, request.source_ref, request.idempotency_key)
        if is_credential("\n".join(texts)):
            return Proposal(ok=False, reason="sensitive_content", message="leave the secret out and propose it again")
        try:
            ltm = await self._connected(context)
            if not ltm.abilities.propose:
                return Proposal(ok=False, reason="formation_unsupported")
            key = request.idempotency_key or hashlib.sha256("\0".join(texts).encode()).hexdigest()
            answer = await ltm.propose(request.content, source_ref=request.source_ref, idempotency_key=key)
        except (LtmFault, RpcError) as error:
            return Proposal(ok=False, reason="ltm_error", message=mask(error.message[:300]))
        except Refused as error:
            return Proposal(ok=False, reason="formation_unsupported", message=error.message)
        except (PeerUnavailable, DeadlineExceeded) as error:
            return Proposal(ok=False, reason="ltm_unavailable", message=error.message)
        return Proposal(ok=True, answer=Blob(msgspec.json.encode(_decoded(answer))))

    @handles(ClearSurfacingCache)
    async def clear_cache(self, request: ClearSurfacingCache, context: Context) -> None:
        self._surfacer.searches.cache.clear()

    async def _connected(self, context: Context) -> Ltm:
        """The LTM, once it is ready.

        Raises:
            Refused: surfacing is off. PeerUnavailable: not ready within the caller's time.
        """
        if self._ltm_task is None:
            self._connect()
        ltm = self._surfacer.searches.ltm
        if ltm is None:
            raise Refused("surfacing is off; set surfacing.enabled to true")
        remaining = context.remaining()
        await ltm.wait_ready(PATIENCE_SECONDS if remaining is None else min(PATIENCE_SECONDS, remaining * 0.9))
        if ltm.state != "ready":
            raise PeerUnavailable(f"the LTM ({ltm.kind}) is {ltm.state}{': ' + ltm.error if ltm.error else ''}")
        return ltm

    def _connect(self) -> None:
        settings = self._surfacer.settings
        if not settings.enabled:
            return
        kind, connect = connector(
            settings,
            memories=self._home.home / MEMORIES,
            index=self._home.state / EMBEDDED_INDEX,
            group_dir=self._home.groups,
            on_stderr=self._embedded_says,
        )
        ltm = self._surfacer.searches.ltm = Ltm(connect, kind)

        def changed() -> None:
            if ltm.state == "ready":
                found = ltm.abilities
                self.log.info("ltm_ready", kind=kind, server=found.name, version=found.version, mode=found.mode)
                self.spawn(self._look_at_index(), name="look-at-index")
            else:
                self.log.warning("ltm_down", kind=kind, error=ltm.error)

        self._ltm_task = self.spawn(ltm.run(changed), name="ltm")

    async def _follow_configuration(self) -> None:
        async for loaded in self._watcher:
            await asyncio.to_thread(self._hooks.tell, loaded.settings)
            settings, before = loaded.settings.surfacing, self._surfacer.settings
            self._surfacer.configure(settings)
            self._store.retention = _retention(settings)
            if any(getattr(settings, key) != getattr(before, key) for key in _LTM_KEYS):
                self.log.info("ltm_settings_changed")
                if self._ltm_task is not None:
                    await end((self._ltm_task,))
                self._ltm_task = self._surfacer.searches.ltm = None
                self._surfacer.searches.cache.clear()
                self._connect()

    async def _follow_tuner(self) -> None:
        while True:
            with suppress(BusError):  # thresholds stay as they are while the tuner is away
                async for tuning in self.bus.watch(WatchTuning()):
                    self._surfacer.tune(tuning)
            await asyncio.sleep(_RETRY_TUNER_SECONDS)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            try:
                await self._on_disk(self._store.sweep)
                await self._look_at_index()
            except StateError as error:
                self._store_failed(error.message)

    def _record_opportunity(self, request: Surface, decision: str, query_digest: str) -> None:
        settings = self._surfacer.settings
        if not settings.opportunities_enabled:
            return
        if random.random() >= settings.opportunities_sample_rate:  # noqa: S311 (a sample, no secret)
            self._sampled_out += 1
            return
        self.events.add(opportunity_event(request, decision, query_digest))

    def _breaker_opened(self) -> None:
        error = (
            self._surfacer.searches.ltm.error if self._surfacer.searches.ltm else ""
        ) or "searches failed or ran out of time"
        self.log.warning("breaker_open", error=error)
        self.events.add(FaultEvent(component="surfacer", what="breaker_open", detail=error))

    def _store_failed(self, message: str) -> None:
        self.log.error("store_failed", error=message)
        self.events.add(FaultEvent(component="surfacer", what="store_failed", detail=message))

    def _open_store(self, settings: SurfacingSettings, loop: asyncio.AbstractEventLoop) -> Store:
        def set_aside(name: str) -> None:
            loop.call_soon_threadsafe(self._set_aside, name)

        return Store(self._home.state / DATABASE, _retention(settings), on_set_aside=set_aside)

    def _embedded_says(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines()[:_MOST_LINES]:
            self.log.warning("embedded_ltm", says=line[:_LONGEST_LINE])

    async def _look_at_index(self) -> None:
        """The embedded LTM sets its index aside by itself and has nobody to tell but its log."""
        found = await asyncio.to_thread(aside_of, self._home.state / EMBEDDED_INDEX)
        for path in set(found) - set(self._aside):
            self._set_aside(str(path))
        self._aside = found

    def _set_aside(self, name: str) -> None:
        self.log.warning("store_set_aside", file=name)
        self.events.add(FaultEvent(component="surfacer", what="store_set_aside", detail=name))

    async def _on_disk(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._disk, work)


def _decoded(answer: str) -> Any:
    """The JSON of an answer; one that is none is a text."""
    try:
        return msgspec.json.decode(answer)
    except msgspec.DecodeError:
        return answer


_PROPOSAL_CHARS = {"content": 2000, "source_ref": 512, "idempotency_key": 256}
"""What the LTM takes at most."""
_EMPTY = Query("", 2, (), "", "")


def _retention(settings: SurfacingSettings) -> Retention:
    # Events are also the memory of the dedup, so they live at least as long as it looks back.
    keep = settings.stats_retention_days and max(settings.stats_retention_days, settings.dedup_ttl_seconds / 86_400)
    return Retention(settings.query_retention_days, keep)
