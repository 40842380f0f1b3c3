"""Request ids, the observer of requests, and the format of log lines.

Both paths of a request end in `RequestObserver.finish`: the fast path when it writes the reply, Starlette's when the
reply is complete. Requests that are refused before they have a route (malformed HTTP, too many connections, a service
that is still starting) are not observed.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import Any, Literal

from smidgen.service.http.metrics import Metrics
from smidgen.service.http.tracing import RequestTrace, Tracing
from smidgen.service.log.events import stamp

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
#: Name of the header of request ids.
REQUEST_ID = b"x-request-id"
#: Route of requests that match none.
UNMATCHED = "unmatched"
#: Longest request id and longest path that are written to the log.
MOST_ID, MOST_PATH = 128, 256

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,%d}" % MOST_ID)
#: Fields that a line of the access log adds.
_FIELDS = ("request_id", "method", "route", "path", "status", "seconds", "peer")
_access = logging.getLogger("smidgen.access")


def request_id(value: bytes | None) -> str | None:
    """Return a caller's request id; None if there is none, or if it is too long or has other than safe characters.

    Examples
    --------
    >>> from smidgen.service.http.telemetry import request_id
    >>> request_id(b"9f3c-17"), request_id(b"two words"), request_id(None)
    ('9f3c-17', None, None)
    """
    return value.decode() if value is not None and _REQUEST_ID.fullmatch(value) else None


class RequestObserver:
    """Counts requests in the metrics, writes the access log, and ends traces.

    Parameters
    ----------
    metrics
        Counts of this process.
    access_log
        Whether every request is logged.
    tracing
        Makes traces, if requests are traced.
    """

    def __init__(self, metrics: Metrics, *, access_log: bool = False, tracing: Tracing | None = None) -> None:
        self._metrics = metrics
        self._access_log = access_log
        self._tracing = tracing

    def trace(self, traceparent: bytes | None) -> RequestTrace | None:
        """Begin the trace of a request; None if requests are not traced."""
        return None if self._tracing is None else self._tracing.trace(traceparent)

    def close(self) -> None:
        """Export the spans that wait."""
        if self._tracing is not None:
            self._tracing.close()

    def finish(
        self,
        route: str,
        method: str,
        path: str,
        status: int,
        seconds: float,
        id: str | None = None,
        peer: str | None = None,
        trace: RequestTrace | None = None,
    ) -> None:
        """Observe a request that was answered."""
        self._metrics.observe(route, method, status, seconds)
        if trace is not None:
            seen = {"http.route": route, "http.request.method": method, "http.response.status_code": status}
            trace.finish(seen if id is None else {**seen, "smidgen.request_id": id})
        if self._access_log:
            values = (id, method, route, path[:MOST_PATH], status, round(seconds, 6), peer)
            _access.info("%s %s %d", method, path[:MOST_PATH], status, extra=dict(zip(_FIELDS, values, strict=True)))


class JsonFormatter(logging.Formatter):
    """Log formatter: one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record; a traceback is one string."""
        fields: dict[str, Any] = {
            "time": stamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name in _FIELDS if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=True)


class TextFormatter(logging.Formatter):
    """Log formatter: one line of text per record, followed by its traceback. Control characters are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        more = [f"{name}={value}" for name in _FIELDS if (value := getattr(record, name, None)) is not None]
        line = " ".join((stamp(record.created), record.levelname.lower(), record.getMessage(), *more))
        line = "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure_logs(format: LogFormat, level: LogLevel, *, access_log: bool) -> None:
    """Send the log of the process to standard error; the access log does not depend on the level."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    _access.setLevel(logging.INFO if access_log else logging.WARNING)
