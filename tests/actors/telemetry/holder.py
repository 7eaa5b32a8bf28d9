"""Somebody else who has the analytics file open."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held_by_another_process(path: Path, *, read_only: bool) -> Iterator[None]:
    code = (
        "import duckdb,sys; c=duckdb.connect(sys.argv[1],read_only=sys.argv[2]=='r'); print('open',flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path), "r" if read_only else "w"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"open\n"
    try:
        yield
    finally:
        holder.kill()
        holder.communicate()
