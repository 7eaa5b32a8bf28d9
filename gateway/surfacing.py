"""The step of a call that asks for memories: a search beside the upstream call, and what it found beside the answer."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict

import msgspec

from actors.compressor.messages import Page
from actors.surfacer.messages import Prepare, Surface, Surfaced
from bus.errors import BusError, DeadlineExceeded
from bus.message import Blob
from config.policy import InjectionPolicy, ToolPolicy
from config.schema_surfacing import SurfacingSettings
from config.surfacing_gate import static_reason
from config.tokens import estimate_tokens
from gateway.call import Call, Notes
from gateway.habits import Habits
from gateway.parts import Parts
from gateway.response import Response

UNKNOWN_TOOL_SECONDS = 0.02
"""A tool whose answers are not known yet is searched for when it takes longer: a quick one casts no shade."""
SURFACER_SECONDS = 0.5
"""What the surfacer may take for itself beside an unasked search: more is not worth a memory."""
MOST_ORIGINALS = 256
LARGEST_ORIGINAL = 16_384
"""Bytes of arguments kept for the further pages of a response."""


class Preparation:
    """A search that runs beside the upstream call; `end` when the call is over, however it ended.

    Args:
        delay: seconds until it starts.
    """

    def __init__(self, parts: Parts, request: Prepare, *, timeout: float, delay: float) -> None:
        self.id = request.id
        self.started = False
        self._parts = parts
        self._request = request
        self._timeout = timeout
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(delay, self._start)

    def end(self) -> None:
        """Takes the search back, unless it is over."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def answered(self) -> None:
        """The answer is there: a search that has not begun is not begun ahead of it any more."""
        self._timer.cancel()

    def _start(self) -> None:
        self.started = True
        self._task = asyncio.get_running_loop().create_task(self._ask(), name="prepare-surfacing")

    async def _ask(self) -> None:
        try:
            await self._parts.ask(self._request, timeout=self._timeout, wait=0.0, trace_id="")
        except BusError:
            return  # whoever surfaces meets the same error, and notes it


class _Original(msgspec.Struct, frozen=True):
    """The call that a shortened response came from."""

    server: str
    tool: str
    advertised: str
    arguments: bytes
    context_query: str
    declared_writer: bool


class Surfacing:
    """Asks the surfacer; never longer than `timeout_seconds`, and never for one that is not there.

    Attributes:
        settings / injection: what the configuration, and this client, want.
    """

    def __init__(self, parts: Parts, settings: SurfacingSettings, injection: InjectionPolicy) -> None:
        self._parts = parts
        self._habits = Habits()
        self._originals: OrderedDict[str, _Original] = OrderedDict()
        self.settings = settings
        self.injection = injection
        if settings.enabled:
            parts.connect(Surface.actor)

    def prepare(self, call: Call, policy: ToolPolicy) -> Preparation | None:
        """Starts the search beside the upstream call, if memories are to be expected.

        Not for a tool whose answers are usually too short for memories; should one turn out long, it is searched for
        afterwards, within `search_wait_seconds`.
        """
        entry = call.entry
        usually_long = self._habits.usually_long(entry.server, entry.tool)
        if (usually_long is False and not call.context_query) or policy.surfacing_skip or self._reason(call):
            return None
        request = Prepare(
            id=secrets.token_hex(8),
            server=entry.server,
            tool=entry.tool,
            advertised=entry.name,
            arguments=Blob(call.arguments),
            context_query=call.context_query,
            session=call.session,
            declared_writer=entry.writes,
        )
        is_sure = usually_long or call.context_query
        delay = 0.0 if is_sure else UNKNOWN_TOOL_SECONDS
        return Preparation(self._parts, request, timeout=self.settings.timeout_seconds, delay=delay)

    async def surface(
        self, call: Call, policy: ToolPolicy, response: Response, notes: Notes, prepared: Preparation | None
    ) -> Surfaced | None:
        """Asks for memories when the gates that need no state pass."""
        entry = call.entry
        if not response.is_error:
            is_long = notes.cleaned_chars >= self.settings.min_response_chars
            self._habits.observe(entry.server, entry.tool, is_long=is_long)
        reason = policy.surfacing_skip or (
            "upstream_error" if response.is_error else self._reason(call, notes.cleaned_chars)
        )
        if not reason and self.injection.mode == "prepend" and "progressive" in notes.strategy:
            reason = "progressive_mode_conflict"
        notes.surfacing = reason
        if reason:
            return None
        notes.surface_at_ms = call.elapsed_ms()
        original = _Original(entry.server, entry.tool, entry.name, call.arguments, call.context_query, entry.writes)
        if notes.compressed_chars < notes.cleaned_chars:
            self._keep(notes.trace_id, original)
        try:
            surfaced = await self._ask(
                original,
                session=call.session,
                trace_id=notes.trace_id,
                response_chars=notes.cleaned_chars,
                prepared=prepared.id if prepared is not None and prepared.started else "",
            )
        except DeadlineExceeded:
            notes.surfacing = "timeout"
            return None
        except BusError:
            notes.surfacing, notes.degraded = "ltm_unavailable", notes.degraded or "surfacer"
            return None
        finally:
            notes.surface_ms = call.elapsed_ms() - notes.surface_at_ms
        notes.surfacing = surfaced.reason or "surfaced"
        if surfaced.block is not None:
            notes.memory_chars, notes.memory_tokens = len(surfaced.block.text), estimate_tokens(surfaced.block.text)
        return surfaced

    async def continued(self, page: Page, session: str, find: str) -> str:
        """The memory block of a further page of a shortened response; empty when there is none.

        With `append` the page brings what the first answer's question finds and has not been shown yet; with `section`
        it asks a question of its own where it looks for something. `prepend` would move offsets and does neither.
        """
        original = self._originals.get(page.trace_id)
        if page.is_error or original is None or self.injection.mode == "prepend":
            return ""
        if self.injection.mode == "section" and find:
            original = msgspec.structs.replace(original, context_query=find)
        try:
            surfaced = await self._ask(
                original, session=session, trace_id=page.trace_id, response_chars=page.total, continues=True
            )
        except BusError:
            return ""
        return surfaced.block.text if surfaced.block is not None else ""

    async def _ask(
        self,
        original: _Original,
        *,
        session: str,
        trace_id: str,
        response_chars: int,
        prepared: str = "",
        continues: bool = False,
    ) -> Surfaced:
        settings = self.settings
        # An agent that asks by itself waits for its answer; nobody waits for what was not asked for.
        is_asked = original.context_query and not continues
        patience = 0 if is_asked else max(1, round(settings.search_wait_seconds * 1000))
        request = Surface(
            server=original.server,
            tool=original.tool,
            advertised=original.advertised,
            arguments=Blob(original.arguments),
            context_query=original.context_query,
            response_chars=response_chars,
            session=session,
            trace_id=trace_id,
            max_injection_chars=self.injection.max_chars,
            max_results=self.injection.max_results,
            declared_writer=original.declared_writer,
            prepared=prepared,
            patience_ms=patience,
            continues=continues,
        )
        limit = settings.timeout_seconds
        if patience:
            limit = min(limit, settings.search_wait_seconds + SURFACER_SECONDS)
        return await self._parts.ask(request, timeout=limit, wait=0.0, trace_id=trace_id)

    def _reason(self, call: Call, response_chars: int | None = None) -> str:
        """What the gates without state say; `response_chars` is `None` before the answer is there."""
        return static_reason(
            self.settings,
            server=call.entry.server,
            tool=call.entry.tool,
            advertised=call.entry.name,
            declared_writer=call.entry.writes,
            upstream_enabled=True,
            response_chars=self.settings.min_response_chars if response_chars is None else response_chars,
            has_context_query=bool(call.context_query),
        )

    def _keep(self, trace_id: str, original: _Original) -> None:
        if len(original.arguments) > LARGEST_ORIGINAL:
            return
        self._originals[trace_id] = original
        self._originals.move_to_end(trace_id)
        if len(self._originals) > MOST_ORIGINALS:
            self._originals.popitem(last=False)
