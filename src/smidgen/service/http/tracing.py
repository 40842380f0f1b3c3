"""OpenTelemetry traces: one span per request, with the wait for the writer, the command and the commit inside.

Needs the extra ``otel``. The exporter, the sampler and the name of the service come from OpenTelemetry's own
environment variables (``OTEL_EXPORTER_OTLP_ENDPOINT``, ``OTEL_TRACES_SAMPLER``, ``OTEL_SERVICE_NAME``). Without
`--otel` nothing of it is imported. Spans are created when the request is answered and are exported in the background; a
collector that is away costs spans, not requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from smidgen import __version__
from smidgen.errors import MissingExtra

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

#: Name of the header with the caller's trace.
TRACEPARENT = b"traceparent"
T = TypeVar("T")


class Tracing:
    """Makes the traces of requests.

    Parameters
    ----------
    provider
        Where spans go; None: to the collector that the environment names.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, OTELResourceDetector, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ModuleNotFoundError as error:
            raise MissingExtra(f"--otel needs {error.name}", 'pip install "smidgen[otel]"') from error
        if provider is None:
            own = Resource({SERVICE_NAME: "smidgen", SERVICE_VERSION: __version__})
            provider = TracerProvider(resource=own.merge(OTELResourceDetector().detect()))
            provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._provider = provider
        self._tracer = provider.get_tracer("smidgen", __version__)

    def trace(self, traceparent: bytes | None) -> RequestTrace:
        """Begin the trace of a request, as a part of the caller's if the header is valid."""
        return RequestTrace(self._tracer, traceparent)

    def close(self) -> None:
        """Export the spans that wait."""
        self._provider.shutdown()


class RequestTrace:
    """Times of one request, in nanoseconds since 1970, until its spans are made.

    A request may have several commands in one commit; then its command span lasts from the first to the last.
    """

    __slots__ = ("_began", "_committed", "_finished", "_parent", "_started", "_tracer")

    def __init__(self, tracer: Tracer, parent: bytes | None) -> None:
        self._tracer = tracer
        self._parent = parent
        self._began = time.time_ns()
        self._started: int | None = None
        self._finished = self._committed = 0

    def command(self, act: Callable[[], T]) -> Callable[[], T]:
        """Note when a command runs; one that is tried again counts from its first try."""

        def timed() -> T:
            if self._started is None:
                self._started = time.time_ns()
            try:
                return act()
            finally:
                self._finished = time.time_ns()

        return timed

    def commit(self) -> None:
        """Note that the commit is done, or refused."""
        self._committed = time.time_ns()

    def finish(self, attributes: dict[str, Any]) -> None:
        """Make the spans of the request, which is answered now."""
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        carrier = {} if self._parent is None else {"traceparent": self._parent.decode("latin-1")}
        context = TraceContextTextMapPropagator().extract(carrier)
        name = f"{attributes['http.request.method']} {attributes['http.route']}"
        server = trace.SpanKind.SERVER
        span = self._tracer.start_span(name, context, server, attributes, start_time=self._began)
        if attributes["http.response.status_code"] >= 500:
            span.set_status(trace.StatusCode.ERROR)
        if self._started is not None:
            inside = trace.set_span_in_context(span)
            committed = self._committed or time.time_ns()
            for part, begin, end in (
                ("smidgen.wait", self._began, self._started),
                ("smidgen.command", self._started, self._finished),
                ("smidgen.commit", self._finished, committed),
            ):
                self._tracer.start_span(part, inside, start_time=begin).end(end)
        span.end()
