"""The TLS of a connection, as the settings of a server want it."""

from __future__ import annotations

import re
import ssl

import httpx2

from bus.errors import ConfigError
from config.schema_tls import TlsSettings

_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


def make_context(settings: TlsSettings, *, verify: bool = True) -> ssl.SSLContext:
    """The context for connections to a server; reads files.

    Args:
        settings: expanded.
        verify: whether its certificate is checked.

    Raises:
        ConfigError: a file cannot be used.
    """
    context = httpx2.create_ssl_context(verify=verify)
    if settings.ca_file is not None and verify:
        try:
            context.load_verify_locations(settings.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise _unusable("ca_file", settings.ca_file, "PEM certificates", error) from None
    if settings.client_cert is not None:
        key = settings.client_key
        try:
            context.load_cert_chain(settings.client_cert, key, password=_no_password)
        except (OSError, ssl.SSLError, ValueError) as error:
            what = f"{settings.client_cert} and {key}" if key is not None else settings.client_cert
            raise _unusable("client_cert", what, "a certificate and its unencrypted key, as PEM", error) from None
    elif settings.client_key is not None:
        raise ConfigError("its tls.client_key needs the certificate: set tls.client_cert as well")
    return context


def unchecked(settings: TlsSettings, limits: httpx2.Limits) -> dict[str, httpx2.AsyncBaseTransport | None]:
    """The ways to those hosts whose certificates are not checked, by the addresses that they are for.

    Raises:
        ConfigError: one is no host.
    """
    if not settings.unverified_hosts:
        return {}
    way = httpx2.AsyncHTTPTransport(verify=make_context(settings, verify=False), limits=limits)
    return {f"https://{_host(host)}": way for host in settings.unverified_hosts}


def _host(text: str) -> str:
    """A host as it stands in an address; wildcards would be more than somebody has looked at."""
    host = text.removeprefix("[").removesuffix("]").lower()
    if not _HOST.fullmatch(host):
        raise ConfigError(f"its tls.unverified_hosts holds {text!r}, which is no host; write a name or an IP address")
    return f"[{host}]" if ":" in host else host


def _unusable(key: str, file: str, holds: str, error: Exception) -> ConfigError:
    cause = getattr(error, "strerror", None) or getattr(error, "reason", None) or "it is encrypted, or holds no PEM"
    return ConfigError(f"its tls.{key} {file} cannot be used: {cause}; it must hold {holds}")


def _no_password() -> str:
    """Instead of a question on the terminal."""
    return ""
