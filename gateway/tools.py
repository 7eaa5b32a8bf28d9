"""Answers the gateway's own `stm_*` tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from actors.compressor.messages import Page, ReadMore, SelectChunks
from actors.surfacer.messages import ProposeMemory
from actors.telemetry.messages import ProgressiveReadEvent
from actors.tuner.messages import MemoryRating, RateSurfacing, Recorded, ReportCompression
from bus import jsonrpc
from bus.client import Bus
from bus.errors import BusError, DeadlineExceeded, PeerUnavailable, Refused
from bus.outbox import Outbox
from config.policy import advertises_admin, advertises_formation
from config.problems import Problem
from config.session import SessionSettings
from gateway import describe
from gateway.admin import Admin
from gateway.catalogue import CatalogueView
from gateway.fallback import KEY_PREFIX
from gateway.pipeline import Pipeline
from gateway.response import text_result
from gateway.tool_definitions import (
    ADMIN,
    DEFINITIONS,
    OPTIONAL,
    PROPOSE,
    RATINGS,
    AdminArguments,
    CompressionFeedbackArguments,
    DescribeToolArguments,
    ProposeMemoryArguments,
    ReadMoreArguments,
    SelectChunksArguments,
    SurfacingFeedbackArguments,
)

A = TypeVar("A", bound=msgspec.Struct)

ASK_TIMEOUT_SECONDS = 15.0
PROPOSE_TIMEOUT_SECONDS = 30.0
"""An LTM that is still starting is waited for."""
HOST_PREFIX = "mcp__"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says.

    Attributes:
        memories: a memory block beside it; empty for none.
    """

    text: str
    is_error: bool = False
    memories: str = ""


class _Tool(Generic[A]):
    """One tool: what it is called with, and what answers that for a session."""

    def __init__(self, arguments: type[A], answer: Callable[[A, str], Awaitable[Answer]]) -> None:
        self._arguments = arguments
        self._answer = answer

    async def call(self, arguments: bytes, session: str) -> Answer:
        """Raises MsgspecError for arguments that are not its own, and what the tool raises."""
        return await self._answer(msgspec.json.decode(arguments, type=self._arguments), session)


def _alike(answer: Callable[[A], Awaitable[Answer]]) -> Callable[[A, str], Awaitable[Answer]]:
    """For a tool that answers all sessions alike."""
    return lambda asked, session: answer(asked)


class OwnTools:
    """Answers calls of the gateway's own tools.

    Args:
        session: what the client wants for itself.
        problems: what is wrong with the configuration, as this gateway has read it.
    """

    def __init__(
        self,
        bus: Bus,
        events: Outbox,
        pipeline: Pipeline,
        catalogue: CatalogueView,
        session: SessionSettings,
        problems: Callable[[], Sequence[Problem]],
    ) -> None:
        self._bus = bus
        self._events = events
        self._pipeline = pipeline
        self._catalogue = catalogue
        self._session = session
        self._admin = Admin(bus, catalogue, problems, pipeline.compressors)
        self._tools: dict[str, _Tool[Any]] = {
            "stm_proxy_read_more": _Tool(ReadMoreArguments, self._read_more),
            "stm_proxy_select_chunks": _Tool(SelectChunksArguments, _alike(self._select_chunks)),
            "stm_proxy_describe_tool": _Tool(DescribeToolArguments, _alike(self._describe_tool)),
            "stm_surfacing_feedback": _Tool(SurfacingFeedbackArguments, _alike(self._surfacing_feedback)),
            "stm_compression_feedback": _Tool(CompressionFeedbackArguments, _alike(self._compression_feedback)),
            ADMIN: _Tool(AdminArguments, _alike(self._administer)),
            PROPOSE: _Tool(ProposeMemoryArguments, _alike(self._propose_memory)),
        }

    def __contains__(self, name: str) -> bool:
        return name in self._tools and (name not in OPTIONAL or name in self._wanted())

    def names(self) -> list[str]:
        """What is advertised."""
        return [name for name in self._tools if name in self]

    def definitions(self) -> bytes:
        """Comma-separated JSON of what is advertised."""
        return b",".join((*DEFINITIONS, *(OPTIONAL[name] for name in self._wanted())))

    def _wanted(self) -> list[str]:
        """The optional tools that the flags show; nothing else shows or hides them."""
        settings = self._pipeline.settings
        shown = {
            ADMIN: advertises_admin(settings, self._session),
            PROPOSE: advertises_formation(settings, self._session),
        }
        return [name for name in OPTIONAL if shown[name]]

    async def call(self, name: str, arguments: bytes, *, stateless: bool, session: str) -> bytes:
        """JSON of the tool's result; refused arguments are tool errors that name the argument, never its value."""
        try:
            answer = await self._tools[name].call(arguments, session)
        except msgspec.MsgspecError as error:
            answer = Answer(f"{name}: {error}", is_error=True)
        except PeerUnavailable as error:
            answer = Answer(f"not available at the moment, try again: {error.message}", is_error=True)
        except BusError as error:
            answer = Answer(error.message, is_error=True)
        blocks = (answer.text, answer.memories) if answer.memories else (answer.text,)
        return text_result(*blocks, is_error=answer.is_error, stateless=stateless)

    def _budget(self) -> tuple[int, int]:
        """Ceilings of one follow-up answer: the global ones, whatever tool the original is from."""
        policy = self._pipeline.policy("", "")
        return policy.max_chars, policy.max_tokens

    async def _read_more(self, asked: ReadMoreArguments, session: str) -> Answer:
        max_chars, max_tokens = self._budget()
        if asked.key.startswith(KEY_PREFIX):
            most = min(max_chars, max_tokens)
            kept = self._pipeline.fallback.read(asked.key, asked.offset, asked.limit, most, asked.find or "")
            if kept is not None:
                return Answer(kept)
        request = ReadMore(
            key=asked.key,
            offset=asked.offset,
            limit=asked.limit,
            find=asked.find or "",
            max_chars=max_chars,
            max_tokens=max_tokens,
        )
        page = await self._pipeline.compressors.page(request, ASK_TIMEOUT_SECONDS)
        return self._page(page, await self._pipeline.continued(page, session, asked.find or ""))

    async def _select_chunks(self, asked: SelectChunksArguments) -> Answer:
        max_chars, max_tokens = self._budget()
        request = SelectChunks(
            key=asked.key, sections=tuple(asked.sections), max_chars=max_chars, max_tokens=max_tokens
        )
        return self._page(await self._pipeline.compressors.page(request, ASK_TIMEOUT_SECONDS))

    def _page(self, page: Page, memories: str = "") -> Answer:
        if not page.is_error:
            self._events.add(
                ProgressiveReadEvent(
                    trace_id=page.trace_id,
                    key_digest=page.key_digest,
                    server=page.server,
                    tool=page.tool,
                    offset=page.offset,
                    served_chars=page.served,
                    total_chars=page.total,
                    follow_up=True,
                    progressive=page.is_progressive,
                )
            )
        return Answer(page.text.text, page.is_error, memories)

    async def _describe_tool(self, asked: DescribeToolArguments) -> Answer:
        await self._catalogue.known(ASK_TIMEOUT_SECONDS)
        entry = self._catalogue.find(asked.name)
        if entry is None:
            bare = asked.name.split("__", 2)[-1] if asked.name.startswith(HOST_PREFIX) else ""
            hint = f"; without the host's prefix: {bare}" if self._catalogue.find(bare) else ""
            raise Refused(f"no tool of this name is available{hint}")
        allowed = self._pipeline.settings.proxy.recover_upstream_description
        return Answer(describe.page(entry, asked.part, asked.offset, asked.limit, asked.generation or "", allowed))

    async def _surfacing_feedback(self, asked: SurfacingFeedbackArguments) -> Answer:
        if asked.ratings is not None and (asked.rating is not None or asked.memory_id is not None):
            raise Refused("give either rating (with memory_id for one memory) or ratings, not both")
        if asked.ratings:
            ratings = tuple(MemoryRating(memory_id=one.memory_id, rating=one.rating) for one in asked.ratings)
        elif asked.rating is not None:
            ratings = (MemoryRating(memory_id=asked.memory_id or "", rating=asked.rating),)
        else:
            raise Refused(f"give a rating ({', '.join(RATINGS)}) or a list of ratings")
        return await self._recorded(RateSurfacing(surfacing_id=asked.surfacing_id, ratings=ratings))

    async def _compression_feedback(self, asked: CompressionFeedbackArguments) -> Answer:
        await self._catalogue.known(ASK_TIMEOUT_SECONDS)
        server, tool = self._named(asked.server, asked.tool)
        return await self._recorded(
            ReportCompression(
                server=server,
                tool=tool,
                missing=asked.missing,
                kind=asked.kind,
                trace_id=asked.trace_id or "",
            )
        )

    def _named(self, server: str, tool: str) -> tuple[str, str]:
        """The upstream and its own tool name; `tool` may be the advertised name.

        Raises:
            Refused: there is no such server, or it has no such tool.
        """
        known = [state.name for state in self._catalogue.servers]
        entry = self._catalogue.find(tool)
        if entry is not None and server in (entry.server, tool.removesuffix(f"__{entry.tool}")):
            return entry.server, entry.tool
        if server not in known:
            raise Refused(f"Not recorded: there is no server of this name; there are {', '.join(known) or 'none'}")
        if not self._catalogue.has(server, tool):
            raise Refused(f"Not recorded: {server} has no tool of this name; give it as tools/list shows it")
        return server, tool

    async def _administer(self, asked: AdminArguments) -> Answer:
        return Answer(await self._admin.answer(asked.action, asked.params))

    async def _propose_memory(self, asked: ProposeMemoryArguments) -> Answer:
        longest = self._pipeline.settings.formation.max_content_chars
        if len(asked.content) > longest:
            raise Refused(f"content may have at most {longest} characters")
        request = ProposeMemory(
            content=asked.content, source_ref=asked.source_ref, idempotency_key=asked.idempotency_key
        )
        done = await self._bus.ask(request, timeout=PROPOSE_TIMEOUT_SECONDS)
        if done.ok:
            return Answer(jsonrpc.encode({"ok": True, "proposal": msgspec.Raw(done.answer.data)}).decode())
        why = {"ok": False, "reason": done.reason}
        return Answer(jsonrpc.encode(why | ({"message": done.message} if done.message else {})).decode())

    async def _recorded(self, request: RateSurfacing | ReportCompression) -> Answer:
        try:
            recorded: Recorded = await self._bus.ask(request, timeout=ASK_TIMEOUT_SECONDS)
        except (PeerUnavailable, DeadlineExceeded):
            return Answer("not recorded, try again: the tuner is not available at the moment", is_error=True)
        return Answer(recorded.text, not recorded.ok)
