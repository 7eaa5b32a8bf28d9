"""Writes `docs/commands.md` from the commands themselves: `python -m tests.docs.commands --write` (`make docs`)."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from cli.gateway import HELP as GATEWAY_HELP
from cli.main import COMMANDS, mms

TARGET = Path(__file__).parents[2] / "docs" / "commands.md"
HEAD = """\
# Commands

Every command and option of `mms`. This page is made from the commands themselves (`make docs`); a test compares them.

Data goes to stdout, talk to stderr. `--json` gives exactly one JSON document `{"action", "ok", …}`, on failure too
(`mms logs` and `mms sql --format json` give lines of JSON). Exit codes: 0 fine, 1 it failed, 2 wrong usage or missing
consent, 130 interrupted. Before any command: `--config PATH` names another configuration file, `--debug` shows a
traceback when something fails. What the analytics commands answer is described in [analytics.md](analytics.md).
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups before what is in them."""
    context = click.Context(mms)
    for name in COMMANDS:
        command = mms.get_command(context, name)
        assert command is not None
        yield from _with_inner(name, command)


def page() -> str:
    """The whole text of the page."""
    parts = [HEAD, f"## mms gateway\n\n```\n{GATEWAY_HELP.strip()}\n```\n"]
    parts += [_section(name, command) for name, command in commands()]
    return "\n".join(parts)


def _with_inner(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        for inner in sorted(command.commands):
            yield from _with_inner(f"{name} {inner}", command.commands[inner])


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"mms {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## mms {name}\n\n```\nmms {name} {usage}".rstrip(), "```", "", *_help(command)]
    rows = [_option(option, context) for option in command.params if isinstance(option, click.Option)]
    if rows:
        lines += ["| option | does |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _help(command: click.Command) -> list[str]:
    """The help as paragraphs; what stands below `\\b` is shown as it is."""
    found: list[str] = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            heading, *rest = paragraph.removeprefix("\b").strip().split("\n")
            found += [heading, "", "```sh", *(inspect.cleandoc("\n".join(rest)).split("\n")), "```", ""]
        elif paragraph.strip():
            found += [*paragraph.split("\n"), ""]
    return found


def _option(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    record = option.get_help_record(context)
    assert record is not None, f"{context.info_name} {option.opts} is hidden"
    values = re.sub(r"^(-\S+,? ?(/ )?)+", "", record[0]).strip()
    shown = f"{names} `{values}`" if values else names
    return f"| {shown.replace('|', chr(92) + '|')} | {record[1].replace('|', chr(92) + '|')} |"


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.docs.commands --write")
    TARGET.write_text(page(), encoding="utf-8")
