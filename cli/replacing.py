"""A gateway that finds a cluster of another version: it takes its place when nobody else uses it. On the way of a
gateway's start, so it imports next to nothing."""

from __future__ import annotations

import contextlib
import os
import signal

from bus.build import build_id
from bus.census import Running, is_stopping, running, was_pinned
from bus.envelope import WIRE_VERSION
from bus.errors import VersionMismatch
from cli.cluster import STOP_SECONDS, ensure_cluster, supervisor_pid, wait_for_end
from config.place import Place


def join_cluster(place: Place) -> None:
    """As `ensure_cluster`, for a gateway that begins.

    A cluster that was started from other code (before an update, say) and that no gateway holds on to is replaced, in
    the mode it had. One of the same wire version that is in use is joined as it is; `mms ps` shows the difference.

    Raises:
        VersionMismatch: it speaks another wire version, and others use it.
        ConfigError: a directory of the place cannot be used.
    """
    pid = supervisor_pid(place)
    found = running(place.locks, pid) if pid and not is_stopping(place.locks, pid) else None
    if found is None or (found.wire == WIRE_VERSION and (found.holders or found.build == build_id())):
        ensure_cluster(place)
        return
    if found.holders:
        raise VersionMismatch(_in_use(found, pid))
    mode = "pinned" if was_pinned(place.locks) else "background"
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    wait_for_end(place, pid, STOP_SECONDS)
    ensure_cluster(place, mode=mode)


def _in_use(found: Running, pid: int) -> str:
    users = "1 gateway uses it" if found.holders == 1 else f"{found.holders} gateways use it"
    return (
        f"the running cluster (process {pid}, build {found.build}) speaks wire version {found.wire}, this gateway "
        f"{WIRE_VERSION}, and {users}: close its clients and start this one again, or run `mms restart` now"
    )
