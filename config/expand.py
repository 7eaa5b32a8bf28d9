"""`~`, `${VAR}` and `${VAR:-default}` in what starts or reaches an upstream.

Done when it is started, never on loading, so that secrets stay in the environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import msgspec

from bus.errors import ConfigError
from config.place import user_home
from config.schema_tls import TlsSettings
from config.schema_upstream import UpstreamSettings

# One pass for both: what a variable holds is no word of the configuration and is not expanded again.
WORD = re.compile(r"\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|(?<!\S)~(?=/|\s|$)")
NESTED = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*:-[^}]*\{")


def expand_upstream(name: str, upstream: UpstreamSettings, env: Mapping[str, str] | None = None) -> UpstreamSettings:
    """The upstream with everything expanded in `command`, `args`, `cwd`, `env`, `headers`, `url` and `tls`.

    Args:
        env: where variables and `HOME` are looked up (`os.environ` when `None`).

    Raises:
        ConfigError: a variable is not set; the message names upstream, key and variable.
    """
    env = os.environ if env is None else env

    def text(key: str, value: str) -> str:
        return expand(value, env, f"upstream {name}: {key}")

    def values(key: str, mapping: dict[str, str] | None) -> dict[str, str] | None:
        return mapping and {k: text(f"{key}.{k}", v) for k, v in mapping.items()}

    def files(tls: TlsSettings) -> TlsSettings:
        named = {key: getattr(tls, key) for key in ("ca_file", "client_cert", "client_key")}
        return msgspec.structs.replace(
            tls, **{key: text(f"tls.{key}", value) for key, value in named.items() if value is not None}
        )

    return msgspec.structs.replace(
        upstream,
        command=text("command", upstream.command),
        args=tuple(text(f"args[{n}]", word) for n, word in enumerate(upstream.args)),
        cwd=upstream.cwd and text("cwd", upstream.cwd),
        env=values("env", upstream.env),
        headers=values("headers", upstream.headers),
        url=text("url", upstream.url),
        tls=upstream.tls and files(upstream.tls),
    )


def expand(text: str, env: Mapping[str, str], where: str) -> str:
    """One text expanded; `$${VAR}` stays as `${VAR}`.

    Args:
        where: what the text belongs to, for the error.

    Raises:
        ConfigError: a variable without default is not set, or a default holds another reference.
    """
    if NESTED.search(text):
        raise ConfigError(f"{where}: a default in ${{VAR:-default}} cannot hold braces; use a plain text")

    def value(match: re.Match[str]) -> str:
        if match[0] == "~":
            return user_home(env)
        if match[0].startswith("$$"):
            return match[0][1:]
        variable, default = match[1], match[2]
        if default is not None:
            return env.get(variable) or default
        if variable not in env:
            fix = f"set it or write ${{{variable}:-default}}"
            raise ConfigError(f"{where} needs the environment variable {variable}, which is not set; {fix}")
        return env[variable]

    return WORD.sub(value, text)
