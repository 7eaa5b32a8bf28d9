"""The page of commands knows every command and option; help is light; stdout holds nothing but data."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from bus.launch import environment
from cli.gateway import HELP as GATEWAY_HELP
from config.place import Place
from tests.docs.commands import TARGET, commands

LIGHT = {"cli", "config", "bus"}
"""Packages of ours whose parts a list of commands may import; and of them only these many."""
MOST_MODULES = 12
HEAVY = {
    "asyncio", "duckdb", "honcho", "httpx2", "matplotlib", "mcp", "opentelemetry", "pydantic", "readline", "requests",
    "selectolax", "starlette", "structlog", "uvicorn", "zmq",
}  # fmt: skip
FOR_A_COMMAND = {"duckdb", "honcho", "httpx2", "matplotlib", "mcp", "opentelemetry", "pydantic", "requests", "uvicorn"}


def sections() -> dict[str, str]:
    """Title → text of the page."""
    parts = re.split(r"^## (mms .*)$", TARGET.read_text("utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def modules(place: Place, *argv: str) -> set[str]:
    code = (
        f"import sys; sys.argv = ['mms', *{list(argv)!r}]\nfrom cli.entry import main\nmain()\n"
        "print('\\n' + ' '.join(sorted(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment(place), capture_output=True, text=True, check=True
    )
    return set(found.stdout.splitlines()[-1].split())


def test_every_command_and_option_is_on_the_page_and_nothing_else() -> None:
    found = sections()
    assert set(found) == {"mms gateway", *(f"mms {name}" for name, _ in commands())}, "`make docs` writes it anew"
    for name, command in commands():
        options = {
            spelling
            for option in command.params
            if isinstance(option, click.Option)
            for spelling in (*option.opts, *option.secondary_opts)
        }
        rows = [line.split(" | ")[0] for line in found[f"mms {name}"].splitlines() if line.startswith("| `")]
        documented = {spelling for row in rows for spelling in re.findall(r"`(-[^`\s]*)`", row)}
        assert documented == options, f"mms {name}: `make docs` writes it anew"
    assert set(re.findall(r"--[a-z-]+", GATEWAY_HELP)) <= set(re.findall(r"--[a-z-]+", found["mms gateway"]))


def test_every_example_of_the_page_names_a_command_that_there_is() -> None:
    known = {name.split()[0] for name, _ in commands()} | {"gateway"}
    named = set(re.findall(r"^\s*mms ([a-z]+)", TARGET.read_text("utf-8"), flags=re.M))
    assert named <= known


def test_the_list_of_commands_imports_next_to_nothing(place: Place) -> None:
    found = modules(place, "--help")
    assert not {name.split(".")[0] for name in found} & HEAVY
    ours = {name for name in found if name.split(".")[0] in LIGHT}
    assert len(ours) <= MOST_MODULES, sorted(ours)
    assert not {name for name in found if name.split(".")[0] in ("actors", "gateway")}


def test_the_help_of_no_command_imports_what_only_its_work_needs(place: Place) -> None:
    code = (
        "import sys\nimport click\nfrom cli.main import COMMANDS, mms\ncontext = click.Context(mms)\n"
        "for name in COMMANDS:\n    mms.get_command(context, name).get_help(context)\n"
        "print(' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment(place), capture_output=True, text=True, check=True
    )
    assert not set(found.stdout.split()) & FOR_A_COMMAND


@pytest.mark.parametrize(
    "argv",
    [
        ["list"],
        ["stats"],
        ["trace"],
        ["sql", "SELECT 1"],
        ["health"],
        ["tune"],
        ["logs"],
        ["cache", "stats"],
        ["selection", "replay"],
    ],
)
def test_talk_is_no_data(place: Place, argv: list[str]) -> None:
    """Nothing runs and nothing is recorded here: there is no data, so whatever is said belongs on stderr."""
    command = [sys.executable, "-P", "-m", "cli", *argv]
    found = subprocess.run(command, env=environment(place), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert found.stdout == ""
    assert found.stderr.strip()
    assert "Traceback" not in found.stderr
