"""From an actor's name to the address of its socket."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import zmq

from bus.errors import ConfigError
from bus.replicas import actor_of

PROBE_SECONDS = 0.1
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,15}")


@dataclass(frozen=True)
class Runtime:
    """The place where the actors of one cluster meet.

    Attributes:
        directory: private directory of the ipc sockets; `None` for actors in this process (tests, embedding).
    """

    directory: Path | None

    def address(self, actor: str) -> str:
        """The ZeroMQ address of an actor.

        Raises:
            ConfigError: the name is not one of an actor, or the path is too long for a socket.
        """
        if not _NAME.fullmatch(actor):
            raise ConfigError(f"{actor!r} is not an actor's name")
        if self.directory is None:
            return f"inproc://{actor}"
        path = self.directory / f"{actor}.sock"
        if len(str(path).encode()) > zmq.IPC_PATH_MAX_LEN:
            raise ConfigError(
                f"the socket path {path} is longer than {zmq.IPC_PATH_MAX_LEN} bytes; set MMS_RUNTIME_DIR"
            )
        return f"ipc://{path}"

    def replicas_of(self, actor: str) -> list[str]:
        """The replicas of an actor that listen here, whatever the configuration says of their number. Blocks."""
        if self.directory is None:
            return []
        found = (path for path in self.directory.glob(f"{actor}*.sock") if actor_of(path.stem) == actor)
        return sorted(path.stem for path in found if _is_listened_on(path))


def _is_listened_on(path: Path) -> bool:
    """Whether a socket file is more than what a killed process has left."""
    import socket  # which a hook, that asks for no replicas, does without

    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
