"""Completion in a real shell, and the scripts for the others."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.fixtures.home import MMS

SCRIPT = """
eval "$(mms completion bash)"
COMP_WORDS=({words}); COMP_CWORD={at}
_mms_completion mms
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def complete(*words: str) -> list[str]:
    """What bash offers for the last word."""
    env = {**os.environ, "PATH": f"{MMS.parent}:{os.environ['PATH']}"}
    quoted = " ".join(f"'{word}'" for word in words)
    script = SCRIPT.format(words=quoted, at=len(words) - 1)
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=30, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_values() -> None:
    assert complete("mms", "ho") == ["hook"]
    assert {"gateway", "up", "hook"} <= set(complete("mms", ""))
    assert complete("mms", "hook", "ins") == ["install"]
    assert complete("mms", "hook", "install", "--ma") == ["--matcher"]
    assert complete("mms", "hook", "install", "--host", "co") == ["codex"]


@pytest.mark.parametrize(("shell", "sign"), [("zsh", "#compdef mms"), ("fish", "complete --no-files --command mms")])
def test_other_shells_have_their_script(shell: str, sign: str) -> None:
    done = subprocess.run([str(MMS), "completion", shell], capture_output=True, text=True, timeout=30, check=True)
    assert sign in done.stdout
    assert "_MMS_COMPLETE" in done.stdout


def test_a_press_of_the_key_imports_no_command() -> None:
    code = "import sys; from cli.entry import main; sys.argv = ['mms']\ntry: main()\nfinally: print(*sys.modules)"
    env = {**os.environ, "_MMS_COMPLETE": "bash_complete", "COMP_WORDS": "mms ", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True, timeout=30)
    modules = done.stdout.split()
    assert "cli.main" in modules
    assert "plain,hook" in modules
    assert not {"cli.hook_admin", "cli.stats", "zmq", "duckdb"} & set(modules)
