"""Every refusal."""

from __future__ import annotations

from msgspec import Struct


class ErrorDetail(Struct, kw_only=True):
    """What was wrong and the way out."""

    code: str
    message: str
    hint: str


class ErrorReply(Struct, kw_only=True):
    """Every refusal."""

    error: ErrorDetail


def internal_error() -> ErrorDetail:
    """What a caller is told of a fault of the service itself: nothing of its inside."""
    return ErrorDetail(code="internal_error", message="the service has a fault", hint="see what the server has logged")
