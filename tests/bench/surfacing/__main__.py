"""Prints the table: `python -m tests.bench.surfacing [--memtomem COMMAND] [--misses SET]`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

from actors.surfacer.ltm import Ltm
from tests.bench.surfacing.figures import figures, misses
from tests.bench.surfacing.runner import embedded, memtomem, run
from tests.bench.surfacing.situations import SETS, Labelled, load
from tests.fixtures.memtomem import find_memtomem

Server = Callable[[Labelled, Path], AbstractAsyncContextManager[Ltm]]


async def measure(title: str, server: Server, shown: str) -> None:
    """The rows of one memory server."""
    for name in SETS:
        labelled = load(name)
        with tempfile.TemporaryDirectory(prefix="mms-bench-") as folder:
            async with server(labelled, Path(folder)) as ltm:
                answers = await run(labelled, ltm, Path(folder))
        found = figures(labelled.situations, answers)
        print(
            f"| {title} | {name} | {found.situations} | {found.precision:.2f} | {found.recall:.2f} "
            f"| {found.silence:.2f} | {found.chars:,.0f} |"
        )
        for situation, answer in misses(labelled.situations, answers) if shown == name else ():
            told = situation.context_query or f"{situation.tool} {situation.arguments}"
            ids = ", ".join(sorted(set().union(*answer.shown))) if answer.shown else answer.reason
            print(f"    {told}\n        fits {', '.join(situation.fitting) or 'nothing'}; shown {ids}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.surfacing", description=__doc__)
    parser.add_argument("--memtomem", default=find_memtomem(), help="the public memory server's command")
    parser.add_argument("--misses", default="", choices=("", *SETS), help="list what was not answered as labelled")
    options = parser.parse_args()
    print("| memory server | set | situations | precision | recall@2 | silence | characters per useful memory |")
    print("|---|---|---|---|---|---|---|")
    asyncio.run(measure("embedded", embedded, options.misses))
    if options.memtomem:
        asyncio.run(measure("memtomem", partial(memtomem, command=options.memtomem), options.misses))
    else:
        print("\nThe public memtomem is not installed (make ltm-env); its rows are left out.")


if __name__ == "__main__":
    main()
