"""Keys of the TLS of one server behind HTTPS."""

from typing import Annotated

from config.fields import Block, doc


class TlsSettings(Block, frozen=True, kw_only=True):
    """Keys of `upstream_servers.NAME.tls`."""

    ca_file: Annotated[str | None, doc("PEM file of authorities to trust beside the system's.")] = None
    client_cert: Annotated[str | None, doc("PEM file of the certificate that we show.")] = None
    client_key: Annotated[str | None, doc("PEM file of its key; unset = it stands in client_cert.")] = None
    unverified_hosts: Annotated[
        tuple[str, ...], doc("Hosts whose certificates are not checked: anybody between can pose as them.", on_error=())
    ] = ()
