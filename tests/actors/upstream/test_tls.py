"""Upstream servers behind HTTPS with certificates of an authority of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trustme

from actors.upstream.http_tls import make_context, unchecked
from bus.errors import ConfigError
from config.schema_tls import TlsSettings
from tests.actors.upstream.test_http import until_state
from tests.actors.upstream.test_pool import Pool, pool, running  # noqa: F401
from tests.fixtures.http_server import HttpServer, serving


class Files:
    """An authority, and what it has certified."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca = self._write(folder / "ca.pem", authority.cert_pem)
        self.server = self._write(
            folder / "server.pem", authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem
        )
        self.elsewhere = self._write(
            folder / "elsewhere.pem", authority.issue_cert("elsewhere.example").private_key_and_cert_chain_pem
        )
        client = authority.issue_cert("client@example.org")
        self.client = self._write(folder / "client.pem", *client.cert_chain_pems)
        self.client_key = self._write(folder / "client.key", client.private_key_pem)

    @staticmethod
    def _write(path: Path, *blobs: trustme.Blob) -> str:
        path.write_bytes(b"".join(blob.bytes() for blob in blobs))
        return str(path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture
def server(files: Files, tmp_path: Path) -> Iterator[HttpServer]:
    with serving("sdk", tmp_path, files.server, "") as found:
        yield found


@pytest.mark.parametrize("kind", ["sdk", "sse"])
async def test_an_authority_of_ones_own(pool: Pool, files: Files, kind: str) -> None:  # noqa: F811
    with serving(kind, pool.place.home, files.server, "") as server:
        pool.configure(own=server.entry("own", tls={"ca_file": files.ca}), strange=server.entry("strange"))
        async with running(pool):
            await pool.until("own__echo")
            assert await pool.text("own", "echo", {"text": "hello"}) == "hello"
            failed = await until_state(pool, "strange", "failed")
            assert "does not convince" in failed.error
            assert "tls.ca_file" in failed.error


async def test_a_certificate_of_ours(pool: Pool, files: Files) -> None:  # noqa: F811
    with serving("sdk", pool.place.home, files.server, files.ca) as server:
        shown = {"ca_file": files.ca, "client_cert": files.client, "client_key": files.client_key}
        pool.configure(
            known=server.entry("known", tls=shown), unknown=server.entry("unknown", tls={"ca_file": files.ca})
        )
        async with running(pool):
            await pool.until("known__echo")
            assert await pool.text("known", "echo", {"text": "hello"}) == "hello"
            assert (await until_state(pool, "unknown", "failed")).error


async def test_only_the_hosts_that_are_named_go_unchecked(pool: Pool, files: Files) -> None:  # noqa: F811
    """The certificate is another host's, of an authority that nobody knows."""
    with serving("sdk", pool.place.home, files.elsewhere, "") as server:
        pool.configure(
            named=server.entry("named", tls={"unverified_hosts": ["127.0.0.1"]}),
            other=server.entry("other", tls={"unverified_hosts": ["localhost", "127.0.0.2"]}),
            known=server.entry("known", tls={"ca_file": files.ca}),
        )
        async with running(pool):
            await pool.until("named__echo")
            assert await pool.text("named", "echo", {"text": "hello"}) == "hello"
            for name in ("other", "known"):
                assert "does not convince" in (await until_state(pool, name, "failed")).error


async def test_a_changed_authority_is_a_changed_connection(pool: Pool, files: Files, server: HttpServer) -> None:  # noqa: F811
    pool.configure(own=server.entry("own"))
    async with running(pool):
        await until_state(pool, "own", "failed")
        pool.configure(own=server.entry("own", tls={"ca_file": files.ca}))
        await pool.until("own__echo")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ca_file": "/no/such.pem"}, "tls.ca_file /no/such.pem cannot be used: No such file"),
        ({"ca_file": __file__}, "tls.ca_file"),
        ({"client_cert": "CA"}, "tls.client_cert"),
        ({"client_key": "/some.key"}, "set tls.client_cert"),
        ({"unverified_hosts": ["*"]}, "is no host"),
        ({"unverified_hosts": ["https://host/"]}, "is no host"),
    ],
)
def test_what_cannot_be_used_is_named(files: Files, settings: dict[str, Any], says: str) -> None:
    own = {key: files.ca if value == "CA" else value for key, value in settings.items()}
    tls = TlsSettings(**own)
    with pytest.raises(ConfigError, match=says.replace(".", r"\.")) as caught:
        make_context(tls)
        unchecked(tls, httpx2.Limits())
    assert "\n" not in caught.value.message
