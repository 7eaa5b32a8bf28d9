"""The console script. Decides by the arguments alone, so that a gateway starts without the rest of the command line."""

from __future__ import annotations

import gc
import os
import sys

COMPLETION_VARIABLE = "_MMS_COMPLETE"
"""Set by a shell that asks for its completions."""


def main() -> int:
    """Runs `mms`; returns the exit code."""
    _without_shadows()
    argv = sys.argv[1:]
    if argv[:1] == ["gateway"]:
        return _gateway(argv[1:])
    if argv[:1] == ["hook"] and COMPLETION_VARIABLE not in os.environ and not _is_terminal():
        return _hook(argv)
    if not argv and COMPLETION_VARIABLE not in os.environ and not _is_terminal():  # an MCP client has started us
        return _gateway([])
    from cli.main import run

    return run(argv)


def _gateway(argv: list[str]) -> int:
    from cli.gateway import run

    return run(argv)


def _hook(argv: list[str]) -> int:
    gc.disable()  # a process that lives for a moment has nothing to collect, and looking costs it a tenth of its time
    from cli.hook import is_event_call
    from cli.hook import run as run_event

    if is_event_call(argv[1:]):
        return run_event(argv[1:])
    gc.enable()
    from cli.main import run

    return run(argv)


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _without_shadows() -> None:
    """A project's `PYTHONPATH` must not put modules of its own before ours."""
    foreign = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [folder for folder in sys.path if folder not in foreign]
