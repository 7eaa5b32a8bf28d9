"""Where one cluster lives: its home, its configuration file, its state and its sockets.

This is the only module that derives a path from the environment.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bus.errors import ConfigError

HOME_VARIABLES = ("MEMTOMEM_STM_HOME", "MEMTOMEM_STM_DATA_DIR")
CONFIG_VARIABLE = "MEMTOMEM_STM_PROXY__CONFIG_PATH"
STATE_VARIABLE = "MMS_STATE_DIR"
RUNTIME_VARIABLE = "MMS_RUNTIME_DIR"
MAX_SOCKET_PATH = 107
LONGEST_SOCKET_NAME = len("/compressor-16.sock")


@dataclass(frozen=True)
class Place:
    """The four paths of a cluster. `state` and `runtime` are created by `prepare`.

    Attributes:
        home: `~/.memtomem`; holds the configuration file and `memories/`.
        config_file: `<home>/stm_proxy.json` unless moved.
        state: `<home>/bus`: every store, log and lock of ours.
        runtime: the directory of the sockets, 0700 and short; `None` when all actors live in this process.
    """

    home: Path
    config_file: Path
    state: Path
    runtime: Path | None

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None, config_file: str | Path | None = None) -> Place:
        """The place that this environment means; creates nothing.

        Args:
            config_file: overrides `MEMTOMEM_STM_PROXY__CONFIG_PATH`.
        """
        env = os.environ if env is None else env
        named = next((env[name] for name in HOME_VARIABLES if env.get(name)), "~/.memtomem")
        home = _absolute(named, env)
        config = _absolute(str(config_file or env.get(CONFIG_VARIABLE) or home / "stm_proxy.json"), env)
        state = _absolute(env[STATE_VARIABLE], env) if env.get(STATE_VARIABLE) else home / "bus"
        runtime = _absolute(env[RUNTIME_VARIABLE], env) if env.get(RUNTIME_VARIABLE) else None
        return cls(home, config, state, runtime or _runtime_for(state, config, env))

    def with_state(self, state: Path, env: Mapping[str, str] | None = None) -> Place:
        """The same configuration with stores and sockets of its own."""
        env = os.environ if env is None else env
        return replace(self, state=state, runtime=_runtime_for(state, self.config_file, env))

    def environment(self) -> dict[str, str]:
        """The variables that make a child process find this very place."""
        return {
            "MEMTOMEM_STM_HOME": str(self.home),
            CONFIG_VARIABLE: str(self.config_file),
            STATE_VARIABLE: str(self.state),
            RUNTIME_VARIABLE: str(self.runtime or ""),
        }

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def groups(self) -> Path:
        """Where the process groups of upstream servers are written down."""
        return self.state / "run" / "groups"

    @property
    def tokens(self) -> Path:
        """Where the OAuth tokens of upstream servers are kept."""
        return self.state / "oauth"

    @property
    def locks(self) -> Path:
        return self.state / "run"

    def prepare(self) -> None:
        """Creates home, state and runtime directories, private to the user.

        Raises:
            ConfigError: a directory belongs to somebody else, is a link, or cannot be created.
        """
        for directory in (self.home, self.state, self.logs, self.locks, self.groups, self.runtime):
            if directory is not None:
                private_directory(directory)


def user_home(env: Mapping[str, str]) -> str:
    """The user's home; as the system has it where an environment does not say, such as a service's.

    Raises:
        ConfigError: the system does not know it either (a container under a number of its own).
    """
    if home := env.get("HOME"):
        return home
    import pwd  # a gateway with a HOME starts without it

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise ConfigError(f"HOME is not set, and the system knows no home of user {os.getuid()}; set HOME") from None


def private_directory(path: Path) -> None:
    """Makes `path` a directory of ours with mode 0700.

    Raises:
        ConfigError: it is a link, another user's, or cannot be made or kept private.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        # A file in its place is reported as "File exists", which says less than is known.
        cause = "it is a file" if os.path.isfile(path) else error.strerror
        raise ConfigError(f"cannot use the directory {path}: {cause}") from None
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        # A linked home (~/.memtomem on another disk) is the user's own choice; its target must be the user's too.
        found = path.stat()
    if found.st_uid != os.getuid():
        raise ConfigError(f"the directory {path} belongs to another user; set MEMTOMEM_STM_HOME to one of your own")
    if found.st_mode & 0o077:
        try:
            path.chmod(0o700)
        except OSError as error:
            raise ConfigError(
                f"the directory {path} is open to other users and cannot be closed: {error.strerror}; "
                "set MEMTOMEM_STM_HOME to one of your own"
            ) from None


def _absolute(text: str, env: Mapping[str, str]) -> Path:
    if text == "~" or text.startswith("~/"):
        text = os.path.join(user_home(env), text[2:])
    return Path(os.path.abspath(text))


def _runtime_for(state: Path, config: Path, env: Mapping[str, str]) -> Path:
    """A short private directory that two different places never share."""
    name = "mms-" + hashlib.sha256(f"{state}\0{config}".encode()).hexdigest()[:8]
    base = env.get("XDG_RUNTIME_DIR")
    candidates = [Path(base) / name] if base and Path(base).is_dir() else []
    if not candidates:
        candidates.append(state / "run" / name)
    candidates.append(Path(env.get("TMPDIR") or "/tmp") / f"{name}-{os.getuid()}")  # noqa: S108 (owner is checked)
    for path in candidates:
        if len(str(path).encode()) + LONGEST_SOCKET_NAME <= MAX_SOCKET_PATH:
            return path
    raise ConfigError(
        f"no runtime directory is short enough for a socket path ({MAX_SOCKET_PATH} bytes); set {RUNTIME_VARIABLE}"
    )
