"""What both HTTP transports of upstream servers share: the client, and errors in words that tell no secret."""

from __future__ import annotations

import contextlib
import re
import time
from email.utils import parsedate_to_datetime

import httpx2

from actors.upstream.http_tls import make_context, unchecked
from bus.errors import ConfigError
from bus.rpc import LeftAlone, RpcError
from config.schema_tls import TlsSettings
from config.schema_upstream import UpstreamSettings

WRITE_SECONDS = 30.0
NOTICE_SECONDS = 2.0
"""Longest wait for the receipt of a notification that others stand behind."""
MAX_LEFT_ALONE_SECONDS = 86_400
RESTARTED = "it no longer knows our session; it was restarted"
_FORGOTTEN = re.compile(
    rb'session.?id|session[^"]{0,20}(?:not|no longer|invalid|unknown|expired|terminated|closed)'
    rb'|(?:invalid|unknown|expired)[^"]{0,20}session',
    re.IGNORECASE,
)
"""How servers say with a status other than 404 that they do not know a session."""
_ABOUT_PARAMS = re.compile(rb'"code"\s*:\s*-32602\b')
"""Said of a call, whose arguments may well be named after sessions."""
UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError)
"""What happens before a request has left us."""
PROXY_FIX = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY"
IDLE_SECONDS = 3.0
"""Servers close idle connections after some 5 s; a request must not meet one that is about to go."""


def make_client(settings: UpstreamSettings, auth: httpx2.Auth | None) -> httpx2.AsyncClient:
    """The HTTP client of one server. Reading has no limit of its own: each call has one.

    Reads certificates from disk, so it is called off the event loop.

    Raises:
        ConfigError: the address, a header, a file of its TLS or the proxy of the environment cannot be used.
    """
    check_address(settings.url)
    for key, value in (settings.headers or {}).items():
        if not key.isascii() or not value.isascii() or any(not char.isprintable() for char in key + value):
            raise ConfigError(f"the value of its header {key} holds characters that no HTTP header can have")
    tls = settings.tls or TlsSettings()
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=IDLE_SECONDS)
    context, mounts = make_context(tls), unchecked(tls, limits)
    try:
        return httpx2.AsyncClient(
            verify=context,
            mounts=mounts,
            headers=settings.headers,
            auth=auth,
            timeout=httpx2.Timeout(None, connect=settings.connect_timeout_seconds, write=WRITE_SECONDS),
            limits=limits,
        )
    except (ImportError, ValueError, httpx2.InvalidURL):  # whose words can hold the proxy's password
        raise ConfigError(f"the proxy of the environment cannot be used; {PROXY_FIX}, SOCKS is not supported") from None


def check_address(url: str) -> None:
    """Raises ConfigError unless it is an http(s) address."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ConfigError("its url is no address; write https://HOST/PATH") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConfigError("its url must start with http:// or https:// and name a host")


def origin(url: str) -> str:
    """Scheme, host and port: what may be shown of an address, whose path and query can hold a key."""
    parsed = httpx2.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode('ascii').rpartition('@')[2]}"


def transport_text(error: Exception, url: str) -> str:
    """What went wrong between us and the server, in one line."""
    match error:
        case httpx2.ProxyError():
            why = str(error).partition("\n")[0][:80]
            return f"the proxy on the way to {origin(url)} refused ({why}); {PROXY_FIX}"
        case httpx2.ConnectTimeout():
            return f"{origin(url)} does not answer"
        case httpx2.ConnectError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
            why = str(error).partition("certificate verify failed: ")[2].partition(" (_ssl")[0] or "it is not trusted"
            fix = "name the file of its authority in tls.ca_file, if that is one of your own"
            return f"the certificate of {origin(url)} does not convince: {why}; {fix}"
        case httpx2.ConnectError():
            return f"cannot connect to {origin(url)}: {str(error).splitlines()[0] if str(error) else 'refused'}"
        case _:
            return f"the connection to {origin(url)} broke ({type(error).__name__})"


def status_error(status: int, url: str, server: str, retry_after: str = "") -> RpcError:
    """The error of a request that was answered with a failing status and without a JSON-RPC error.

    Args:
        retry_after: the header of that name.
    """
    if status in (401, 403):
        fix = f"log in with `mms login {server}`, or set its headers"
        return RpcError(f"{origin(url)} refused our credentials (HTTP {status}); {fix}")
    if 300 <= status < 400:
        return RpcError(f"{origin(url)} redirects elsewhere (HTTP {status}); set its url to the final address")
    seconds = left_alone(retry_after)
    if seconds:
        what = f"{origin(url)} answered HTTP {status} and wants to be left alone for {seconds} s"
        return LeftAlone(what, seconds=seconds)
    return RpcError(f"{origin(url)} answered HTTP {status}")


def left_alone(retry_after: str) -> int:
    """The seconds that a header `Retry-After` asks for, in either of its forms; 0 when it asks for none."""
    seconds = 0
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 10:
        seconds = int(retry_after)
    elif not retry_after.isdigit():
        with contextlib.suppress(ValueError, OverflowError):
            seconds = int(parsedate_to_datetime(retry_after).timestamp() - time.time())
    return min(max(0, seconds), MAX_LEFT_ALONE_SECONDS)


def one_line(content: bytes) -> bytes:
    """The same JSON without line breaks, which can only stand between its tokens."""
    return content.replace(b"\n", b" ").replace(b"\r", b" ")


def is_forgotten(status: int, content: bytes) -> bool:
    """Whether a refusal means that the server does not know the session it was asked in."""
    if status == 400 and _FORGOTTEN.search(content) is not None:
        return _ABOUT_PARAMS.search(content) is None
    return status == 404
