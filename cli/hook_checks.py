"""The hook's part of `mms doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from cli.doctor_checks import Check, State
from cli.hook_status import REGISTER, look, without_gateway
from cli.output import printable
from config.load import Loaded

_FAILING = ("broken", "unreadable")


def check_hook(loaded: Loaded, env: Mapping[str, str], folder: Path) -> Iterator[Check]:
    """Whether the hook works where it is installed; nothing where it is not."""
    found = [one for one in look(env, folder) if one.state != "absent"]
    for one in found:
        label = f"hook of {one.host.title}"
        state: State = "FAIL" if one.state in _FAILING else "WARN" if one.message else "PASS"
        yield Check(label, state, one.message or f"{one.path}: {printable(one.matcher)}", one.fix)
    text = without_gateway(found, loaded.settings.hook, env, folder)
    if text:
        yield Check("hook", "WARN" if loaded.settings.hook.compression.enabled else "PASS", text, REGISTER)
