"""What the service refuses, and what never reached it."""

from __future__ import annotations

from typing import Any

import msgspec

from smidgen.decoding import UNREADABLE
from smidgen.errors import SmidgenError


class ServiceError(SmidgenError):
    """The service said no.

    Parameters
    ----------
    status
        The HTTP status.
    code
        A word for programs, e.g. ``"conflict"``.
    message
        What was wrong.
    hint
        The way out.
    """

    def __init__(self, status: int, code: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.status = status
        self.code = code
        self.hint = hint


class Unreachable(ServiceError):
    """No answer, after all attempts. Whether the last one was carried out is not known; sending it again is safe."""

    def __init__(self, message: str) -> None:
        super().__init__(503, "unreachable", message, "check that the service runs there, then send it again")


def refusal(status: int, content: bytes) -> ServiceError:
    """The error that a reply holds."""
    try:
        error: Any = msgspec.json.decode(content)["error"]
        return ServiceError(status, str(error["code"]), str(error["message"]), str(error["hint"]))
    except (*UNREADABLE, KeyError, TypeError):
        text = content[:200].decode("utf-8", "replace").strip()
        return ServiceError(status, "not_smidgen", f"status {status}: {text or 'no body'}", "check the address")
