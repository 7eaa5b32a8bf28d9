"""Contract of the supervisor."""

from __future__ import annotations

from typing import Literal

from bus.message import Reply, Request

Mode = Literal["background", "pinned", "private"]
ChildStateName = Literal["starting", "ready", "restarting", "down"]


class Held(Reply, frozen=True, kw_only=True):
    """The lease stands."""


class Hold(Request[Held], frozen=True, kw_only=True):
    """A lease on the cluster (watch): one `Held` at once, then nothing until its holder leaves. A background
    cluster stays while anybody holds one."""

    actor = "supervisor"
    reply = Held


class Touch(Request[None], frozen=True, kw_only=True):
    """Somebody without a lease (a hook) used the cluster: the idle time starts anew."""

    actor = "supervisor"
    idempotent = True


class ChildState(Reply, frozen=True, kw_only=True):
    """One process as the supervisor sees it.

    Attributes:
        state: `down` = it died more often than the restart budget allows; it is tried again once a minute, and at
            once by `RestartChild`.
        restarts: since the supervisor started.
        last_exit: how the incarnation before ended, in one line; empty when there was none.
        started: UTC seconds of the present incarnation's start.
        log: file of its raw output.
    """

    name: str
    pid: int = 0
    state: ChildStateName = "starting"
    restarts: int = 0
    last_exit: str = ""
    started: float = 0.0
    log: str = ""


class ClusterState(Reply, frozen=True, kw_only=True):
    """The cluster as it is now.

    Attributes:
        holders: open leases.
        idle_exit_seconds: seconds until a cluster that nobody uses stops; `None` when somebody does, or when it stays.
    """

    mode: Mode
    pid: int
    started: float
    children: tuple[ChildState, ...]
    holders: int = 0
    idle_exit_seconds: float | None = None


class GetCluster(Request[ClusterState], frozen=True, kw_only=True):
    actor = "supervisor"
    reply = ClusterState
    idempotent = True


class RestartChild(Request[ChildState], frozen=True, kw_only=True):
    """Stops a child, if it runs, and starts it with a fresh restart budget; answers once it is ready.

    Raises:
        Refused: there is no child of that name; DeadlineExceeded: it is not ready in the caller's time.
    """

    actor = "supervisor"
    reply = ChildState

    name: str


class Pin(Request[None], frozen=True, kw_only=True):
    """A background cluster stays from now on."""

    actor = "supervisor"
    idempotent = True


class Shutdown(Request[None], frozen=True, kw_only=True):
    """Stops the cluster; acknowledged before it begins."""

    actor = "supervisor"
    idempotent = True
