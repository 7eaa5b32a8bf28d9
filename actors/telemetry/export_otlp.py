"""Spans as OTLP over HTTP, by the libraries of OpenTelemetry. Blocking, for one thread; imported when it is used."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from actors.telemetry.export_spans import Span
from bus.build import VERSION
from config.export import Destination

SERVICE = "memtomem-bus"
_KINDS = {
    "server": trace.SpanKind.SERVER,
    "client": trace.SpanKind.CLIENT,
    "internal": trace.SpanKind.INTERNAL,
}
_TRANSPORT = frozenset(
    ("content-type", "content-encoding", "content-length", "user-agent", "accept", "accept-encoding", "connection")
)
"""Headers of a request that are the library's own."""

# What the libraries say about a failure, some of it with the address, is said here once and with a reason.
for name in ("opentelemetry", "urllib3"):
    logging.getLogger(name).addHandler(logging.NullHandler())
    logging.getLogger(name).propagate = False


class OtlpSender:
    """Sends batches to one destination.

    Attributes:
        error: why the last batch did not arrive, never with an address or a secret; empty when it did.
        refused: spans of the last batch that the receiver took and did not keep.
    """

    def __init__(self, destination: Destination) -> None:
        self.error = ""
        self.refused = 0
        self._destination = destination
        self._session = requests.Session()
        self._session.auth = self._dress
        self._session.hooks["response"].append(self._look)
        self._exporter = OTLPSpanExporter(
            endpoint=destination.endpoint, timeout=destination.timeout_seconds, session=self._session
        )
        self._session.mount("http://", _Adapter(self))
        self._session.mount("https://", _Adapter(self))
        self._ids = _Ids()
        self._made = _Collector()
        # The environment's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come in here.
        resource = Resource({SERVICE_NAME: SERVICE, SERVICE_VERSION: VERSION}).merge(Resource.create())
        resource = resource if _named(resource) else resource.merge(Resource({SERVICE_NAME: SERVICE}))
        provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        provider.add_span_processor(self._made)
        self._tracer = provider.get_tracer(SERVICE, VERSION)

    def send(self, spans: Sequence[Span]) -> bool:
        """Sends a batch, with the repeats that the protocol has, within the destination's time; false when it failed.

        A batch that failed is not to be sent again: the receiver may have it.
        """
        self.error, self.refused = "", 0
        for span in spans:
            self._make(span)
        if self._exporter.export(self._made.take()) is SpanExportResult.SUCCESS:
            self.error = ""
            return True
        self.error = self.error or "the batch could not be sent"
        return False

    def abort(self) -> None:
        """Ends the waiting between repeats; from any thread."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # the library forgot to annotate it

    def _make(self, span: Span) -> None:
        self._ids.trace, self._ids.span = span.trace, span.span
        context = trace.set_span_in_context(trace.INVALID_SPAN)
        if span.parent is not None:
            flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
            parent = trace.SpanContext(span.trace, span.parent, span.remote, flags)
            context = trace.set_span_in_context(trace.NonRecordingSpan(parent))
        made = self._tracer.start_span(
            span.name, context, _KINDS[span.kind], attributes=span.attributes, start_time=span.start
        )
        if span.error:
            made.set_attribute("error.type", span.error)
            made.set_status(trace.StatusCode.ERROR)
        made.end(span.end)

    def _dress(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Puts on the destination's headers and no others: neither those that the environment has for another
        destination, nor what `~/.netrc` would add."""
        for name in [name for name in request.headers if name.lower() not in _TRANSPORT]:
            del request.headers[name]
        request.headers.update(self._destination.headers)
        return request

    def _look(self, response: requests.Response, *_: Any, **__: Any) -> None:
        if response.status_code >= 300:
            self.error = f"the receiver answered {response.status_code}"
            if response.status_code < 400:  # which the library takes for a success
                raise requests.exceptions.TooManyRedirects("redirected")
            return
        answer = ExportTraceServiceResponse()
        try:
            answer.ParseFromString(response.content)
        except ValueError:  # not every receiver answers in the protocol; the status is what counts
            return
        self.refused = max(0, answer.partial_success.rejected_spans)


class _Adapter(requests.adapters.HTTPAdapter):
    """Notes why a request got no answer, by the kind of failure: texts of exceptions hold addresses."""

    def __init__(self, sender: OtlpSender) -> None:
        super().__init__()
        self._sender = sender

    def send(self, *arguments: Any, **options: Any) -> requests.Response:
        try:
            return super().send(*arguments, **options)
        except requests.exceptions.Timeout:
            self._sender.error = "the receiver does not answer"
            raise
        except requests.exceptions.SSLError:
            self._sender.error = "the receiver's certificate is not trusted"
            raise
        except requests.exceptions.RequestException:
            self._sender.error = "the receiver cannot be reached"
            raise


class _Ids(IdGenerator):
    """Gives the ids that were put in."""

    def __init__(self) -> None:
        self.trace = 0
        self.span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


class _Collector(SpanProcessor):
    """Keeps finished spans until they are taken."""

    def __init__(self) -> None:
        self._spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self._spans.append(span)

    def take(self) -> list[ReadableSpan]:
        spans, self._spans = self._spans, []
        return spans


def _named(resource: Resource) -> bool:
    return not str(resource.attributes.get(SERVICE_NAME, "unknown_service")).startswith("unknown_service")
