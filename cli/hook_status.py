"""Where the hook is installed, and whether it can work there. Reads, changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bus.errors import ConfigError
from cli.client_file import read_document
from cli.hook_entries import Entry, entries
from cli.hook_event import CLAUDE, CODEX
from cli.hook_hosts import SCOPES, HookHost, hook_hosts
from cli.host_entry import is_gateway
from cli.hosts import Source, hosts, project_sources
from cli.output import printable
from config.schema import HookSettings

_RUNNING = ("installed", "doubled", "namesake")
REGISTER = "mms register --client claude-code"
State = Literal["installed", "absent", "off", "broken", "doubled", "namesake", "unreadable"]


class Found(NamedTuple):
    """One place where a hook can be.

    Attributes:
        state: `off` = the host runs no hooks at all; `broken` = its program does not exist; `doubled` = it runs more
            than once; `namesake` = an entry that memtomem-stm or a person has written, and no other.
        message: what is wrong; fix: a command that helps.
    """

    host: HookHost
    path: Path
    state: State
    matcher: str = ""
    command: str = ""
    message: str = ""
    fix: str = ""

    @property
    def row(self) -> dict[str, Any]:
        return {
            "host": self.host.name,
            "scope": self.host.scope,
            "path": str(self.path),
            "state": self.state,
            "matcher": self.matcher,
            "command": self.command,
            "message": self.message,
            "next": self.fix,
        }


def look(env: Mapping[str, str], folder: Path) -> list[Found]:
    """Every place, in the order of the hosts. In the home directory the project's file may be the user's."""
    places = {host.source.path: host for host in reversed(hook_hosts(env, folder))}
    found: list[Found] = []
    for host in reversed(places.values()):
        one = _look(host, env)
        if host.scope in SCOPES or one.state != "absent":
            found.append(_doubled(one, found))
    return found


def _doubled(one: Found, before: list[Found]) -> Found:
    """The same, or, where another file makes the host run the hook as well, with that said."""
    others = [other for other in before if other.host.name == one.host.name and other.state in _RUNNING]
    # Claude Code runs equal commands once.
    if one.state not in _RUNNING or not others or (one.host.name == CLAUDE and one.command == others[0].command):
        return one
    fix = f"mms hook uninstall --host {one.host.name} --scope {one.host.scope}" if one.host.scope in SCOPES else ""
    text = f"{others[0].path} has it as well, so that memories are looked for twice"
    return one._replace(state="doubled", message=text, fix=fix)


def toml_of(host: HookHost) -> Source:
    """The other file in which Codex looks for hooks."""
    return host.source._replace(path=host.source.path.with_name("config.toml"), form="toml")


def toml_entries(host: HookHost) -> list[Entry]:
    """The entries in the other file in which Codex looks for hooks.

    Raises:
        ConfigError: that file cannot be read.
    """
    return entries(read_document(toml_of(host))) if host.name == CODEX else []


def without_gateway(found: list[Found], hook: HookSettings, env: Mapping[str, str], folder: Path) -> str:
    """What is missing where Claude Code runs the hook and starts no gateway; empty where it does both."""
    if not any(one.host.name == CLAUDE and one.state != "absent" for one in found) or _has_gateway(env, folder):
        return ""
    text = "Claude Code starts no gateway, so memories of the hook cannot be rated"
    return f"{text}, nor the rest of replaced output (hook.compression) be read" if hook.compression.enabled else text


def _has_gateway(env: Mapping[str, str], folder: Path) -> bool:
    """Whether Claude Code starts the gateway anywhere: for the user, for one of its projects, or for this one."""
    user = hosts(env)["claude-code"].user
    try:
        document, shipped = read_document(user), read_document(project_sources(folder)[0])
    except ConfigError:
        return True  # nothing is known
    projects = document.get("projects")
    places = [document, shipped, *(projects.values() if isinstance(projects, dict) else ())]
    lists = [place.get(user.key) for place in places if isinstance(place, dict)]
    return any(is_gateway(entry) for servers in lists if isinstance(servers, dict) for entry in servers.values())


def _look(host: HookHost, env: Mapping[str, str]) -> Found:
    path = host.source.path
    again = f"mms hook install --host {host.name} --scope {host.scope} --replace" if host.scope in SCOPES else ""
    try:
        document = read_document(host.source)
        listed = [(path, entry) for entry in entries(document)]
        listed += [(toml_of(host).path, entry) for entry in toml_entries(host)]
        switches = read_document(toml_of(host)) if host.name == CODEX else document
    except ConfigError as error:
        return Found(host, path, "unreadable", message=error.message)
    if not listed:
        return Found(host, path, "absent")
    path, entry = next(((p, e) for p, e in listed if e.kind == "ours"), listed[0])
    found = Found(host, path, "installed", entry.matcher, entry.command)
    if shutil.which(entry.program, path=env.get("PATH")) is None:
        text = f"it runs {printable(entry.program)}, which does not exist"
        return found._replace(state="broken", message=text, fix=again)
    if len(listed) > 1:
        text = f"`mms hook` stands there {len(listed)} times, so memories are looked for as often"
        return found._replace(state="doubled", message=text, fix=again)
    if _is_off(host, switches):
        text = "the host runs no hooks: " + ("disableAllHooks is true" if host.name == CLAUDE else "features.hooks is")
        return found._replace(state="off", message=text + ("" if host.name == CLAUDE else " false"))
    if entry.kind == "namesake":
        text = "it was written by memtomem-stm or by hand, and works as long as the host finds that program"
        return found._replace(state="namesake", message=text, fix=again)
    return found


def _is_off(host: HookHost, document: Mapping[str, Any]) -> bool:
    if host.name == CLAUDE:
        return document.get("disableAllHooks") is True
    features = document.get("features")
    return isinstance(features, Mapping) and features.get("hooks", features.get("codex_hooks")) is False
