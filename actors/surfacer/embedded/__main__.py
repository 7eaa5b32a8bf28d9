"""`python -m actors.surfacer.embedded --memories DIR --index FILE`: serves MCP on stdio until stdin closes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server

from actors.surfacer.embedded.index import Index
from actors.surfacer.embedded.server import Memories, build_server, index_notes
from bus.errors import BusError


async def serve(memories: Memories) -> None:
    one_at_a_time = anyio.CapacityLimiter(1)
    server = build_server(memories, one_at_a_time)
    async with anyio.create_task_group() as tasks, stdio_server() as (reads, writes):
        tasks.start_soon(index_notes, memories, one_at_a_time)
        await server.run(reads, writes, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="memtomem-bus-embedded", description="A small memory server over Markdown notes."
    )
    parser.add_argument("--memories", type=Path, required=True, help="folder of the notes")
    parser.add_argument("--index", type=Path, required=True, help="index file; can be deleted at any time")
    options = parser.parse_args()
    try:
        options.index.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        index = Index(options.memories, options.index, lambda why: print(why, file=sys.stderr, flush=True))
        if index.set_aside:
            print(f"the index was corrupt and is rebuilt; the old file is {index.set_aside}", file=sys.stderr)
    except BusError as error:
        sys.exit(f"memtomem-bus-embedded: {error.message}")
    except OSError as error:
        sys.exit(f"memtomem-bus-embedded: cannot use {options.index}: {error.strerror}")
    anyio.run(serve, Memories(options.memories, index))
    index.close()


if __name__ == "__main__":
    main()
