"""The gateway's own `stm_*` tools: definitions, argument checks, and whom they ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec

from actors.compressor.messages import Page, ReadMore, SelectChunks
from actors.surfacer.messages import ProposeMemory
from actors.telemetry.messages import ProgressiveReadEvent
from actors.tuner.messages import KINDS, MemoryRating, RateSurfacing, Rating, Recorded, ReportCompression
from bus import jsonrpc
from bus.client import Bus
from bus.errors import BusError, PeerUnavailable, Refused
from bus.outbox import Outbox
from config.policy import advertises_admin, advertises_formation
from config.problems import Problem
from config.session import SessionSettings
from gateway import admin_arguments, describe
from gateway.admin import Admin
from gateway.catalogue import CatalogueView, definition
from gateway.fallback import KEY_PREFIX
from gateway.pipeline import Pipeline
from gateway.response import text_result

ASK_TIMEOUT_SECONDS = 15.0
PROPOSE_TIMEOUT_SECONDS = 30.0
"""An LTM that is still starting is waited for."""
HOST_PREFIX = "mcp__"

_KEY = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_RATINGS = list(Rating.__args__)  # type: ignore[attr-defined]
_RATING = {"type": "string", "enum": _RATINGS}

LARGEST = 2**53 - 1
"""Integers that every peer and the bus carry exactly."""
Natural = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]


class _SelectChunks(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    sections: list[str]


class _ReadMore(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    offset: Natural = 0
    limit: Positive | None = None
    find: str | None = None


class _DescribeTool(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    part: str = "description"
    offset: int = 0
    limit: int = 4000
    generation: str | None = None


class _OneRating(msgspec.Struct, forbid_unknown_fields=True):
    memory_id: str
    rating: Rating


class _SurfacingFeedback(msgspec.Struct, forbid_unknown_fields=True):
    surfacing_id: str
    rating: Rating | None = None
    memory_id: str | None = None
    ratings: list[_OneRating] | None = None


class _CompressionFeedback(msgspec.Struct, forbid_unknown_fields=True):
    server: str
    tool: str
    missing: str
    kind: str = "other"
    trace_id: str | None = None


class _Admin(msgspec.Struct, forbid_unknown_fields=True):
    action: str
    params: dict[str, Any] | None = None


class _ProposeMemory(msgspec.Struct, forbid_unknown_fields=True):
    content: Annotated[str, msgspec.Meta(max_length=2000)]
    source_ref: Annotated[str, msgspec.Meta(max_length=512)] = ""
    idempotency_key: Annotated[str, msgspec.Meta(max_length=256)] = ""


DEFINITIONS = (
    definition(
        "stm_proxy_read_more",
        "Read on in a shortened response: the next slice from `offset`, or with `find` (words or a quoted string) "
        "the best matching passages.",
        {"key": _KEY, "offset": _COUNT, "limit": {"type": "integer", "minimum": 1}, "find": {"type": "string"}},
        ["key"],
    ),
    definition(
        "stm_proxy_select_chunks",
        "Get named sections of a shortened response.",
        {"key": _KEY, "sections": {"type": "array", "items": {"type": "string"}}},
        ["key", "sections"],
    ),
    definition(
        "stm_proxy_describe_tool",
        "Page through a tool's full description or input schema without running it.",
        {
            "name": {"type": "string"},
            "part": {"type": "string", "enum": list(describe.PARTS)},
            "offset": _COUNT,
            "limit": {"type": "integer", "minimum": 1, "maximum": describe.MAX_LIMIT},
            "generation": {"type": "string"},
        },
        ["name"],
    ),
    definition(
        "stm_surfacing_feedback",
        "Rate surfaced memories: one `rating` for all (or for `memory_id`), or `ratings` for each.",
        {
            "surfacing_id": {"type": "string"},
            "rating": _RATING,
            "memory_id": {"type": "string"},
            "ratings": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"memory_id": {"type": "string"}, "rating": _RATING},
                    "required": ["memory_id", "rating"],
                },
            },
        },
        ["surfacing_id"],
    ),
    definition(
        "stm_compression_feedback",
        "Report information that shortening lost (a learning signal; use read_more to get it back).",
        {
            **{name: {"type": "string"} for name in ("server", "tool", "missing")},
            "kind": {"type": "string", "enum": list(KINDS)},
            "trace_id": {"type": "string"},
        },
        ["server", "tool", "missing"],
    ),
)
ADMIN = "stm_admin"
PROPOSE = "stm_memory_propose"
OPTIONAL = {
    ADMIN: definition(
        ADMIN,
        "Observe and manage the gateway: statistics, health, caches, recommendations. "
        'action="help" describes each action\'s params.',
        {
            "action": {"type": "string", "enum": [*admin_arguments.ACTIONS, admin_arguments.HELP]},
            "params": {"type": "object"},
        },
        ["action"],
    ),
    PROPOSE: definition(
        PROPOSE,
        "Propose something worth remembering. It waits in the memory's review queue; nothing is stored by itself.",
        {
            "content": {"type": "string", "maxLength": 2000},
            "source_ref": {"type": "string", "maxLength": 512},
            "idempotency_key": {"type": "string", "maxLength": 256},
        },
        ["content"],
    ),
}
"""Shown to clients that want them."""


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
        self._admin = Admin(bus, catalogue, problems, lambda: pipeline.compressors.names)
        self._tools: dict[str, tuple[type[Any], Callable[..., Awaitable[tuple[Any, ...]]]]] = {
            "stm_proxy_read_more": (_ReadMore, self._read_more),
            "stm_proxy_select_chunks": (_SelectChunks, self._select_chunks),
            "stm_proxy_describe_tool": (_DescribeTool, self._describe_tool),
            "stm_surfacing_feedback": (_SurfacingFeedback, self._surfacing_feedback),
            "stm_compression_feedback": (_CompressionFeedback, self._compression_feedback),
            ADMIN: (_Admin, self._administer),
            PROPOSE: (_ProposeMemory, self._propose_memory),
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
        contract, handler = self._tools[name]
        blocks: list[str] = []
        try:
            asked = msgspec.json.decode(arguments, type=contract)
            text, is_error, *blocks = await (handler(asked, session) if contract is _ReadMore else handler(asked))
        except msgspec.MsgspecError as error:
            text, is_error = f"{name}: {error}", True
        except Refused as error:
            text, is_error = error.message, True
        except PeerUnavailable as error:
            text, is_error = f"not available at the moment, try again: {error.message}", True
        except BusError as error:
            text, is_error = error.message, True
        return text_result(text, *blocks, is_error=is_error, stateless=stateless)

    def _budget(self) -> tuple[int, int]:
        """Ceilings of one follow-up answer: the global ones, whatever tool the original is from."""
        policy = self._pipeline.policy("", "")
        return policy.max_chars, policy.max_tokens

    async def _read_more(self, asked: _ReadMore, session: str) -> tuple[str | bool, ...]:
        max_chars, max_tokens = self._budget()
        if asked.key.startswith(KEY_PREFIX):
            most = min(max_chars, max_tokens)
            kept = self._pipeline.fallback.read(asked.key, asked.offset, asked.limit, most, asked.find or "")
            if kept is not None:
                return kept, False
        request = ReadMore(
            key=asked.key,
            offset=asked.offset,
            limit=asked.limit,
            find=asked.find or "",
            max_chars=max_chars,
            max_tokens=max_tokens,
        )
        page = await self._pipeline.compressors.page(request, ASK_TIMEOUT_SECONDS)
        block = await self._pipeline.continued(page, session, asked.find or "")
        return (*self._page(page), block) if block else self._page(page)

    async def _select_chunks(self, asked: _SelectChunks) -> tuple[str, bool]:
        max_chars, max_tokens = self._budget()
        request = SelectChunks(
            key=asked.key, sections=tuple(asked.sections), max_chars=max_chars, max_tokens=max_tokens
        )
        return self._page(await self._pipeline.compressors.page(request, ASK_TIMEOUT_SECONDS))

    def _page(self, page: Page) -> tuple[str, bool]:
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
        return page.text.data.decode("utf-8", "surrogatepass"), page.is_error

    async def _describe_tool(self, asked: _DescribeTool) -> tuple[str, bool]:
        entry = self._catalogue.find(asked.name)
        if entry is None:
            bare = asked.name.split("__", 2)[-1] if asked.name.startswith(HOST_PREFIX) else ""
            hint = f"; without the host's prefix: {bare}" if self._catalogue.find(bare) else ""
            raise Refused(f"no tool of this name is available{hint}")
        allowed = self._pipeline.settings.proxy.recover_upstream_description
        return describe.page(entry, asked.part, asked.offset, asked.limit, asked.generation or "", allowed), False

    async def _surfacing_feedback(self, asked: _SurfacingFeedback) -> tuple[str, bool]:
        if asked.ratings is not None and (asked.rating is not None or asked.memory_id is not None):
            raise Refused("give either rating (with memory_id for one memory) or ratings, not both")
        if asked.ratings:
            ratings = tuple(MemoryRating(memory_id=one.memory_id, rating=one.rating) for one in asked.ratings)
        elif asked.rating is not None:
            ratings = (MemoryRating(memory_id=asked.memory_id or "", rating=asked.rating),)
        else:
            raise Refused(f"give a rating ({', '.join(_RATINGS)}) or a list of ratings")
        return await self._recorded(RateSurfacing(surfacing_id=asked.surfacing_id, ratings=ratings))

    async def _compression_feedback(self, asked: _CompressionFeedback) -> tuple[str, bool]:
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

    async def _administer(self, asked: _Admin) -> tuple[str, bool]:
        return await self._admin.answer(asked.action, asked.params), False

    async def _propose_memory(self, asked: _ProposeMemory) -> tuple[str, bool]:
        longest = self._pipeline.settings.formation.max_content_chars
        if len(asked.content) > longest:
            raise Refused(f"content may have at most {longest} characters")
        request = ProposeMemory(
            content=asked.content, source_ref=asked.source_ref, idempotency_key=asked.idempotency_key
        )
        done = await self._bus.ask(request, timeout=PROPOSE_TIMEOUT_SECONDS)
        if done.ok:
            return jsonrpc.encode({"ok": True, "proposal": msgspec.Raw(done.answer.data)}).decode(), False
        why = {"ok": False, "reason": done.reason}
        return jsonrpc.encode(why | ({"message": done.message} if done.message else {})).decode(), False

    async def _recorded(self, request: RateSurfacing | ReportCompression) -> tuple[str, bool]:
        try:
            recorded: Recorded = await self._bus.ask(request, timeout=ASK_TIMEOUT_SECONDS)
        except (PeerUnavailable, TimeoutError):
            return "not recorded, try again: the tuner is not available at the moment", True
        return recorded.text, not recorded.ok
