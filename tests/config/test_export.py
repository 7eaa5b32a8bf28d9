"""Where traces go: from settings and variables to destinations."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from config.export import Destination, exports
from config.load import interpret

URL = "https://collector.example.org"


def found(document: dict[str, Any], **env: str) -> list[Destination | str]:
    """The destinations, or the words on why there is none."""
    settings = interpret(document, {}, Path("stm_proxy.json")).settings
    return [
        export.destination if export.problem is None and export.destination else export.problem.message
        for export in exports(settings, env)
        if export.problem is not None or export.destination is not None
    ]


def otlp(env: dict[str, str] | None = None, **keys: Any) -> Destination:
    (destination,) = found({"otlp": {"enabled": True, **keys}}, **(env or {}))
    assert isinstance(destination, Destination), destination
    return destination


def test_nothing_is_sent_unless_somebody_says_so() -> None:
    assert found({}, OTEL_EXPORTER_OTLP_ENDPOINT=URL, LANGFUSE_SECRET_KEY="x") == []


@pytest.mark.parametrize(
    ("stated", "endpoint"),
    [
        (URL, f"{URL}/v1/traces"),
        (f"{URL}/", f"{URL}/v1/traces"),
        (f"{URL}/otlp?region=eu", f"{URL}/otlp/v1/traces?region=eu"),
        (f"{URL}:4318/v1/traces", f"{URL}:4318/v1/traces"),
        ("https://me:p%40ss@collector.example.org", f"{URL}/v1/traces"),
        ("${WHERE}", f"{URL}/v1/traces"),
    ],
)
def test_an_address_gets_the_path_of_traces(stated: str, endpoint: str) -> None:
    assert otlp({"WHERE": URL}, endpoint=stated).endpoint == endpoint


def test_user_information_of_an_address_becomes_a_header() -> None:
    wanted = "Basic " + base64.b64encode(b"me:p@ss").decode()
    destination = otlp(endpoint="https://me:p%40ss@collector.example.org:4318")
    assert destination.headers == {"authorization": wanted}
    assert destination.host == "collector.example.org:4318"


def test_the_standard_variables_fill_what_is_not_stated() -> None:
    assert otlp().endpoint == "http://localhost:4318/v1/traces"
    base = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"{URL}/x/", "OTEL_EXPORTER_OTLP_HEADERS": "Api-Key=a%3Db, other = two"}
    assert otlp(base).endpoint == f"{URL}/x/v1/traces"
    assert otlp(base).headers == {"api-key": "a=b", "other": "two"}
    assert otlp(base, headers={"API-Key": "${KEY:-mine}"}).headers == {"api-key": "mine", "other": "two"}
    exact = base | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{URL}/exact"}
    assert otlp(exact).endpoint == f"{URL}/exact"
    assert otlp(exact, endpoint="http://here").endpoint == "http://here/v1/traces"


def test_langfuse_is_a_receiver_of_otlp() -> None:
    (destination,) = found({"langfuse": {"enabled": True, "public_key": "pk", "secret_key": "${SECRET}"}}, SECRET="sk")
    assert isinstance(destination, Destination)
    assert destination.endpoint == "https://cloud.langfuse.com/api/public/otel/v1/traces"
    assert base64.b64decode(destination.headers["authorization"].removeprefix("Basic ")) == b"pk:sk"
    env = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_BASE_URL": "http://localhost:3000/"}
    (other,) = found({"langfuse": {"enabled": True}}, OTEL_EXPORTER_OTLP_HEADERS="api-key=secret", **env)
    assert isinstance(other, Destination)
    assert other.endpoint == "http://localhost:3000/api/public/otel/v1/traces"
    assert "api-key" not in other.headers


@pytest.mark.parametrize(
    ("document", "env", "said"),
    [
        ({"otlp": {"enabled": True, "endpoint": "collector:4318"}}, {}, "otlp.endpoint is no address"),
        ({"otlp": {"enabled": True, "endpoint": "${GONE}"}}, {}, "GONE"),
        ({"otlp": {"enabled": True, "headers": {"k": "hush\n"}}}, {}, "header k"),
        ({"otlp": {"enabled": True, "headers": {"a b": "hush"}}}, {}, "header"),
        ({"otlp": {"enabled": True}}, {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "http/protobuf"),
        ({"otlp": {"enabled": True}}, {"OTEL_SDK_DISABLED": "true"}, "OTEL_SDK_DISABLED"),
        ({"langfuse": {"enabled": True, "secret_key": "hush"}}, {}, "LANGFUSE_PUBLIC_KEY"),
        ({"langfuse": {"enabled": True, "public_key": "p"}}, {}, "LANGFUSE_SECRET_KEY"),
    ],
)
def test_what_cannot_work_is_said_with_the_fix(document: dict[str, Any], env: dict[str, str], said: str) -> None:
    (message,) = found(document, **env)
    assert isinstance(message, str)
    assert said in message
    assert "hush" not in message


def test_a_missing_extra_is_said_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.export.LIBRARY", "opentelemetry_that_nobody_has.exporter")
    langfuse = {"enabled": True, "public_key": "p", "secret_key": "s"}
    one, other = found({"otlp": {"enabled": True}, "langfuse": langfuse})
    assert 'pip install "memtomem-bus[otel]"' in str(one)
    assert 'pip install "memtomem-bus[langfuse]"' in str(other)


def test_a_fault_of_one_does_not_stand_in_the_way_of_the_other() -> None:
    both = {"otlp": {"enabled": True, "endpoint": "x"}, "langfuse": {"enabled": True, "public_key": "p"}}
    both["langfuse"]["secret_key"] = "s"
    broken, working = found(both)
    assert isinstance(broken, str)
    assert isinstance(working, Destination)


def test_a_stop_never_waits_long_for_the_last_spans() -> None:
    assert otlp(flush_timeout_seconds=30).flush_seconds == 1
    assert otlp(flush_timeout_seconds=0.2).flush_seconds == 0.2
