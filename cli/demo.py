"""`mms demo`: the product at work on real input, in a scratch home that is gone afterwards.

It drives the gateway as an MCP client does, and runs `mms` commands as a person would.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import click

from actors import ACTORS
from cli.output import Answer, Failure, answers, colour, style

LOG = "ledger/nightly_import.log"
QUIET_LOG = "orders/warehouse_sync.log"
READY_SECONDS = 30.0
IDLE_SECONDS = 60
SHOWN_LINES = 15
SHOWN_CHARS = 118
NOTES = (
    (
        "Nightly import of the ledger",
        "The nightly ledger import logs ModuleNotFoundError for legacy_rates since March. It is harmless: "
        "rates come from the new service, and the import goes on without that module.",
    ),
    ("Parking", "The garage code changes on the first of each month; ask the front desk."),
    ("Release calendar", "Releases go out on Tuesdays; nothing is deployed during the last week of a quarter."),
)
# A real program's own log: Python telling what it imports, with a real traceback in the middle.
PROGRAM = (
    "import asyncio, email.message, json, logging, http.client, xml.dom.minidom, sqlite3\n"
    "import traceback\n"
    "try:\n    import legacy_rates\nexcept ImportError:\n    traceback.print_exc()\n"
    "import unittest, ctypes, decimal, multiprocessing.pool, tarfile, zipfile, csv, smtplib, ftplib\n"
)
IMPORTANT = re.compile(r"Traceback|Error\b")
NEXT_OFFSET = re.compile(r'stm_proxy_read_more\(key="([^"]+)", offset=(\d+)\)')
FOOTER = "\n---\n[progressive: chars="


class Shown(NamedTuple):
    """A response as the client got it: the server's text, and the memory block if there is one."""

    text: str
    memories: str


@click.command()
@answers
def demo() -> Answer:
    """Watch the product at work, on real input, in under a minute.

    \b
    Example:
      mms demo
    """
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _interrupt)
    with _scratch() as home:
        try:
            asyncio.run(_Demo(home).run())
        except ExceptionGroup as group:  # the client's task group wraps what ends it
            raise _first(group) from None
    return Answer(text=_closing())


@contextmanager
def _scratch() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="mms-demo-"))
    try:
        yield home
    finally:
        _mms(home, "down", check=False)
        shutil.rmtree(home, ignore_errors=True)


class _Demo:
    """One run. Each step prints what it does and what came of it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._files = home / "files"
        self._repository = _repository()
        self._client: Any = None

    async def run(self) -> None:
        self._make_files()
        self._cluster()
        self._upstreams()
        self._remember()
        async with _client(self._home) as self._client:
            await self._catalogue()
            await self._git()
            shown = await self._shorten()
            await self._read_back(shown)
            await self._memory(shown)
            await self._silence()
            await self._repeat(shown)
        self._figures()

    def _make_files(self) -> None:
        for name in (LOG, QUIET_LOG):
            (self._files / name).parent.mkdir(parents=True, exist_ok=True)
        for name, program in ((LOG, PROGRAM), (QUIET_LOG, PROGRAM.replace("legacy_rates", "shelf_scanner"))):
            # -S -E: the same log on every machine, whatever is installed there.
            run = subprocess.run([sys.executable, "-v", "-S", "-E", "-c", program], capture_output=True, check=False)
            (self._files / name).write_bytes(run.stderr)

    def _cluster(self) -> None:
        _heading("The cluster", "five actors, each a process of its own, talking over ZeroMQ")
        # In the background, not pinned: whatever happens to this process, the cluster ends by itself.
        start = "from cli.cluster import ensure_cluster; from config.place import Place"
        code = f"{start}; ensure_cluster(Place.from_environment())"
        subprocess.run([sys.executable, "-P", "-c", code], env=_environment(self._home), check=True)
        self._until("the cluster", self._all_ready)
        _command(self._home, "ps")

    def _all_ready(self) -> bool:
        actors = json.loads(_mms(self._home, "ps", "--json", check=False)).get("actors", [])
        return len(actors) > len(ACTORS) and all(actor["state"] == "ready" for actor in actors)

    def _upstreams(self) -> None:
        _heading("Two MCP servers behind the gateway", "mms add NAME -- COMMAND …")
        server = ["--", sys.executable, "-P", "-m", "cli.demo_server", str(self._files)]
        _mms(self._home, "add", "files", "--prefix", "fs", *server)
        if self._repository is not None:
            git = ["--", sys.executable, "-P", "-m", "mcp_server_git"]
            _mms(self._home, "add", "git", "--prefix", "git", *git)
        else:
            _say("(git, a repository, or mcp-server-git is missing here: the file server does the work alone)")
        self._until("a server", self._servers_ready)
        _command(self._home, "list")

    def _servers_ready(self) -> bool:
        return all(one["state"] == "ready" for one in json.loads(_mms(self._home, "list", "--json"))["upstreams"])

    def _until(self, what: str, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + READY_SECONDS
        while not ready():
            if time.monotonic() > end:
                raise Failure("demo_failed", f"{what} did not become ready within {READY_SECONDS:g} s")
            time.sleep(0.1)

    def _remember(self) -> None:
        for title, text in NOTES:
            _mms(self._home, "memory", "add", text, "--title", title)

    async def _catalogue(self) -> None:
        names = [tool.name for tool in (await self._client.list_tools()).tools]
        own = [name for name in names if name.startswith("stm_")]
        _heading("A client connects", "the official MCP client, on `mms gateway`")
        _say(f"{len(names) - len(own)} proxied tools, {len(own)} of our own: {', '.join(names[:4])}, … {own[0]}, …")

    async def _git(self) -> None:
        if self._repository is None:
            return
        shown = await self._call("git__git_log", repo_path=str(self._repository), max_count=3)
        _heading("A public server answers", "mcp-server-git from PyPI, on this repository: git_log")
        _excerpt(shown.text)

    async def _shorten(self) -> Shown:
        original = self._text(LOG)
        shown = await self._call("fs__read_file", path=LOG)
        _heading("A large response, cut to its budget", f"read_file {LOG}: the log of a real program")
        _excerpt(shown.text)
        important = [line for line in original.splitlines() if IMPORTANT.search(line)]
        kept = sum(line in shown.text for line in important)
        _say(
            f"{len(original):,} characters became {len(shown.text):,} "
            f"({len(shown.text) / len(original):.0%}); {kept} of {len(important)} error lines are in it."
        )
        return shown

    async def _read_back(self, shown: Shown) -> None:
        found = NEXT_OFFSET.search(shown.text)
        if found is None:
            raise Failure("demo_failed", "the shortened response shows no key to read on with")
        key, offset, pages = found[1], 0, []
        while True:
            page = (await self._call("stm_proxy_read_more", key=key, offset=offset)).text
            pages.append(page.split(FOOTER)[0])
            more = NEXT_OFFSET.search(page, page.rfind(FOOTER))
            if more is None:
                break
            offset = int(more[2])
        text, original = "".join(pages), self._text(LOG)
        if text != original:
            raise Failure("demo_failed", "what was read back is not the original")
        _heading("Nothing is lost", "stm_proxy_read_more, page after page, to the last byte")
        digest = hashlib.sha256(text.encode()).hexdigest()
        _say(f"{len(pages)} pages, {len(text.encode()):,} bytes, SHA-256 {digest[:16]}…: the same as the file's.")
        passage = (await self._call("stm_proxy_read_more", key=key, find="legacy_rates")).text
        _say(f'Or one call that searches, find="legacy_rates": {len(passage):,} characters instead of {len(text):,}.')

    async def _memory(self, shown: Shown) -> None:
        found = re.search(r"_surfacing_id: (\S+)_", shown.memories)
        memory = re.search(r"^- \*\*.*`([0-9a-f-]+)`", shown.memories, re.MULTILINE)
        if found is None or memory is None:
            raise Failure("demo_failed", "no memory came beside the log, although one fits")
        _heading("What was learned last week comes along", "nobody asked for it: the memory fits the call")
        _excerpt(shown.memories)
        answer = await self._call(
            "stm_surfacing_feedback", surfacing_id=found[1], memory_id=memory[1], rating="helpful"
        )
        _say(f"The agent rates it: {answer.text}")

    async def _silence(self) -> None:
        shown = await self._call("fs__read_file", path=QUIET_LOG)
        if shown.memories:
            raise Failure("demo_failed", "a memory came beside a response that it does not fit")
        _heading("And silence where nothing fits", f"read_file {QUIET_LOG}")
        _say(f"{len(shown.text):,} characters, no memory: none of the {len(NOTES)} notes is about it.")

    async def _repeat(self, shown: Shown) -> None:
        again = await self._call("fs__read_file", path=LOG)
        if not json.loads(_mms(self._home, "cache", "stats", "--json"))["hits"]:
            raise Failure("demo_failed", "the repeated call did not come from the cache")
        if again.text != shown.text:
            raise Failure("demo_failed", "the repeated call was answered in other words")
        _heading("Asked again, answered from the cache", "the same bytes; the server was not asked a second time")
        _command(self._home, "cache", "stats")

    def _figures(self) -> None:
        _heading("What it saved, by SQL", "every event is in DuckDB")
        _command(
            self._home,
            "sql",
            "SELECT tool, count(*) AS calls, sum(original_tokens) AS tokens_in, sum(delivered_tokens) AS tokens_out, "
            "round(100 - 100 * sum(delivered_tokens) / sum(original_tokens)) AS saved_percent "
            "FROM call GROUP BY tool ORDER BY tokens_in DESC",
        )

    async def _call(self, tool: str, /, **arguments: Any) -> Shown:
        result = await self._client.call_tool(tool, arguments)
        texts = [block.text for block in result.content if block.type == "text"]
        if result.is_error:
            raise Failure("demo_failed", f"{tool}: {' '.join(texts)[:300]}")
        memories = [text for text in texts if "<surfaced-memories>" in text]
        return Shown("".join(text for text in texts if text not in memories), "".join(memories))

    def _text(self, name: str) -> str:
        return (self._files / name).read_text(encoding="utf-8", errors="replace")


@asynccontextmanager
async def _client(home: Path) -> AsyncIterator[Any]:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    gateway = StdioServerParameters(command=sys.executable, args=["-P", "-m", "cli", "gateway"], env=_environment(home))
    async with Client(stdio_client(gateway)) as client:
        yield client


def _interrupt(number: int, frame: object) -> None:
    """A closed terminal ends the demonstration as Ctrl-C does: with everything cleaned up."""
    raise KeyboardInterrupt


def _first(group: ExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, ExceptionGroup) else error


def _repository() -> Path | None:
    """The git repository to show, when there is everything that it takes."""
    if shutil.which("git") is None or find_spec("mcp_server_git") is None:
        return None
    here = Path(__file__).resolve().parent.parent
    run = subprocess.run(["git", "-C", str(here), "log", "-1", "--oneline"], capture_output=True, check=False)
    return here if run.returncode == 0 else None


def _environment(home: Path) -> dict[str, str]:
    """A place of its own: nothing of the person's own cluster or settings is touched."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMTOMEM_STM_", "MMS_"))}
    own = {"MEMTOMEM_STM_HOME": str(home / "home"), "MEMTOMEM_STM_BUS__IDLE_EXIT_SECONDS": str(IDLE_SECONDS)}
    return {**kept, **own}


def _mms(home: Path, *arguments: str, check: bool = True) -> str:
    """Runs an `mms` command in the scratch home; returns its stdout."""
    run = subprocess.run(
        [sys.executable, "-P", "-m", "cli", *arguments],
        env=_environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if check and run.returncode != 0:
        raise Failure("demo_failed", f"mms {arguments[0]}: {run.stderr.strip() or run.stdout.strip()}")
    return run.stdout


def _command(home: Path, *arguments: str) -> None:
    """Shows a command and its output."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    _say(style(f"$ mms {shown}", "dim"))
    _say(_mms(home, *arguments).rstrip())


def _heading(title: str, line: str) -> None:
    click.echo(f"\n{style(f'■ {title}', 'heading')}  {style(line, 'dim')}", color=colour())


def _say(text: str) -> None:
    for line in text.splitlines():
        click.echo(f"  {line}", color=colour())


def _excerpt(text: str) -> None:
    """The beginning, what is important, and the end of a text, as a frame."""
    lines = text.strip("\n").splitlines()
    if len(lines) <= SHOWN_LINES:
        shown = [("", line) for line in lines]
    else:
        edge = SHOWN_LINES // 3
        important = next((n for n, line in enumerate(lines) if IMPORTANT.search(line)), len(lines) // 2)
        wanted = {*range(edge), *range(important - 1, important + edge), *range(len(lines) - edge, len(lines))}
        shown = []
        for number, line in enumerate(lines):
            if number in wanted:
                skipped = number and number - 1 not in wanted
                shown.append(("…" if skipped else "", line))
    for gap, line in shown:
        if gap:
            click.echo(f"  {style('│ …', 'dim')}", color=colour())
        for part in textwrap.wrap(line, SHOWN_CHARS) or [""]:
            click.echo(f"  {style('│', 'dim')} {part}", color=colour())


def _closing() -> str:
    return (
        "\nAll of it is gone again: no process runs, nothing is left on disk. What to do next:\n"
        "  mms add NAME --prefix P -- COMMAND …   put a server of your own behind the gateway\n"
        "  mms gateway                            what to enter as the command in your MCP client\n"
        "  mms --help                             everything else"
    )
