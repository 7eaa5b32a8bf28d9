"""The rules for addresses of HTTP servers."""

from __future__ import annotations

import ipaddress
import urllib.parse


def address_fault(url: str, *, plain: bool = False) -> str:
    """Why `url` cannot be the address of an HTTP server, with the fix; empty when it can. Never the address itself.

    An address with a `${VAR}` in it is judged when it is expanded, not here.

    Args:
        plain: something is added to it, so it must end with its path; and a password in it would be shown or lost.
    """
    if "${" in url:
        return ""
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in url):
        return "is no address; write it as https://HOST/PATH"
    if plain and ("@" in parts.netloc or "?" in url or "#" in url):
        return "is more than an address; write it as https://HOST/PATH, without a user, ? and #"
    return ""


def host_of(url: str) -> str:
    """The host of an address, in lower case; empty when it has none."""
    try:
        return urllib.parse.urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    return host == "localhost" or (is_literal(host) and ipaddress.ip_address(host).is_loopback)


def is_literal(host: str) -> bool:
    """Whether it is a literal address: no name that somebody else could let point here."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
