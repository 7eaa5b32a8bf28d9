"""`mms hook install`, `uninstall` and `status`: the hook among a host's own. What a host itself runs is in `hook`."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from cli.client_file import backup, change, preview
from cli.context import current_place, usable_settings
from cli.hook_entries import Entry, Occupied, command_line, installed, uninstalled
from cli.hook_event import CLAUDE, HOSTS
from cli.hook_hosts import SCOPES, HookHost, default_matcher, hook_host
from cli.hook_status import REGISTER, Found, look, toml_entries, toml_of, without_gateway
from cli.hook_toml import without
from cli.output import FAILED, Answer, Cell, Failure, Role, answers, is_terminal, printable, table
from cli.registering import gateway_command, place_variables
from config.place import CONFIG_VARIABLE

ROLES: dict[str, Role] = {"installed": "good", "absent": "dim", "namesake": "warning", "off": "warning"}

host_option = click.option("--host", type=click.Choice(HOSTS), default=CLAUDE, show_default=True, help="Which host.")
scope_option = click.option(
    "--scope",
    type=click.Choice(SCOPES),
    default="user",
    show_default=True,
    help="The user's own file, or that of the project in the working directory.",
)
print_option = click.option("--print", "only_print", is_flag=True, help="Show what would change, and change nothing.")


@click.group("hook", invoke_without_command=True, short_help="Memories beside the host's own tools.")
@click.option("--host", default="", help="Who calls: claude or codex.")
@click.pass_context
def hook(context: click.Context, host: str) -> None:
    """Bring memories to the tools that a host has built in (Read, Grep, Glob, Bash).

    Without a subcommand it is what the host runs after each of them: the event comes on stdin, the answer goes to
    stdout, and it always ends with 0.

    \b
    Examples:
      mms hook install
      mms hook status
    """
    if context.invoked_subcommand is not None:
        return
    if is_terminal(sys.stdin):
        click.echo(context.get_help())
        return
    # Reached after options of the program only (`mms --config PATH hook`); the short way is in `entry`.
    from cli.hook import run

    config = context.find_root().params.get("config")
    if config:
        os.environ[CONFIG_VARIABLE] = config
    context.exit(run(["--host", host]))


@hook.command("install", short_help="Let a host run the hook.")
@host_option
@scope_option
@click.option("--matcher", help="Tools after which it runs, as the host writes them (default: hook.surface_tools).")
@click.option("--replace", is_flag=True, help="Put it in the place of an entry of memtomem-stm, or one made by hand.")
@print_option
@answers
def install(host: str, scope: str, matcher: str | None, replace: bool, only_print: bool) -> Answer:
    """Write the hook into a host's file of hooks; the previous file stays beside it as .bak.

    An entry that is there already is brought up to date. Everything else in the file stays as it is.

    \b
    Examples:
      mms hook install
      mms hook install --host codex --print
      mms hook install --scope project --matcher "Read|Grep"
    """
    place = current_place()
    found = _host(host, scope)
    wanted = matcher if matcher is not None else default_matcher(host, usable_settings(place).settings.hook)
    if not wanted:
        text = f"hook.surface_tools names no tool of {found.title}; name one there or give --matcher"
        raise Failure("no_tools", text)
    command = command_line(gateway_command(), host, place_variables(place))
    in_toml = toml_entries(found)
    if in_toml and not replace:
        raise _occupied(toml_of(found).path, in_toml[0])

    def edit(text: str) -> str:
        return installed(text, command, wanted, stated=matcher is not None, replace=replace)

    try:
        return _edited(found, edit, "installed", in_toml, only_print=only_print)
    except Occupied as occupied:
        raise _occupied(found.source.path, occupied.entry) from None


@hook.command("uninstall", short_help="Take the hook out of a host.")
@host_option
@scope_option
@print_option
@answers
def uninstall(host: str, scope: str, only_print: bool) -> Answer:
    """Take the hook out of a host's file of hooks. Everything else in the file stays as it is.

    \b
    Example:
      mms hook uninstall
    """
    found = _host(host, scope)
    in_toml = [entry for entry in toml_entries(found) if entry.kind == "ours"]
    before = backup(found.source)
    return _edited(found, lambda text: uninstalled(text, before), "removed", in_toml, only_print=only_print)


@hook.command("status", short_help="Where the hook is installed.")
@answers
def status() -> Answer:
    """Where the hook is installed, and whether it can work there. Exit code 1 when it cannot.

    \b
    Example:
      mms hook status
    """
    found = look(os.environ, Path.cwd())
    settings = usable_settings(current_place()).settings.hook
    missing = without_gateway(found, settings, os.environ, Path.cwd())
    said = [(f"{one.host.title} ({one.host.scope}): {one.message}", one.fix) for one in found if one.message]
    said += [(missing, REGISTER)] if missing else []
    bad = [one for one in found if one.state in ("broken", "unreadable")]
    if not any(one.state != "absent" for one in found):
        said.append(("The hook is installed nowhere", "mms hook install"))
    return Answer(
        data={"hooks": [one.row for one in found], "notes": [missing] if missing else []},
        text=table(("HOST", "SCOPE", "STATE", "MATCHER", "FILE"), map(_row, found)),
        talk="\n".join(f"{text}{f'; `{fix}`' if fix else ''}" for text, fix in said),
        exit_code=FAILED if bad else 0,
        error="hook_broken" if bad else "",
        message="; ".join(one.message for one in bad),
    )


def _row(found: Found) -> tuple[object, ...]:
    state = Cell(found.state, ROLES.get(found.state, "bad"))
    return found.host.name, found.host.scope, state, found.matcher, found.path


def _host(name: str, scope: str) -> HookHost:
    return hook_host(name, scope, os.environ, Path.cwd())


def _occupied(path: Path, entry: Entry) -> Failure:
    text = f"{path} runs `{printable(entry.command)}` already; --replace puts this hook in its place"
    return Failure("occupied", text)


def _edited(
    host: HookHost, edit: Callable[[str], str], done: str, in_toml: Sequence[Entry], *, only_print: bool
) -> Answer:
    """Changes the host's file, and takes entries out of Codex's other one; or shows what that would be."""
    path = str(host.source.path)
    data = {"host": host.name, "scope": host.scope, "path": path}
    edits = [(host.source, edit)]
    if in_toml:
        edits.append((toml_of(host), lambda text: without(text, in_toml)))
    if only_print:
        shown = "\n".join(line for source, one in edits for line in _diff(str(source.path), *preview(source, one)))
        return Answer(
            data={**data, "state": "would_change" if shown else "unchanged", "diff": shown},
            text=shown,
            talk="" if shown else f"{path} would stay as it is.",
        )
    for source, one in edits:
        preview(source, one)  # if one of them cannot be changed, none is
    changed = [change(source, one) for source, one in edits]
    if not any(changed):
        state = "unchanged" if done == "installed" else "absent"
        talk = f"{path} has it already." if done == "installed" else f"{path} has no hook of ours."
        return Answer(data={**data, "state": state}, talk=talk)
    talk = f"{host.title}: installed in {path}; {host.after}" if done == "installed" else f"Removed from {path}."
    return Answer(data={**data, "state": done}, talk=talk)


def _diff(path: str, before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    return ["\t".join(map(printable, line.split("\t"))) for line in lines]
