"""The console script. Decides by the arguments alone, so that a gateway starts without the rest of the command line."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Runs `mms`; returns the exit code."""
    _without_shadows()
    argv = sys.argv[1:]
    if argv[:1] == ["gateway"]:
        return _gateway(argv[1:])
    if not argv and not sys.stdin.isatty():  # an MCP client has started us on a pipe
        return _gateway([])
    from cli.main import run

    return run(argv)


def _gateway(argv: list[str]) -> int:
    from cli.gateway import run

    return run(argv)


def _without_shadows() -> None:
    """A project's `PYTHONPATH` must not put modules of its own before ours."""
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        if folder in sys.path:
            sys.path.remove(folder)
