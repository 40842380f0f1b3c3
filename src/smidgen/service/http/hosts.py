"""Without a token, only callers who meant this machine: a page elsewhere must not reach it by a name of its own."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from smidgen.service.http.codes import refused
from smidgen.service.refusals import OutOfScope

if TYPE_CHECKING:
    from smidgen.service.http.running import Service


class LoopbackHost:
    """Refuses requests whose Host header names another machine, as long as no token exists.

    A website can make a name of its own point to 127.0.0.1 and so have a visitor's browser call a service on the
    visitor's machine. The browser then sends that name as the host.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer 403."""
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "")
            if not loopback(host_name(host)) and not await _any_token(scope["app"].state.service):
                error = OutOfScope(
                    f"the host is {host!r} and there is no token",
                    "call 127.0.0.1 or localhost, or make a token: smidgen token create",
                )
                content, more = refused(error)
                await Response(content, error.status, more, "application/json")(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _any_token(here: Service) -> bool:
    if not here.tokens.any():
        await here.look()
    return here.tokens.any()


def host_name(header: str) -> str:
    """The host without its port.

    Examples
    --------
    >>> from smidgen.service.http.hosts import host_name
    >>> host_name("localhost:8470"), host_name("[::1]:8470"), host_name("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


@lru_cache(maxsize=64)
def loopback(host: str) -> bool:
    """Whether a host's name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
