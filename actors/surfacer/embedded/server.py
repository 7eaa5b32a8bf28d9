"""The MCP face of the embedded LTM, on the official SDK: `mem_search`, `mem_add`, `mem_do`.

Faults come back as a result whose text starts with `Error:`, as the reference LTM does it.
"""

from __future__ import annotations

import json
import re
import sqlite3
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from actors.surfacer.embedded.index import Hit, Index
from actors.surfacer.embedded.notes import DEFAULT_NAMESPACE, write_note
from bus.build import VERSION
from bus.sqlite import is_corrupt
from config.credentials import is_credential

NAME = "memtomem-bus-embedded"
LONGEST_QUERY = 4000
LONGEST_NOTE = 100_000
MOST_RESULTS = 100
SEARCH_REFRESH_SECONDS = 0.2
"""How long a search may take in changed notes before it answers from what is indexed."""
_START_REFRESH_SECONDS = 0.5
_STRING = {"type": "string"}
_TOOLS = [
    types.Tool(
        name="mem_search",
        description="Search the notes. Returns the best chunks, best first.",
        input_schema={
            "type": "object",
            "properties": {
                "query": _STRING,
                "top_k": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": 10},
                "namespace": _STRING,
                "output_format": {"type": "string", "enum": ["structured", "compact"], "default": "compact"},
            },
            "required": ["query"],
        },
        annotations=types.ToolAnnotations(read_only_hint=True),
    ),
    types.Tool(
        name="mem_add",
        description="Add a note as a Markdown file.",
        input_schema={
            "type": "object",
            "properties": {
                "content": _STRING,
                "title": _STRING,
                "tags": {"type": "array", "items": _STRING},
                "namespace": _STRING,
            },
            "required": ["content"],
        },
        annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=False),
    ),
    types.Tool(
        name="mem_do",
        description="`version` tells abilities; `increment_access` {chunk_ids} marks chunks as helpful.",
        input_schema={
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["version", "increment_access"]},
                "params": {"type": "object"},
            },
            "required": ["action"],
        },
        annotations=types.ToolAnnotations(read_only_hint=False, destructive_hint=False),
    ),
]


class BadArgument(ValueError):
    """An argument of a call cannot be used; its text is for the caller."""


class Memories:
    """The tools over one notes folder and its index. Blocks on the disk."""

    def __init__(self, folder: Path, index: Index) -> None:
        self._folder = folder
        self._index = index

    def call(self, name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Runs a tool; whatever is wrong with the arguments or the disk becomes an `Error:` text."""
        try:
            if name == "mem_search":
                return _text(self._search(arguments))
            if name == "mem_add":
                return self._add(arguments)
            if name == "mem_do":
                return _text(self._do(arguments))
            raise BadArgument(f"unknown tool {name!r}; there are mem_search, mem_add and mem_do")
        except BadArgument as error:
            return _text(f"Error: {error}")
        except sqlite3.Error as error:
            if not is_corrupt(error):
                return _text(f"Error: cannot use the index: {error}")
            self._index.rebuild()
            return _text("Error: the index was damaged and is being rebuilt from the notes; try again")
        except OSError as error:
            return _text(f"Error: cannot use the notes folder {self._folder}: {error.strerror}")

    def _search(self, arguments: Mapping[str, Any]) -> str:
        _known(arguments, "query", "top_k", "namespace", "output_format")
        query = _string(arguments, "query", LONGEST_QUERY, required=True)
        limit = arguments.get("top_k", 10)
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_RESULTS:
            raise BadArgument(f"top_k must be a whole number from 1 to {MOST_RESULTS}")
        style = arguments.get("output_format", "compact")
        if style not in ("structured", "compact"):
            raise BadArgument("output_format must be structured or compact")
        self._index.refresh(SEARCH_REFRESH_SECONDS)
        hits = self._index.search(query, limit=limit, namespace=_string(arguments, "namespace", 200))
        return _structured(hits) if style == "structured" else _compact(hits)

    def _add(self, arguments: Mapping[str, Any]) -> types.CallToolResult:
        _known(arguments, "content", "title", "tags", "namespace")
        content = _string(arguments, "content", LONGEST_NOTE, required=True)
        title, namespace = _string(arguments, "title", 200), _string(arguments, "namespace", 200)
        tags = arguments.get("tags") or []
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise BadArgument("tags must be a list of strings")
        if is_credential("\n".join([content, title, namespace, *tags])):
            raise BadArgument("the note looks as if it held a credential; leave the secret out")
        source = write_note(self._folder, content, title=title, namespace=namespace, tags=tags)
        self._index.refresh(SEARCH_REFRESH_SECONDS, force=True)
        found = self._index.find(source)
        told = {
            "source": source,
            "namespace": namespace or DEFAULT_NAMESPACE,
            "chunk_ids": [chunk.id for chunk in found],
        }
        return types.CallToolResult(
            content=[types.TextContent(text=f"Added {source} ({_chunks(len(found))})")], structured_content=told
        )

    def _do(self, arguments: Mapping[str, Any]) -> str:
        _known(arguments, "action", "params")
        action, params = arguments.get("action"), arguments.get("params") or {}
        if not isinstance(params, dict):
            raise BadArgument("params must be an object")
        if action == "version":
            files, chunks = self._index.size()
            search = {"effective_mode": "bm25_only", "enable_bm25": True, "enable_dense": False}
            capabilities = {"search_formats": ["structured", "compact"], "runtime_profile": {"search": search}}
            return json.dumps({"version": VERSION, "files": files, "chunks": chunks, "capabilities": capabilities})
        if action == "increment_access":
            ids = params.get("chunk_ids")
            if not isinstance(ids, list) or not all(isinstance(i, str) and len(i) <= 64 for i in ids):
                raise BadArgument("params.chunk_ids must be a list of chunk ids")
            return json.dumps({"updated": self._index.increment_access(ids)})
        raise BadArgument("action must be version or increment_access")

    def catch_up(self) -> bool:
        """Takes in a part of the notes that are not indexed yet; true when none is left."""
        return self._index.refresh(_START_REFRESH_SECONDS, force=True)


async def index_notes(memories: Memories, one_at_a_time: anyio.CapacityLimiter) -> None:
    """Indexes a new folder step by step, so that searches get their turn meanwhile."""
    while not await anyio.to_thread.run_sync(memories.catch_up, limiter=one_at_a_time):
        pass


def build_server(memories: Memories, one_at_a_time: anyio.CapacityLimiter) -> Server[Any]:
    """The server.

    Args:
        one_at_a_time: a limiter of 1 around all disk work, since the SQLite connection serves one thread at a time.
    """

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(memories.call, params.name, params.arguments or {}, limiter=one_at_a_time)

    return Server(NAME, version=VERSION, on_list_tools=list_tools, on_call_tool=call_tool)


def _structured(hits: list[Hit]) -> str:
    results = [
        {
            "rank": rank,
            "score": round(hit.score, 4),
            "source": hit.chunk.source,
            "hierarchy": hit.chunk.hierarchy,
            "namespace": hit.chunk.namespace,
            "chunk_id": hit.chunk.id,
            "content": hit.chunk.text,
        }
        for rank, hit in enumerate(hits, 1)
    ]
    answer = {"results": results, "score_scale": "bm25", "query_run_id": str(uuid.uuid4()), "recorded": False}
    return json.dumps(answer, ensure_ascii=False)


def _compact(hits: list[Hit]) -> str:
    blocks = [f"Found {len(hits)} results:"]
    for rank, hit in enumerate(hits, 1):
        place = " > ".join(part for part in (hit.chunk.source, re.sub(r"\s+", " ", hit.chunk.hierarchy)) if part)
        blocks.append(f"[{rank}] {hit.score:.2f} | {place}\n{hit.chunk.text}")
    return "\n\n".join(blocks)


def _chunks(number: int) -> str:
    return "1 chunk" if number == 1 else f"{number} chunks"


def _known(arguments: Mapping[str, Any], *names: str) -> None:
    unknown = sorted(set(arguments) - set(names))
    if unknown:
        raise BadArgument(f"unknown parameter {', '.join(unknown)}; known are {', '.join(names)}")


def _string(arguments: Mapping[str, Any], name: str, longest: int, *, required: bool = False) -> str:
    value = arguments.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise BadArgument(f"{name} must be a {'non-empty ' if required else ''}string")
    if len(value) > longest:
        raise BadArgument(f"{name} is longer than {longest} characters")
    return value


def _text(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])
