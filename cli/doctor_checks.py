"""The checks of `mms doctor`: from what was found on this machine to a verdict with a next step. Nothing is changed."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from bus.aside import MARK, all_aside
from bus.errors import BusError, ConfigError
from bus.groups import abandoned
from cli.health import Health
from cli.hosts import hosts
from cli.output import count, printable
from cli.registering import registered_entries
from cli.settings import readable_secrets
from config.expand import expand_upstream
from config.load import Loaded
from config.mask import mask_text
from config.notes import is_note
from config.place import Place
from config.schema_surfacing import SurfacingSettings

State = Literal["PASS", "WARN", "FAIL"]

OLDEST, NEWEST = (3, 11), (3, 13)
LITTLE_BYTES = 1_000_000_000
TOO_LITTLE_BYTES = 100_000_000
REINSTALL = "uv tool install --python 3.13 ."
LTM_COMMAND = SurfacingSettings().ltm_mcp_command
RANKS = ("rrf", "none")
"""Score scales of an LTM that say only which result came first."""


class Check(NamedTuple):
    """One verdict. `fix` is a command to run next; empty when there is nothing to do."""

    name: str
    state: State
    detail: str
    fix: str = ""


def check_python(version: tuple[int, int], platform: str) -> Check:
    """Whether this Python and this system are supported."""
    shown = ".".join(map(str, version))
    if platform == "win32":
        return Check("python", "FAIL", "Windows is not supported yet", "wsl --install")
    if version < OLDEST:
        return Check("python", "FAIL", f"Python {shown} is too old; 3.11 to 3.13 are supported", REINSTALL)
    if version > NEWEST:
        return Check("python", "WARN", f"Python {shown} is newer than what is tested, 3.11 to 3.13", REINSTALL)
    return Check("python", "PASS", f"Python {shown} on {platform}")


def check_paths(place: Place) -> Iterator[Check]:
    """Home, state and sockets: whose they are, and who can look into them."""
    for name, folder in (("home", place.home), ("state", place.state), ("sockets", place.runtime)):
        if folder is None:
            continue
        try:
            found = folder.stat()
        except FileNotFoundError:
            yield Check(name, "PASS", f"{folder} (made when it is needed)")
            continue
        except OSError as error:
            yield Check(name, "FAIL", f"{folder}: {error.strerror}", f"ls -ld {quote(folder)}")
            continue
        if not stat.S_ISDIR(found.st_mode):
            yield Check(name, "FAIL", f"{folder} is no directory", f"mv {quote(folder)} {quote(folder)}.old")
        elif found.st_uid != os.getuid():
            yield Check(name, "FAIL", f"{folder} belongs to another user", "export MEMTOMEM_STM_HOME=~/my-memtomem")
        elif not os.access(folder, os.W_OK | os.X_OK):
            # Nobody's rights help where the disk itself takes nothing.
            disk = bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
            text = f"{folder} cannot be written: {'its file system is read-only' if disk else 'its mode'}"
            fix = "export MEMTOMEM_STM_HOME=~/my-memtomem" if disk else f"chmod 700 {quote(folder)}"
            yield Check(name, "FAIL", text, fix)
        elif found.st_mode & 0o077:
            yield Check(name, "WARN", f"{folder} is open to other users", f"chmod 700 {quote(folder)}")
        else:
            yield Check(name, "PASS", str(folder))
    exposed = [path for path in _stored(place.state) if _is_open(path)]
    if exposed:
        more = f" and {len(exposed) - 1} more" if len(exposed) > 1 else ""
        yield Check(
            "modes", "WARN", f"other users can read {exposed[0]}{more}", f"chmod -R go-rwx {quote(place.state)}"
        )
    else:
        yield Check("modes", "PASS", "nobody else can read what is stored")


def check_configuration(place: Place, loaded: Loaded) -> Iterator[Check]:
    """The file and the environment."""
    path = place.config_file
    if loaded.file_error:
        yield Check("configuration", "FAIL", loaded.file_error, "mms config validate")
        return
    found = [problem for problem in loaded.problems if problem.level != "note"]
    for problem in found:
        state: State = "FAIL" if problem.level == "error" else "WARN"
        yield Check("configuration", state, problem.message, f"$EDITOR {quote(path)}")
    if not path.exists():
        if not found:
            yield Check("configuration", "PASS", f"{path} does not exist yet: defaults hold", "mms init")
        return
    exposed = list(readable_secrets(place, loaded))
    for problem in exposed:
        yield Check("configuration", "WARN", problem.message, f"chmod 600 {quote(path)}")
    if not found and not exposed:
        yield Check("configuration", "PASS", str(path))


def check_commands(loaded: Loaded, env: Mapping[str, str]) -> Iterator[Check]:
    """Whether the programs of the upstreams can be found, and their variables are set."""
    for name, upstream in loaded.settings.proxy.upstream_servers.items():
        label = f"command of {printable(name)}"
        if not upstream.enabled:
            continue
        try:
            expanded = expand_upstream(name, upstream, env)
        except ConfigError as error:
            yield Check(label, "FAIL", error.message, f"mms show {quote(name)}")
            continue
        if upstream.transport != "stdio":
            continue
        command = printable(mask_text(upstream.command))
        path = (expanded.env or {}).get("PATH", env.get("PATH"))
        folder = Path(expanded.cwd) if expanded.cwd else Path(env.get("HOME") or "/")
        if not folder.is_dir():
            fix = f"mms set {quote(name)} cwd={quote(env.get('HOME') or '/')}"
            yield Check(label, "FAIL", f"its working directory {printable(str(folder))} does not exist", fix)
        elif _program(expanded.command, path, folder) is None:
            text = f"{command} is not on PATH; install it, or give its full path"
            yield Check(label, "FAIL", text, f"mms set {quote(name)} command=/path/to/{quote(Path(command).name)}")
        else:
            yield Check(label, "PASS", command)


def check_cluster(found: Health | None) -> Iterator[Check]:
    """The running actors and the code that they run."""
    if found is None:
        yield Check("cluster", "PASS", "not running; the first client starts it", "mms up")
        return
    survey = found.survey
    for line in survey.troubled:
        cause = f": {printable(line.last_exit)}" if line.last_exit else ""
        yield Check("cluster", "FAIL", f"the actor {line.name} is {line.state}{cause}", f"mms logs {line.name}")
    if not survey.troubled:
        yield Check("cluster", "PASS", f"{survey.mode}, {len(survey.actors)} processes ready")
    if survey.other_builds:
        names = ", ".join(line.name for line in survey.other_builds)
        yield Check("build", "WARN", f"{names}: other code than this command", "mms restart")
    else:
        yield Check("build", "PASS", f"all run {survey.build}")


def check_upstreams(loaded: Loaded, found: Health | None) -> Iterator[Check]:
    """Each server as the cluster sees it."""
    servers = loaded.settings.proxy.upstream_servers
    if not servers:
        yield Check("upstreams", "PASS", "none yet", "mms add NAME -- COMMAND")
        return
    if not loaded.settings.proxy.enabled:
        text = '"enabled" is false in the configuration, so no tools are shown'
        yield Check("upstreams", "WARN", text, '$EDITOR "$(mms config path)"')
    if found is None:
        yield Check("upstreams", "PASS", f"{len(servers)} configured; a running cluster says more", "mms up")
        return
    if found.catalogue is None:
        yield Check("upstreams", "FAIL", "the upstream actor does not answer", "mms logs upstream")
        return
    if found.catalogue.config_error:
        yield Check("upstreams", "FAIL", printable(found.catalogue.config_error), "mms config validate")
    for server in found.catalogue.servers:
        label = f"upstream {printable(server.name)}"
        error = f": {printable(server.error)}" if server.error else ""
        if server.state in ("failed", "reconnecting"):
            yield Check(label, "FAIL", f"{server.state}{error}", "mms logs upstream")
        elif server.state == "starting":
            yield Check(label, "WARN" if error else "PASS", f"starting{error}", "mms list")
        elif server.state == "disabled":
            yield Check(label, "PASS", "switched off", f"mms enable {quote(server.name)}")
        elif server.breaker != "closed":
            detail = f"ready, but resting after {server.failures} failed calls"
            yield Check(label, "WARN", detail, "mms logs upstream")
        elif server.replacement_error:
            detail = f"its changed connection does not work, the old one serves: {printable(server.replacement_error)}"
            yield Check(label, "FAIL", detail, f"mms show {quote(server.name)}")
        elif server.exposed < server.discovered:
            detail = f"ready, {server.exposed} of {server.discovered} tools shown"
            yield Check(label, "PASS", detail, "mms health")
        else:
            yield Check(label, "PASS", f"ready, {server.exposed} tools")


def check_memory(place: Place, loaded: Loaded, found: Health | None, env: Mapping[str, str]) -> Iterator[Check]:
    """The LTM, what its scores mean, and what our floor means."""
    surfacing = loaded.settings.surfacing
    if not surfacing.enabled:
        yield Check("memory", "PASS", "surfacing is switched off")
        return
    health = found.surfacer if found else None
    if health is not None and health.ltm == "down":
        yield Check("memory", "FAIL", f"the LTM is down: {printable(health.ltm_error)}", "mms logs surfacer")
    elif health is not None and health.breaker == "open":
        yield Check("memory", "WARN", "the LTM failed repeatedly; it is tried again by itself", "mms logs surfacer")
    elif health is not None:
        kind = printable(f"{health.ltm_kind or 'the LTM'} {health.ltm_version}".strip())
        yield Check("memory", "PASS", f"{kind}: {health.ltm}")
    elif surfacing.ltm_mcp_transport != "stdio":
        yield Check("memory", "PASS", f"an LTM over {surfacing.ltm_mcp_transport}")
    elif shutil.which(surfacing.ltm_mcp_command, path=env.get("PATH")):
        yield Check("memory", "PASS", printable(surfacing.ltm_mcp_command))
    elif surfacing.ltm_mcp_command == LTM_COMMAND:
        folder = place.home / "memories"
        below = (path.relative_to(folder) for path in folder.rglob("*"))
        notes = sum(is_note(path.name) and not any(part.startswith(".") for part in path.parts) for path in below)
        text = f"the built-in memory, {count(notes, 'note')} in {folder}"
        yield Check("memory", "PASS", text, "" if notes else 'mms memory add "a note"')
    else:
        shown = printable(surfacing.ltm_mcp_command)
        text = f"the LTM's program {shown} is not on PATH; without surfacing.ltm_mcp_command the built-in memory serves"
        yield Check("memory", "FAIL", text, '$EDITOR "$(mms config path)"')
    scale = printable(health.score_scale) if health else ""
    if scale in RANKS:
        theirs = f"the LTM's scores ({scale}) tell the order of its results, not how well they fit, and decide nothing"
    else:
        theirs = "the LTM's own scores are recorded and decide nothing"
    floor = health.min_score if health and health.min_score else surfacing.min_score
    ours = f"a memory is shown from a relevance of {floor:g} on (0 to 1, our own measure of words in common)"
    yield Check("scores", "PASS", f"{theirs}; {ours}", "mms tune")


def check_stores(place: Place, found: Health | None) -> Iterator[Check]:
    """Whether each database can be opened and read; nothing is written or locked for longer than a moment."""
    names = []
    for path in sorted(place.state.glob("*.db")):
        if fault := _store_fault(path):
            rebuilt = "; when its actor starts, a damaged file is set aside and rebuilt" if fault.damaged else ""
            fix = "mms restart" if fault.damaged else f"ls -l {quote(path)}"
            yield Check("stores", "FAIL", f"{path}: {fault.text}{rebuilt}", fix)
        else:
            names.append(path.stem)
    telemetry = found.telemetry if found else None
    if telemetry is not None and telemetry.store in ("failed", "newer"):
        text = f"the analytics store cannot be used: {printable(telemetry.store_error)}"
        yield Check("stores", "FAIL", text, "mms logs telemetry")
    elif names:
        yield Check("stores", "PASS", ", ".join(names))
    else:
        yield Check("stores", "PASS", "none yet")


def check_disk(place: Place) -> Check:
    """Space where the stores are."""
    folder = next(path for path in (place.state, *place.state.parents) if path.is_dir())
    free = shutil.disk_usage(folder).free
    shown = f"{free / 1e9:.1f} GB free at {folder}"
    fix = f"df -h {quote(folder)}"
    if free < TOO_LITTLE_BYTES:
        return Check("disk", "FAIL", f"{shown}: originals of shortened responses cannot be kept", fix)
    if free < LITTLE_BYTES:
        return Check("disk", "WARN", shown, fix)
    return Check("disk", "PASS", shown)


def check_leftovers(place: Place) -> Iterator[Check]:
    """What crashes have left: files set aside, and records of processes without an owner."""
    aside = all_aside(place.state)
    if aside:
        text = f"{count(len(aside), 'damaged file')} set aside, e.g. {aside[0].name}"
        yield Check("leftovers", "WARN", text, f"rm {quote(place.state)}/*{MARK}*")
    lost = abandoned(place.groups)
    if lost:
        yield Check(
            "leftovers", "WARN", f"{len(lost)} process groups of a dead actor; the next start ends them", "mms up"
        )
    if not aside and not lost:
        yield Check("leftovers", "PASS", "none")


def check_clients(env: Mapping[str, str]) -> Iterator[Check]:
    """Clients that start the gateway, and whether they can."""
    registered = []
    for host in hosts(env).values():
        try:
            entries = registered_entries(host)
        except BusError as error:
            yield Check(f"client {host.name}", "WARN", error.message, f"$EDITOR {quote(host.user.path)}")
            continue
        for entry in entries.values():
            command = str(entry["command"])
            if shutil.which(os.path.expanduser(command), path=env.get("PATH")) is None:
                text = f"it starts {printable(command)}, which does not exist"
                yield Check(f"client {host.name}", "FAIL", text, f"mms register --client {host.name}")
            else:
                registered.append(host.title)
    if registered:
        yield Check("clients", "PASS", ", ".join(registered))
    else:
        yield Check("clients", "PASS", "no client starts the gateway yet", "mms register")


def quote(word: str | Path) -> str:
    """A word for a shell, on one line."""
    return printable(shlex.quote(str(word)))


def python_version() -> tuple[int, int]:
    return sys.version_info[:2]


def _program(command: str, path: str | None, folder: Path) -> str | None:
    """Where a program is; one with a slash is looked for from its working directory."""
    return shutil.which(str(folder / command) if "/" in command else command, path=path)


def _stored(state: Path) -> Iterator[Path]:
    """Every file with content of the user's: stores, logs, secrets. What processes note in run/ is none of it."""
    for root, folders, names in os.walk(state):
        if Path(root) == state:
            folders[:] = [folder for folder in folders if folder != "run"]
        for name in names:
            path = Path(root, name)
            # Logs and journals of a running cluster come and go.
            if path.is_file() and not path.is_symlink():
                yield path


def _is_open(path: Path) -> bool:
    """Whether other users can read a file; one that has just gone is not open."""
    try:
        return bool(path.stat().st_mode & 0o077)
    except FileNotFoundError:
        return False


class StoreFault(NamedTuple):
    """Why a database cannot be read, and whether the file itself is the reason (and not its disk or its rights)."""

    text: str
    damaged: bool


def _store_fault(path: Path) -> StoreFault | None:
    """`None` when it can be read. A locked one is in use, and no fault."""
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=1)
    except sqlite3.Error as error:
        return StoreFault(str(error), False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        damaged = name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT"))
        return None if name in ("SQLITE_BUSY", "SQLITE_LOCKED") else StoreFault(str(error), damaged)
    finally:
        connection.close()
    return None
