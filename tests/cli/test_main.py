"""The command line as a whole: what it lists, what it imports, how it decides what to run."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bus.launch import environment
from cli.main import COMMANDS, mms
from config.place import Place
from tests.cli.store import fill

MISSING = "the file does not exist yet; `mms add` creates it"
HEAVY = ("mcp", "pydantic", "duckdb")


def run(place: Place, *argv: str, **extra: str) -> subprocess.CompletedProcess[str]:
    env = environment(place) | extra
    command = [sys.executable, "-P", "-m", "cli", *argv]
    return subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)


def imported(place: Place, *argv: str) -> set[str]:
    """The top-level modules that a command line imports."""
    code = (
        f"import sys; sys.argv = ['mms', *{list(argv)!r}]\n"
        "from cli.entry import main\n"
        "main()\n"
        "print('\\n' + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    env = environment(place)
    found = subprocess.run([sys.executable, "-P", "-c", code], env=env, capture_output=True, text=True, check=True)
    return set(found.stdout.splitlines()[-1].split())


def commands() -> list[tuple[str, click.Command]]:
    """Every command with its full name, groups and what is in them alike."""
    context = click.Context(mms)
    found: list[tuple[str, click.Command]] = []
    waiting = [(name, mms.get_command(context, name)) for name in COMMANDS]
    while waiting:
        name, command = waiting.pop()
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            waiting += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
    return found


@pytest.mark.parametrize(("name", "command"), commands(), ids=[name for name, _ in commands()])
def test_every_command_explains_itself_with_an_example(name: str, command: click.Command) -> None:
    assert command.help
    assert "Example" in command.help
    assert f"mms {name}" in command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_command_says(name: str) -> None:
    command = mms.get_command(click.Context(mms), name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name].summary == command.get_short_help_str(limit=200)


def test_help_lists_every_command_and_imports_none_of_them(place: Place) -> None:
    shown = run(place, "-h")
    assert shown.returncode == 0
    assert all(f"\n  {name} " in shown.stdout for name in ("gateway", *COMMANDS))
    modules = imported(place, "-h")
    assert not modules & {*HEAVY, "zmq", "structlog", "honcho"}


@pytest.mark.parametrize("argv", [["ps", "-h"], ["list"], ["config", "path"], ["logs", "-h"], ["stats", "-h"]])
def test_commands_that_only_read_import_nothing_heavy(place: Place, argv: list[str]) -> None:
    assert not imported(place, *argv) & {*HEAVY, "honcho"}


def test_the_gateway_is_decided_without_click(place: Place) -> None:
    modules = imported(place, "gateway", "--help")
    assert not modules & {*HEAVY, "click", "structlog", "honcho"}


def test_a_bare_start_on_a_terminal_shows_the_help(place: Place) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-m", "cli"]
    found = subprocess.run(command, env=environment(place), stdin=theirs, capture_output=True, text=True, timeout=30)
    os.close(ours)
    os.close(theirs)
    assert found.returncode == 0
    assert found.stdout.startswith("Usage: mms [OPTIONS] COMMAND")


@pytest.mark.parametrize(
    ("argv", "exit_code", "said"),
    [
        (["nonsense"], 2, "No such command 'nonsense'; `mms --help` lists them"),
        (["selecton"], 2, "No such command 'selecton'; did you mean selection?"),
        (["stats", "--sinc", "7d"], 2, "No such option '--sinc'. Did you mean '--since'?"),
        (["stats", "--by", "month"], 2, "'month' is not one of 'tool', 'server', 'day'"),
        (["ps", "--sideways"], 2, "No such option"),
        (["gateway", "--sideways"], 2, "Error: no such option or argument: --sideways; `mms gateway --help`"),
        (["gateway", "--config"], 2, "Error: --config needs a path"),
        (["--config", "x.json", "gateway", "extra"], 2, "Error: no such option or argument: extra"),
    ],
)
def test_wrong_usage_is_exit_code_two(place: Place, argv: list[str], exit_code: int, said: str) -> None:
    found = run(place, *argv)
    assert (found.returncode, found.stdout) == (exit_code, "")
    assert said in found.stderr


@pytest.mark.parametrize("argv", [["gateway", "-h"], ["--debug", "gateway", "--help"]])
def test_the_gateway_explains_itself(place: Place, argv: list[str]) -> None:
    found = run(place, *argv)
    assert found.returncode == 0
    assert found.stdout.startswith("Usage: mms gateway [OPTIONS]")
    assert "Example:" in found.stdout


def test_a_shell_gets_its_completions_though_stdin_is_no_terminal(place: Place) -> None:
    source = run(place, _MMS_COMPLETE="bash_source")
    assert "_MMS_COMPLETE=bash_complete" in source.stdout
    offered = run(place, _MMS_COMPLETE="bash_complete", COMP_WORDS="mms me", COMP_CWORD="1")
    assert offered.stdout == "plain,memory\n"


def test_a_projects_modules_do_not_shadow_ours(place: Place, tmp_path: Path) -> None:
    package = tmp_path / "config"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the wrong package')")
    found = run(place, "config", "path", PYTHONPATH=str(tmp_path))
    assert (found.stdout, found.stderr) == (f"{place.config_file}\n", f"{MISSING}\n")


def test_a_directory_of_somebody_else_is_one_line(place: Place, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = run(place, "gateway", MEMTOMEM_STM_HOME=str(blocked / "home"), MMS_STATE_DIR=str(blocked / "home" / "bus"))
    assert found.returncode == 1
    assert found.stderr.startswith(f"Error: cannot use the directory {blocked}")
    assert len(found.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("argv", "closed", "said"),
    [
        ("sql", "<&-", "stdin is closed"),
        ("call x -", "<&-", "stdin is closed"),
        ("memory add -", "<&-", "stdin is closed"),
        ("remove x", "<&-", "there is no upstream x"),
        ("list", ">&-", ""),
        ("config path", ">&-", "stdout is closed"),
        ("sql --format parquet 'FROM call'", ">&-", "Error: "),
        ("--help", ">&-", ""),
    ],
)
def test_a_closed_stream_is_named(place: Place, argv: str, closed: str, said: str) -> None:
    command = f"{sys.executable} -P -m cli {argv} {closed}"
    found = subprocess.run(
        ["sh", "-c", command], env=environment(place), capture_output=True, text=True, timeout=30, check=False
    )
    assert said in found.stderr
    assert "AttributeError" not in found.stderr


@pytest.mark.parametrize("argv", [["sql", b"SELECT \xff"], ["stats", "--tool", b"\xff"], ["trace", b"\xff"]])
def test_bytes_that_are_no_text_are_wrong_usage(place: Place, argv: list[str | bytes]) -> None:
    fill(place)
    command: list[str | bytes] = [sys.executable, "-P", "-m", "cli", *argv]
    found = subprocess.run(command, env=environment(place), capture_output=True, text=True, timeout=30, check=False)
    assert (found.returncode, found.stderr) == (2, "Error: an argument is not UTF-8 text; write it in UTF-8\n")


@pytest.mark.parametrize("words", [["gateway"], ["gateway", "--private"], ["up"]])
def test_a_cluster_that_cannot_start_says_why_in_one_line(place: Place, words: list[str]) -> None:
    (place.locks / "supervisor.lock").mkdir(parents=True)
    found = run(place, *words)
    assert found.returncode == 1
    assert found.stderr.splitlines() == [
        f"Error: the cluster cannot start: {place.locks / 'supervisor.lock'}: Is a directory; mend that, or set "
        "MEMTOMEM_STM_HOME to another place"
    ]


@pytest.mark.parametrize("argv", [["sql", "FROM range(9000)"], ["sql", "--format", "parquet", "FROM range(90000)"]])
def test_a_reader_that_has_enough_is_nothing_to_complain_about(place: Place, argv: list[str]) -> None:
    fill(place)
    read, write = os.pipe()
    os.close(read)
    try:
        found = subprocess.run(
            [sys.executable, "-P", "-m", "cli", *argv],
            env=environment(place), stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE, timeout=30,
        )  # fmt: skip
    finally:
        os.close(write)
    assert (found.returncode, found.stderr) == (1, b"")
