"""The command group. A command's module is imported when the command is used, so that `mms --help` answers at once."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from config.problems import did_you_mean, printable


class Entry(NamedTuple):
    """Where a command is, and its line in the list of commands (the first line of its own help)."""

    module: str
    attribute: str
    summary: str


COMMANDS = {
    "init": Entry("init", "init", "First set-up: import servers, register the gateway."),
    "import": Entry("importing", "import_servers", "Add the servers that your MCP clients know."),
    "register": Entry("registering", "register", "Let MCP clients start the gateway."),
    "unregister": Entry("registering", "unregister", "Take the gateway out of MCP clients."),
    "add": Entry("live_upstreams", "add", "Add an upstream server."),
    "list": Entry("live_upstreams", "list_upstreams", "List the upstream servers."),
    "show": Entry("upstream_keys", "show", "Every key of one upstream server."),
    "set": Entry("upstream_keys", "set_keys", "Change keys of one upstream server."),
    "remove": Entry("upstreams", "remove", "Remove an upstream server."),
    "enable": Entry("upstreams", "enable", "Start and show an upstream server again."),
    "disable": Entry("upstreams", "disable", "Stop an upstream server and keep its entry."),
    "login": Entry("login", "login", "Log in at an upstream server (OAuth)."),
    "surfacing": Entry("upstreams", "surfacing", "Show or set surfacing for an upstream server."),
    "config": Entry("settings", "config", "The configuration: where it is, whether it is right, what it says."),
    "up": Entry("lifecycle", "up", "Start the background cluster and wait until it is ready."),
    "down": Entry("lifecycle", "down", "Stop the background cluster."),
    "restart": Entry("lifecycle", "restart", "Restart one actor, or the whole cluster."),
    "ps": Entry("lifecycle", "ps", "One line per actor."),
    "health": Entry("health", "health", "Is everything working? Exit code 1 when something is down."),
    "call": Entry("call", "call", "Call a tool the way a client would: cached, shortened, with memories."),
    "tools": Entry("tools", "tools", "The catalogue: every proxied tool, as clients see it."),
    "doctor": Entry("doctor", "doctor", "What is wrong, and what to do about it."),
    "stats": Entry("stats", "stats", "What was saved: tokens, money, time; and what surfacing did."),
    "trace": Entry("trace", "trace", "One call's way through the actors; without an id: the latest calls."),
    "tune": Entry("tune", "tune", "What feedback suggests to change; --apply changes it."),
    "selection": Entry("selection", "selection", "Which tools were chosen among which: evaluate and label."),
    "sql": Entry("sql", "sql", "Read-only SQL over the analytics store."),
    "cache": Entry("cache", "cache", "The response cache."),
    "memory": Entry("memory", "memory", "The notes that are surfaced."),
    "logs": Entry("logs", "logs", "The structured logs, oldest first."),
    "hook": Entry("hook_admin", "hook", "Memories beside the host's own tools."),
    "demo": Entry("demo", "demo", "Watch the product at work, on real input, in under a minute."),
    "completion": Entry("completion", "completion", "Let your shell complete commands and options."),
    "version": Entry("version", "show_version", "The versions of everything that matters."),
}
"""In the order of `mms --help`."""


class LazyGroup(click.Group):
    """Knows its commands by name and summary; imports one when it runs or shows its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["gateway", *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "gateway":
            return gateway
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(f"cli.{entry.module}"), entry.attribute)
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """By names and summaries alone: nobody waits for imports when pressing the Tab key."""
        rows = [("gateway", gateway.get_short_help_str(limit=100))]
        rows += [(name, entry.summary) for name, entry in COMMANDS.items()]
        found = [CompletionItem(name, help=summary) for name, summary in rows if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name[:1] != "-" and name not in ("gateway", *COMMANDS):
            hint = did_you_mean(name, ("gateway", *COMMANDS)) or "; `mms --help` lists them"
            ctx.fail(f"No such command {printable(name)!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [("gateway", gateway.get_short_help_str(limit=100))]
        rows += [(name, entry.summary) for name, entry in COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`mms COMMAND --help` shows a command's options and an example.",
)
@click.option("--config", metavar="PATH", help="Configuration file (default: ~/.memtomem/stm_proxy.json).")
@click.option("--debug", is_flag=True, help="Show a traceback when something fails.")
def mms(config: str | None, debug: bool) -> None:
    """memtomem-bus: a gateway between an AI agent and its MCP servers.

    \b
    Example:
      mms up && mms health
    """


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def gateway(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """The MCP gateway on stdin and stdout; what an MCP client starts."""
    # Reached after options of the program only (`mms --config PATH gateway`); the short way is in `entry`.
    from cli.gateway import run as serve

    config = ctx.find_root().params["config"]
    ctx.exit(serve([*(["--config", config] if config else []), *arguments]))


def run(argv: Sequence[str]) -> int:
    """Runs a command line; returns the exit code. Without arguments it shows the help."""
    from cli import output

    return output.run(mms, list(argv) or ["--help"])
