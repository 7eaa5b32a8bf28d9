"""Who may speak to the gateway over HTTP: decided by the headers alone, before anything is read."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping

from config.address import host_of, is_literal, is_loopback


class Denied(Exception):
    """A request that is not served.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Checks Host, Origin and token.

    A web page can make its visitor's browser send requests to a local address (DNS rebinding): such a request carries
    the name of the page's own host, and its origin.

    Args:
        token: the bearer token, `None` for no authentication.
        bound: the host that is listened on.
        allowed: further names by which clients may call this host.
    """

    def __init__(self, token: str | None, bound: str, allowed: Collection[str] = ()) -> None:
        self._token = token.encode() if token is not None else None
        self._names = {"localhost", bound.lower(), *(name.lower() for name in allowed)}

    def check(self, headers: Mapping[str, str]) -> None:
        """Raises Denied.

        Args:
            headers: with lower-case names.
        """
        host = host_of(f"//{headers.get('host', '')}")
        if not host or not (host in self._names or is_literal(host)):
            raise Denied(421, "this host name is not served here; name it with --allow-host")
        origin = headers.get("origin")
        if origin is not None:
            source = host_of(origin)
            if not source or not (source in self._names or is_loopback(source)):
                raise Denied(403, "requests from this origin are refused; name its host with --allow-host")
        if self._token is not None and not self._knows(headers.get("authorization", "")):
            raise Denied(401, "a bearer token is needed")

    def _knows(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        assert self._token is not None
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)
