"""When to try again, and how long to wait before it. Every call can be repeated without being carried out twice."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import httpx

from smidgen.client import replies
from smidgen.client.refusals import ServiceError, Unreachable, refusal

AGAIN = frozenset({429, 502, 503, 504})
_PASSING = ("busy", "storage_failed")
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError)
_dice = secrets.SystemRandom()


@dataclass(frozen=True)
class Patience:
    """Exponential backoff with jitter.

    Attributes
    ----------
    retries
        How many attempts after the first.
    first, longest
        The wait before the first retry, which doubles each time, and its limit, in seconds.
    """

    retries: int = 4
    first: float = 0.1
    longest: float = 5.0

    def after_loss(self, attempt: int, error: httpx.TransportError) -> float:
        """Seconds to wait after a connection that failed; gives up when there were enough attempts."""
        if attempt >= self.retries or not isinstance(error, LOST):
            what = str(error) or type(error).__name__
            raise Unreachable(f"no answer after {attempt + 1} attempts: {what}") from error
        return self._wait(attempt)

    def after_refusal(self, attempt: int, response: httpx.Response) -> float:
        """Seconds to wait after "not now"; gives up with the refusal itself."""
        if attempt >= self.retries:
            raise refusal(response.status_code, response.content)
        return max(self._wait(attempt), _asked(response.headers.get("retry-after", "")))

    def _wait(self, attempt: int) -> float:
        return min(self.longest, self.first * 2.0**attempt) * _dice.uniform(0.5, 1.0)


def checked(response: httpx.Response) -> bytes:
    """The content of a reply that is no refusal."""
    if response.is_success:
        return response.content
    raise refusal(response.status_code, response.content)


def event(line: bytes) -> dict[str, Any]:
    """An event of a log that is read.

    The last line of a log that cannot be read to its end is an error instead: one that passes counts as a lost
    connection, any other is raised.
    """
    found: dict[str, Any] = replies.plain(line)
    if "seq" not in found and "error" in found:
        error = refusal(500, line)
        raise httpx.RemoteProtocolError(error.problem) if error.code in _PASSING else error
    return found


def address(url: str) -> httpx.URL:
    """The service's address, checked."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ServiceError(400, "bad_address", f"the address is {url!r}: {error}", _EXAMPLE) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ServiceError(400, "bad_address", f"the address is {url!r}", _EXAMPLE)
    return parsed


_EXAMPLE = 'give one like "http://127.0.0.1:8470"'


def _asked(header: str) -> float:
    """What Retry-After asks for, if it is in seconds; at most a minute."""
    return min(60.0, float(header)) if header.isascii() and header.isdigit() else 0.0
