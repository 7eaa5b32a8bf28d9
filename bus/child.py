"""Child processes with a group of their own, a minimal environment, and an end that is certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Mapping
from pathlib import Path

from bus import groups

INHERITED = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM",
    "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
"""What a child gets from our environment: enough to find programs, files, certificates and proxies, and no secret."""

EOF_GRACE_SECONDS = 1.0
TERM_GRACE_SECONDS = 1.0


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The inherited variables, then `extra`."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**inherited, **(extra or {})}


class Child:
    """A running child and its process group. Made by `spawn`."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, group: groups.Group | None, exited: asyncio.Event
    ) -> None:
        self.transport = transport
        self.pid = transport.get_pid()
        self._group = group
        self._exited = exited

    async def stop(self, eof_grace: float = EOF_GRACE_SECONDS) -> None:
        """Closes stdin and waits, then TERM to the group, then KILL to everything that is left of it."""
        stdin = self.transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        if not await self._wait(eof_grace):
            self._signal(signal.SIGTERM)
            if not await self._wait(TERM_GRACE_SECONDS):
                self._signal(signal.SIGKILL)
                await self._wait(TERM_GRACE_SECONDS)
        await self.clean()

    async def clean(self) -> None:
        """Ends what the child has left behind (a background process of a shell, say) and forgets the group."""
        self._signal(signal.SIGKILL)
        if self._group is not None:
            await asyncio.to_thread(groups.kill, self._group)
            groups.forget(self._group)
            self._group = None
        self.transport.close()

    def _signal(self, number: int) -> None:
        # The group keeps its number while any member lives, so this never meets a stranger's group as long as the
        # record exists; afterwards nothing is sent.
        if self._group is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    async def _wait(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._exited.wait(), seconds)
        except TimeoutError:
            return False
        return True


class ChildProtocol(asyncio.SubprocessProtocol):
    """Base of the protocols given to `spawn`: notes the child's exit."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()


async def spawn(
    protocol: ChildProtocol,
    argv: list[str],
    *,
    env: Mapping[str, str],
    cwd: str | None = None,
    records: Path | None = None,
) -> Child:
    """Starts `argv` with pipes on stdin, stdout and stderr, in a session and process group of its own.

    Args:
        env: the whole environment, apart from the mark that is added.
        records: directory where the group is written down, so that others can end it if this process is killed.

    Raises:
        OSError: it cannot be started (missing command, missing folder, no permission).
    """
    mark = secrets.token_hex(8)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.subprocess_exec(
        lambda: protocol,
        *argv,
        env={**env, groups.MARK_VARIABLE: mark},
        cwd=cwd,
        start_new_session=True,
    )
    pid = transport.get_pid()
    group = groups.Group(None, pid, os.getpid(), mark) if records is None else groups.record(records, pid, mark)
    return Child(transport, group, protocol.exited)
