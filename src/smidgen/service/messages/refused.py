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
