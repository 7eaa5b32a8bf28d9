"""Where traces are sent to: the blocks `otlp` and `langfuse`, and the standard variables that fill what they leave out.

Langfuse takes OTLP too, so both become the same kind of destination.
"""

from __future__ import annotations

import base64
import importlib.util
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from bus.errors import ConfigError
from config.address import address_fault
from config.expand import expand
from config.problems import Problem
from config.schema import Settings

TRACES_PATH = "/v1/traces"
LANGFUSE_PATH = "/api/public/otel"
LANGFUSE_HOST = "https://cloud.langfuse.com"
DEFAULT_ENDPOINT = "http://localhost:4318"
LANGFUSE_HEADERS = {"x-langfuse-ingestion-version": "4"}
"""With it spans can be seen at once; without it they take minutes."""
PROTOCOL = "http/protobuf"
LIBRARY = "opentelemetry.exporter.otlp.proto.http"
EXTRA = {"otlp": "otel", "langfuse": "langfuse"}
LONGEST_STOP_SECONDS = 1.0
"""However long the last spans may take by the settings, a stop does not wait longer for them."""


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """One receiver of traces.

    Attributes:
        name: the block that asks for it.
        endpoint: where requests go, without user information. headers: all that are sent; secret.
        sampling_rate: share of traces. queue_spans: how many wait at most. batch_spans: how many go at once.
        timeout_seconds: for one request, its repeats included. delay_seconds: between requests.
        flush_seconds: for the last spans at stop.
    """

    name: str
    endpoint: str
    headers: dict[str, str]
    sampling_rate: float
    timeout_seconds: float
    queue_spans: int
    batch_spans: int
    delay_seconds: float
    flush_seconds: float

    @property
    def host(self) -> str:
        """Host and port: what may be shown."""
        return host_of(self.endpoint)


class Export(NamedTuple):
    """What one block comes to: a destination, or a problem that says why there is none."""

    name: str
    destination: Destination | None
    problem: Problem | None


def exports(settings: Settings, env: Mapping[str, str]) -> list[Export]:
    """What is switched on. A fault of one block never stands in the way of the other.

    Args:
        env: where `OTEL_…`, `LANGFUSE_…` and `${VAR}` are looked up.
    """
    wanted = (("otlp", settings.otlp.enabled, _otlp), ("langfuse", settings.langfuse.enabled, _langfuse))
    found = []
    for name, enabled, make in wanted:
        if not enabled:
            continue
        try:
            if env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
                raise ConfigError(f"{name}.enabled: OTEL_SDK_DISABLED is true, so no trace is sent; unset it")
            destination = make(settings, env)
            if not installed():
                fix = f'pip install "memtomem-bus[{EXTRA[name]}]"'
                raise ConfigError(f"{name}.enabled: sending traces needs the extra {EXTRA[name]}; {fix}")
            found.append(Export(name, destination, None))
        except ConfigError as error:
            found.append(Export(name, None, Problem("warning", name, error.message)))
    return found


def installed() -> bool:
    """Whether the exporter's library can be imported."""
    try:
        return importlib.util.find_spec(LIBRARY) is not None
    except ModuleNotFoundError:
        return False


def host_of(url: str) -> str:
    """Host and port of an address; empty when it has none."""
    try:
        parts = urllib.parse.urlsplit(url)
        return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"
    except ValueError:
        return ""


def _otlp(settings: Settings, env: Mapping[str, str]) -> Destination:
    otlp = settings.otlp
    stated = expand(otlp.endpoint, env, "otlp.endpoint")
    if stated:
        endpoint, key = _traces(stated), "otlp.endpoint"
    else:
        protocol = env.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or env.get("OTEL_EXPORTER_OTLP_PROTOCOL") or PROTOCOL
        if protocol != PROTOCOL:
            fix = "set otlp.endpoint to the collector's HTTP address (usually port 4318)"
            raise ConfigError(f"otlp: the variables ask for another protocol, only {PROTOCOL} is spoken; {fix}")
        if exact := env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
            endpoint, key = exact, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
        else:
            base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT") or DEFAULT_ENDPOINT
            endpoint, key = base.rstrip("/") + TRACES_PATH, "OTEL_EXPORTER_OTLP_ENDPOINT"
    text = env.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or env.get("OTEL_EXPORTER_OTLP_HEADERS") or ""
    headers = dict(_listed(text))
    for name, value in otlp.headers.items():
        headers[name.lower()] = expand(value, env, f"otlp.headers.{name}")
    return _destination("otlp", settings, endpoint, headers, otlp.sampling_rate, key)


def _langfuse(settings: Settings, env: Mapping[str, str]) -> Destination:
    langfuse = settings.langfuse
    public = expand(langfuse.public_key, env, "langfuse.public_key") or env.get("LANGFUSE_PUBLIC_KEY", "")
    secret = expand(langfuse.secret_key, env, "langfuse.secret_key") or env.get("LANGFUSE_SECRET_KEY", "")
    for name, value in (("public_key", public), ("secret_key", secret)):
        if not value:
            raise ConfigError(f"langfuse.{name} is missing; set it, or LANGFUSE_{name.upper()} in the environment")
    stated = expand(langfuse.host, env, "langfuse.host")
    base = stated or env.get("LANGFUSE_BASE_URL") or env.get("LANGFUSE_HOST") or LANGFUSE_HOST
    base = base.rstrip("/").removesuffix(TRACES_PATH).removesuffix(LANGFUSE_PATH)
    headers = LANGFUSE_HEADERS | {"authorization": _basic(public, secret)}
    endpoint = f"{base}{LANGFUSE_PATH}{TRACES_PATH}"
    return _destination("langfuse", settings, endpoint, headers, langfuse.sampling_rate, "langfuse.host")


def _destination(
    name: str, settings: Settings, endpoint: str, headers: dict[str, str], rate: float, key: str
) -> Destination:
    """Checks what was put together; `key` is to blame for the address."""
    if fault := address_fault(endpoint):
        raise ConfigError(f"{key} {fault}")
    for header, value in headers.items():
        if not (header.isascii() and header.isprintable() and " " not in header and header):
            raise ConfigError(f"{name}: the name of a header is no name; use letters and dashes")
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise ConfigError(f"{name}: the value of the header {header} holds what a header cannot; write it anew")
    parts = urllib.parse.urlsplit(endpoint)
    user, at, place = parts.netloc.rpartition("@")
    if at:
        name_, _, password = user.partition(":")
        headers.setdefault("authorization", _basic(urllib.parse.unquote(name_), urllib.parse.unquote(password)))
    otlp = settings.otlp
    return Destination(
        name=name,
        endpoint=urllib.parse.urlunsplit(parts._replace(netloc=place)),
        headers=headers,
        sampling_rate=rate,
        timeout_seconds=otlp.timeout_seconds,
        queue_spans=otlp.max_queue_size,
        batch_spans=min(otlp.max_export_batch_size, otlp.max_queue_size),
        delay_seconds=otlp.schedule_delay_ms / 1000,
        flush_seconds=min(otlp.flush_timeout_seconds, LONGEST_STOP_SECONDS),
    )


def _traces(endpoint: str) -> str:
    """An address as people write it, with the path of traces at its end."""
    head, mark, query = endpoint.partition("?")
    head = head.rstrip("/")
    return (head if head.endswith(TRACES_PATH) else head + TRACES_PATH) + mark + query


def _listed(text: str) -> Iterator[tuple[str, str]]:
    """Headers as the variables hold them: `name=value,name=value`, values percent-encoded."""
    for pair in text.split(","):
        name, sign, value = pair.partition("=")
        if sign and name.strip():
            yield urllib.parse.unquote(name.strip()).lower(), urllib.parse.unquote(value.strip())


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
