"""What a command shows and how it ends: the one owner of styles, tables, JSON documents, errors and exit codes.

A command returns an `Answer` and raises a `BusError` or `Failure`; `@answers` does the rest::

    @click.command("list")
    @answers
    def list_upstreams() -> Answer:
        return Answer(data={"upstreams": rows}, text=table(("NAME", "PREFIX"), rows))

stdout carries data, stderr carries talk. With `--json` stdout is exactly one document,
`{"action", "ok", …data}` or `{"action", "ok": false, "error": code, "message": …}`.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import traceback
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Literal, NamedTuple

import click
import msgspec

from bus.errors import BusError
from config.problems import did_you_mean
from config.problems import printable as printable

FAILED = 1
USAGE = 2
INTERRUPTED = 130
NO_OUTPUT = "no_output"
"""Code of the failure to say anything on stdout; it is said on stderr, whatever was asked for."""

Role = Literal["good", "bad", "warning", "dim", "heading"]
STYLES: dict[Role, dict[str, Any]] = {
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "warning": {"fg": "yellow"},
    "dim": {"dim": True},
    "heading": {"bold": True},
}


class Cell(NamedTuple):
    """A table cell with a style."""

    text: str
    role: Role


class Failure(Exception):
    """A command that could not do what it was asked.

    Args:
        code: stable word for programs, e.g. `unknown_upstream`.
        message: one line: what, why, and the fix.
        exit_code: 1, or 2 for wrong usage and missing consent.
    """

    def __init__(self, code: str, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.exit_code = exit_code


class Answer(NamedTuple):
    """What a command found or did.

    Attributes:
        data: members of the JSON document beside `action` and `ok`.
        text: for people, on stdout; data they may pipe on.
        talk: for people, on stderr.
        exit_code: other than 0 when the answer itself is bad news (`health` with something down); `ok` is then false.
        error / message: code and line of the bad news for the JSON document.
    """

    data: Mapping[str, Any] = {}
    text: str = ""
    talk: str = ""
    exit_code: int = 0
    error: str = ""
    message: str = ""


def answers(command: Callable[..., Answer]) -> Callable[..., None]:
    """Adds `--json` to a command and turns its answer, or what it raises, into output and exit code."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
    @click.pass_context
    @functools.wraps(command)
    def run_command(context: click.Context, /, *args: Any, as_json: bool, **options: Any) -> None:
        try:
            _refuse_bytes(options)
            _show(command(*args, **options), action_of(context), as_json=as_json)
        except (click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if isinstance(error, click.ClickException) and not as_json:
                raise
            context.exit(fail(error, action_of(context), as_json=as_json, debug=debugging(context)))

    return run_command


def run(group: click.Command, argv: Sequence[str], name: str = "mms") -> int:
    """Runs a command line; returns the exit code. What click refuses before a command starts is covered as well."""
    as_json = "--json" in (argv[: argv.index("--")] if "--" in argv else argv)
    debug = "--debug" in argv
    try:
        result = group.main(list(argv), prog_name=name, standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption):
            error = _suggested(error)
        if not as_json:
            error.show()
            return error.exit_code
        action = action_of(error.ctx) if isinstance(error, click.UsageError) and error.ctx else ""
        return fail(error, action, as_json=True, debug=debug)
    except Exception as error:
        return fail(error, "", as_json=as_json, debug=debug)
    return result if isinstance(result, int) else 0


def fail(error: Exception, action: str, *, as_json: bool, debug: bool) -> int:
    """Reports an error in one line or one document (and a traceback with `debug`); returns the exit code."""
    if debug:
        traceback.print_exception(error)
    code, message, exit_code = _explain(error)
    if as_json and code != NO_OUTPUT:
        document({"action": action, "ok": False, "error": code, "message": message})
    else:
        talk(f"{style('Error:', 'bad', err=True)} {message}")
    return exit_code


def document(members: Mapping[str, Any]) -> None:
    """One JSON document, one line, on stdout. Raises Failure as `write`."""
    write(msgspec.json.encode(members).decode())


def write(text: str) -> None:
    """Data on stdout, and a line break.

    Raises:
        Failure: stdout is closed, full or broken.
    """
    with _stdout():
        click.echo(text, color=colour())


def write_bytes(source: BinaryIO) -> None:
    """Data on stdout as it is. Raises Failure as `write`."""
    with _stdout():
        shutil.copyfileobj(source, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def read_input() -> str:
    """All of stdin. Raises Failure: it is closed, or holds no text."""
    if sys.stdin is None:
        raise Failure("no_input", "stdin is closed, so nothing can be read from it; leave `<&-` out", USAGE)
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise Failure("no_input", "what stands on stdin is not UTF-8 text", USAGE) from None


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream is a terminal; a closed one is none."""
    return stream is not None and bool(stream.isatty())


def talk(text: str) -> None:
    """A line for people, on stderr."""
    click.echo(text, err=True, color=colour(err=True))


def colour(*, err: bool = False) -> bool:
    """Whether the stream may be coloured: a terminal, and `NO_COLOR` is not set."""
    stream = sys.stderr if err else sys.stdout
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style(text: str, role: Role, *, err: bool = False) -> str:
    """`text` in a role's colour, where the stream takes colour."""
    return click.style(text, **STYLES[role]) if colour(err=err) else text


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Aligned columns; empty cells show as `-`, a `Cell` brings a style. Control characters are escaped."""
    body = [list(row) for row in rows]
    plain = [[_plain(value) for value in row] for row in (headings, *body)]
    widths = [max(map(_width, column)) for column in zip(*plain, strict=True)]
    roles: list[list[Role | None]] = [["heading"] * len(headings)]
    roles += [[value.role if isinstance(value, Cell) else None for value in row] for row in body]
    return "\n".join(_line(*row, widths) for row in zip(plain, roles, strict=True))


def count(number: int, one: str, many: str = "") -> str:
    """`1 call`, `2 calls`; `many` where an `s` does not do."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """Bytes in the unit that a person would take: `812 bytes`, `28 KB`, `1.5 MB`."""
    if number < 1_000:
        return count(number, "byte")
    return f"{number / 1_000:.0f} KB" if number < 999_500 else f"{number / 1_000_000:,.1f} MB"


def printable_lines(text: str) -> str:
    """`printable`, line by line."""
    return "\n".join(printable(line) for line in text.rstrip("\n").split("\n"))


def action_of(context: click.Context) -> str:
    """The command's name without the program's: `config show`."""
    names: list[str] = []
    here: click.Context | None = context
    while here is not None and here.parent is not None:
        names.insert(0, here.info_name or "")
        here = here.parent
    return " ".join(names) or (context.command.name or "")


def debugging(context: click.Context) -> bool:
    """Whether the program was started with `--debug`."""
    return bool(context.find_root().params.get("debug"))


def _refuse_bytes(options: Mapping[str, Any]) -> None:
    """Raises Failure when a text of the command line is none: Python passes on such bytes as lone surrogates."""
    for value in options.values():
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and any("\ud800" <= c <= "\udfff" for c in text):
                raise Failure("usage", "an argument is not UTF-8 text; write it in UTF-8", USAGE)


@contextmanager
def _stdout() -> Iterator[None]:
    """The block may write to stdout."""
    if sys.stdout is None:
        raise Failure(NO_OUTPUT, "stdout is closed, so the answer cannot be shown; leave `>&-` out")
    try:
        yield
    except OSError as error:
        # What is left in the buffer would fail once more when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `| head` has what it wants, which is nothing to complain about
            raise click.exceptions.Exit(FAILED) from None
        raise Failure(NO_OUTPUT, f"stdout cannot be written: {error.strerror}") from None


def _show(answer: Answer, action: str, *, as_json: bool) -> None:
    if as_json:
        news = {"error": answer.error, "message": answer.message} if answer.exit_code else {}
        document({"action": action, "ok": not answer.exit_code, **news, **answer.data})
    else:
        if answer.text:
            write(answer.text)
        if answer.talk:
            talk(answer.talk)
    if answer.exit_code:
        raise click.exceptions.Exit(answer.exit_code)


def _suggested(error: click.NoSuchOption) -> click.NoSuchOption:
    """The same with the one suggestion that is alike without its dashes, which are like any other's."""
    bare = {name.lstrip("-"): name for name in error.possibilities or ()}
    hint = did_you_mean(error.option_name.lstrip("-"), bare)
    alike = [name for word, name in bare.items() if f" {word}?" in hint]
    return click.NoSuchOption(error.option_name, possibilities=alike or None, ctx=error.ctx)


def _explain(error: Exception) -> tuple[str, str, int]:
    """Code, message and exit code of an error."""
    if isinstance(error, BusError):
        return error.code, error.message, FAILED
    if isinstance(error, Failure):
        return error.code, error.message, error.exit_code
    if isinstance(error, click.ClickException):
        return "usage", error.format_message(), error.exit_code
    if isinstance(error, OSError) and error.strerror:
        return "os_error", f"{error.filename or 'reading or writing failed'}: {error.strerror}", FAILED
    return "internal_error", f"{type(error).__name__}: {error}; --debug shows where".replace("\n", " "), FAILED


def _plain(value: object) -> str:
    text = value.text if isinstance(value, Cell) else value
    return "-" if text is None or text == "" else printable(str(text))


def _line(cells: Sequence[str], roles: Sequence[Role | None], widths: Sequence[int]) -> str:
    """One row, padded before it is styled."""
    last = len(cells) - 1
    padded = [
        cell if n == last else cell + " " * (width - _width(cell))
        for n, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(style(text, role) if role else text for text, role in zip(padded, roles, strict=True))


def _width(text: str) -> int:
    """Columns of a terminal; East Asian wide characters take two."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
