"""`~` and `${VAR}` in upstreams."""

import pytest

from bus.errors import ConfigError
from config.expand import expand, expand_upstream
from config.schema_tls import TlsSettings
from config.schema_upstream import UpstreamSettings

ENV = {"HOME": "/home/ann", "TOKEN": "t0k", "EMPTY": "", "TRICKY": "~ ${TOKEN} $&"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("~", "/home/ann"),
        ("~/bin/x", "/home/ann/bin/x"),
        ("run ~/a ~/b", "run /home/ann/a /home/ann/b"),
        ("a~/b", "a~/b"),
        ("~bob/x", "~bob/x"),
        ("https://x/~ann/", "https://x/~ann/"),
        ("Bearer ${TOKEN}", "Bearer t0k"),
        ("${TOKEN}${TOKEN}", "t0kt0k"),
        ("~/${TOKEN}", "/home/ann/t0k"),
        ("${NONE:-plain}", "plain"),
        ("${NONE:-}", ""),
        ("${EMPTY:-plain}", "plain"),
        ("${EMPTY}", ""),
        ("$${TOKEN}", "${TOKEN}"),
        ("$TOKEN ${1} ${x%y} $", "$TOKEN ${1} ${x%y} $"),
        ("${TRICKY}", "~ ${TOKEN} $&"),
        ("", ""),
    ],
)
def test_texts(text: str, expanded: str) -> None:
    assert expand(text, ENV, "x") == expanded


def test_every_place_of_an_upstream_is_expanded() -> None:
    upstream = UpstreamSettings(
        prefix="${TOKEN}",
        command="~/bin/server",
        args=("--token", "${TOKEN}"),
        cwd="~",
        env={"A": "${TOKEN}"},
        headers={"Authorization": "Bearer ${TOKEN}"},
        url="https://${TOKEN}.example.org",
        tls=TlsSettings(ca_file="~/ca.pem", client_cert="${TOKEN}.pem"),
    )
    found = expand_upstream("fs", upstream, ENV)
    assert found.command == "/home/ann/bin/server"
    assert found.args == ("--token", "t0k")
    assert found.cwd == "/home/ann"
    assert found.env == {"A": "t0k"}
    assert found.headers == {"Authorization": "Bearer t0k"}
    assert found.url == "https://t0k.example.org"
    assert found.tls == TlsSettings(ca_file="/home/ann/ca.pem", client_cert="t0k.pem")
    assert found.prefix == "${TOKEN}"
    assert upstream.args == ("--token", "${TOKEN}")


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("command", {"command": "${NOPE}"}),
        ("args[1]", {"args": ("a", "x${NOPE}")}),
        ("env.A", {"env": {"A": "${NOPE}"}}),
        ("headers.X", {"headers": {"X": "${NOPE}"}}),
        ("url", {"url": "${NOPE}"}),
        ("tls.client_key", {"tls": TlsSettings(client_key="${NOPE}")}),
        ("cwd", {"cwd": "${NOPE}"}),
    ],
)
def test_an_unset_variable_is_named_with_upstream_and_key(key: str, change: dict[str, object]) -> None:
    upstream = UpstreamSettings(**{"prefix": "a", "command": "x", **change})  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as error:
        expand_upstream("fs", upstream, ENV)
    assert error.value.message.startswith(f"upstream fs: {key} needs the environment variable NOPE")


def test_a_reference_in_a_default_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot hold braces"):
        expand("${NOPE:-${TOKEN}}", ENV, "x")
