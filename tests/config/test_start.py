"""A gateway imports `config` while a client waits."""

import subprocess
import sys

NEEDED_ONLY_LATER = {"asyncio", "click", "difflib", "fcntl", "json", "mcp", "pydantic", "subprocess", "yaml"}


def test_loading_imports_nothing_that_can_wait() -> None:
    code = "import sys, config.load, config.policy, config.session, config.expand; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert NEEDED_ONLY_LATER.isdisjoint(done.stdout.split())
