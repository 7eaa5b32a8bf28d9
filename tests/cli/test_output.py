"""Answers, errors, exit codes, tables."""

import os
import subprocess
import sys

import click
import pytest

from bus.errors import PeerUnavailable
from bus.launch import environment
from cli.output import USAGE, Answer, Failure, answers, count, printable, size, style, table
from config.place import Place
from tests.cli.conftest import Invoke, document_of


@click.command("work")
@click.argument("how")
@click.option("--count", type=int)
@answers
def work(how: str, count: int | None) -> Answer:
    """Does what it is told."""
    if how == "bus":
        raise PeerUnavailable("the upstream actor is not there")
    if how == "failure":
        raise Failure("consent_missing", "needs --yes", USAGE)
    if how == "usage":
        raise click.UsageError("one of them")
    if how == "bug":
        raise ZeroDivisionError("two\nlines")
    if how == "file":
        os.stat("/nowhere/at/all")
    if how == "interrupt":
        raise KeyboardInterrupt
    if how == "abort":
        raise click.Abort
    if how == "down":
        return Answer(data={"down": ["x"]}, text="x is down", exit_code=1, error="down", message="x is down")
    return Answer(data={"count": count}, text="data", talk="talk")


def test_data_goes_to_stdout_and_talk_to_stderr(mms: Invoke) -> None:
    result = mms([work], "work", "fine")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "data\n", "talk\n")


def test_json_is_one_document_and_nothing_else(mms: Invoke) -> None:
    result = mms([work], "work", "fine", "--json", "--count", "3")
    assert document_of(result) == {"action": "work", "ok": True, "count": 3}
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("how", "code", "message", "exit_code"),
    [
        ("bus", "peer_unavailable", "the upstream actor is not there", 1),
        ("failure", "consent_missing", "needs --yes", 2),
        ("usage", "usage", "one of them", 2),
        ("bug", "internal_error", "ZeroDivisionError: two lines; --debug shows where", 1),
        ("file", "os_error", "/nowhere/at/all: No such file or directory", 1),
    ],
)
def test_errors_are_one_line_or_one_document(mms: Invoke, how: str, code: str, message: str, exit_code: int) -> None:
    result = mms([work], "work", how)
    assert result.exit_code == exit_code
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1] == f"Error: {message}"
    assert "Traceback" not in result.stderr
    result = mms([work], "work", how, "--json")
    assert result.exit_code == exit_code
    assert document_of(result) == {"action": "work", "ok": False, "error": code, "message": message}


def test_bad_news_is_an_answer_with_an_exit_code(mms: Invoke) -> None:
    result = mms([work], "work", "down")
    assert (result.exit_code, result.stdout) == (1, "x is down\n")
    result = mms([work], "work", "down", "--json")
    assert result.exit_code == 1
    assert document_of(result) == {
        "action": "work",
        "ok": False,
        "error": "down",
        "message": "x is down",
        "down": ["x"],
    }


@pytest.mark.parametrize("argv", [["work", "fine", "--count", "x"], ["work"], ["wrok"], ["work", "fine", "--nope"]])
def test_what_click_refuses_keeps_the_conventions(mms: Invoke, argv: list[str]) -> None:
    result = mms([work], *argv)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error: " in result.stderr
    result = mms([work], *argv, "--json")
    assert result.exit_code == 2
    assert document_of(result)["error"] == "usage"


@pytest.mark.parametrize("how", ["interrupt", "abort"])
def test_interrupted_is_130(mms: Invoke, how: str) -> None:
    assert mms([work], "work", how).exit_code == 130


def test_a_traceback_only_with_debug(mms: Invoke) -> None:
    assert "Traceback" in mms([work], "--debug", "work", "bug").stderr
    result = mms([work], "--debug", "work", "bug", "--json")
    assert document_of(result)["error"] == "internal_error"


def test_errors_outside_a_command(mms: Invoke) -> None:
    @click.command("raw")
    @click.option("--json", "as_json", is_flag=True)
    def raw(as_json: bool) -> None:
        raise PeerUnavailable("nobody is there")

    result = mms([raw], "raw")
    assert (result.exit_code, result.stderr) == (1, "Error: nobody is there\n")
    assert document_of(mms([raw], "raw", "--json"))["error"] == "peer_unavailable"


def test_json_behind_a_double_dash_belongs_to_somebody_else(mms: Invoke) -> None:
    result = mms([work], "work", "--", "fine", "--json")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize("argv", [["version"], ["version", "--json"], ["config", "path"]])
@pytest.mark.parametrize(
    ("redirection", "said"), [(">&-", "stdout is closed"), (">/dev/full", "No space left on device")]
)
def test_an_answer_that_cannot_be_shown_is_one_line_on_stderr(
    place: Place, argv: list[str], redirection: str, said: str
) -> None:
    command = f'exec "$0" -P -m cli {" ".join(argv)} {redirection}'
    found = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable], env=environment(place), stderr=subprocess.PIPE, text=True
    )
    assert found.returncode == 1
    assert said in found.stderr
    assert len([line for line in found.stderr.splitlines() if "does not exist yet" not in line]) == 1


def test_a_closed_stderr_costs_the_talk_only(place: Place) -> None:
    found = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -P -m cli config path 2>&-', sys.executable],
        env=environment(place),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert (found.returncode, found.stdout) == (0, f"{place.config_file}\n")


def test_tables_align_wide_text_and_escape_control_characters() -> None:
    lines = table(("NAME", "VALUE"), [("한국", "1"), ("a\x1b[2J", None), ("", "x")]).splitlines()
    assert lines == ["NAME      VALUE", "한국      1", "a\\x1b[2J  -", "-         x"]


def test_printable_keeps_ordinary_text() -> None:
    assert printable("né 한국 🙂") == "né 한국 🙂"
    assert printable("a\nb\u202e") == "a\\nb\\u202e"


def test_no_colour_off_a_terminal_or_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    assert style("x", "bad") == "x"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert style("x", "bad") == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert style("x", "bad") == "x"


def test_counts_and_sizes_read_like_a_sentence() -> None:
    assert [count(n, "call") for n in (0, 1, 1_234)] == ["0 calls", "1 call", "1,234 calls"]
    assert [count(n, "memory", "memories") for n in (1, 2)] == ["1 memory", "2 memories"]
    assert [size(n) for n in (1, 999, 28_148, 999_499, 1_500_000)] == [
        "1 byte",
        "999 bytes",
        "28 KB",
        "999 KB",
        "1.5 MB",
    ]
