"""Ownership of a name by one process: an advisory lock that the kernel drops when its owner dies, however it dies."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from bus.errors import AlreadyRunning

TRIES = 20
PAUSE_SECONDS = 0.005
"""Whoever only asks for the owner holds the lock for some microseconds, which must not look like an owner."""


class OwnerLock:
    """Held from `acquire` until `release` or the end of the process. The file holds the owner's process id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def acquire(self) -> None:
        """Takes the lock, without waiting for an owner to end.

        Raises:
            AlreadyRunning: another process has it.
            OSError: the file cannot be opened, locked or written.
        """
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            is_ours = _locked(fd)
        except OSError:  # a file system without locks
            os.close(fd)
            raise
        if not is_ours:
            os.close(fd)
            owner = owner_of(self.path)
            raise AlreadyRunning(f"{self.path.stem} is already running (process {owner}); `mms ps` shows the cluster")
        self._fd = fd
        try:
            self.name_owner(os.getpid())
        except OSError:
            self.release()
            raise

    @classmethod
    def adopt(cls, path: Path, fd: int) -> OwnerLock:
        """The lock that the process before has taken for this one: it came as an open descriptor."""
        lock = cls(path)
        lock._fd = fd
        os.set_inheritable(fd, False)
        lock.name_owner(os.getpid())
        return lock

    def name_owner(self, pid: int) -> None:
        """Writes down whose the lock is: this process, or the one that it is handed over to."""
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, str(pid).encode(), 0)

    @property
    def fd(self) -> int:
        """The open descriptor; -1 while the lock is not held."""
        return self._fd

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _locked(fd: int) -> bool:
    for _ in range(TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _is_shared(fd):
                return False
            time.sleep(PAUSE_SECONDS)
        else:
            return True
    return False


def _is_shared(fd: int) -> bool:
    """Whether nobody but those who ask for the owner hold the lock: they leave room for one more of them."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True


def owner_of(path: Path) -> int:
    """The process id in a lock file that is held at this moment; 0 when nobody holds it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(fd, 32, 0)
        return int(text) if text.isdigit() else 0
    else:
        return 0
    finally:
        os.close(fd)
