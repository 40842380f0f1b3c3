"""Checks of hosts and origins, limits, and the reading of bodies.

Refuse requests that were not meant for this service, judged by their head alone.

A website can make its visitors' browsers send requests to a service on the visitor's own machine, under the machine's
address or under a name of its own. `Gate.judge` is the only place that decides about such requests. The middleware
applies it to every request; the fast path applies it too and leaves what it refuses to the middleware.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import inspect
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from smidgen.errors import InvalidArgument, SmidgenError
from smidgen.serialization import UNREADABLE
from smidgen.service.errors import (
    DEEP,
    BadRequest,
    Busy,
    ForeignOrigin,
    Impossible,
    OutOfScope,
    TooLarge,
    TooSlow,
    WrongMedia,
    not_json,
    refuse_deep,
    validation_error,
)
from smidgen.service.http.errors import error_response

if TYPE_CHECKING:
    from smidgen.service.http.resources import Service

#: Methods that only read; no endpoint writes in answer to one of them.
READS = frozenset(("GET", "HEAD", "OPTIONS"))
#: Values of Sec-Fetch-Site that a browser sends for our own pages and for what its user typed.
OWN_SITES = frozenset((b"same-origin", b"none"))
#: Headers other than Authorization that carry a token. A browser sends none of them to another origin without a
#: preflight request, which the service refuses.
KEYS = (b"ocp-apim-subscription-key", b"x-api-key")
_SITE, _ORIGIN, _FORWARDED = b"sec-fetch-site", b"origin", b"x-forwarded-host"
#: The headers that count.
_JUDGED = frozenset((b"host", _SITE, _ORIGIN, _FORWARDED, b"authorization", *KEYS))
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]*))(?::([0-9]{1,5}))?")
_PORTS = {"http": 80, "https": 443}


class Site(NamedTuple):
    """A host as a header names it: lower case, an IPv6 address without brackets; the port is None if it names none."""

    host: str
    port: int | None

    def at(self, scheme: str) -> tuple[str, int]:
        """Give the host and the port that a URL of this scheme leads to."""
        return self.host, _PORTS[scheme] if self.port is None else self.port


class Verdict(NamedTuple):
    """The judgment of a head.

    Attributes
    ----------
    refusal
        Why the request is refused in any case, or None.
    while_open
        Why the request is refused as long as the service has no token, or None.
    """

    refusal: SmidgenError | None = None
    while_open: SmidgenError | None = None


ADMITTED = Verdict()


class Gate:
    """Judges requests by their head.

    Parameters
    ----------
    public_url
        The address of the service as browsers see it, where a proxy gives it another one.
    trusted_proxies
        Addresses and networks of proxies whose ``X-Forwarded-Host`` is believed.
    """

    def __init__(self, public_url: str | None = None, trusted_proxies: Sequence[str] = ()) -> None:
        self._public = None if public_url is None else _public(public_url)
        self._proxies = tuple(_network(each) for each in trusted_proxies)

    def judge(self, method: str, headers: Iterable[tuple[bytes, bytes]], peer: str | None) -> Verdict:
        """Decide whether a request may be answered.

        Parameters
        ----------
        method
            The method, in upper case.
        headers
            The headers, with names in lower case.
        peer
            The address of the other end of the connection, or None if that is no network address.
        """
        found: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            if name in _JUDGED:
                found.setdefault(name, []).append(value)
        hosts = found.get(b"host", [b""])
        site = parse_host(hosts[0])
        if site is None or len(hosts) > 1:
            return Verdict(refusal=_bad_host(hosts[0]))
        if method not in READS and len(found) > 1 and self._is_foreign(found, site, peer) and not _carries_token(found):
            return Verdict(refusal=_foreign(found))
        if not is_loopback(site.host):
            return Verdict(while_open=_elsewhere(hosts[0]))
        return ADMITTED

    def _is_foreign(self, found: Mapping[bytes, Sequence[bytes]], site: Site, peer: str | None) -> bool:
        """Report whether a page of another origin sent the request, as its browser says."""
        if sites := found.get(_SITE):
            return not OWN_SITES.issuperset(sites)
        known = [site, parse_host(self._forwarded_host(found.get(_FORWARDED, [b""])[-1], peer))]
        return not all(self._is_own(origin, known) for origin in found.get(_ORIGIN, ()))

    def _forwarded_host(self, forwarded: bytes, peer: str | None) -> bytes:
        """Give the host that the browser called, according to a trusted proxy; without one, nothing."""
        last = forwarded.rpartition(b",")[2].strip()
        return last if last and self._proxies and peer is not None and self._is_trusted(peer) else b""

    def _is_trusted(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)

    def _is_own(self, origin: bytes, known: Sequence[Site | None]) -> bool:
        """Report whether an Origin header names this service, under one of its names."""
        found = parse_origin(origin)
        if found is None:
            return False
        scheme, site = found
        own = [each.at(scheme) for each in known if each is not None and each.host]
        return site.at(scheme) in own or found == self._public


class Admission:
    """Middleware that applies the gate's judgment to every request.

    Parameters
    ----------
    app
        The application that answers admitted requests.
    gate
        The judge.
    """

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app = app
        self.gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            here: Service = scope["app"].state.service
            client = scope.get("client")
            verdict = self.gate.judge(scope["method"], scope["headers"], client[0] if client else None)
            error = verdict.refusal
            if verdict.while_open is not None and not await _any_token(here):
                error = verdict.while_open
            if error is not None:
                here.metrics.count("refused", type(error).__name__)
                content, more = error_response(error)
                await Response(content, error.status, more, "application/json")(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _any_token(here: Service) -> bool:
    if not here.tokens.any():
        await here.refresh()
    return here.tokens.any()


@lru_cache(maxsize=256)
def parse_host(header: bytes) -> Site | None:
    """Read a Host header strictly: a name or an address, and perhaps a port; None for anything else.

    Examples
    --------
    >>> from smidgen.service.http.middleware import parse_host
    >>> parse_host(b"localhost:8470"), parse_host(b"[::1]")
    (Site(host='localhost', port=8470), Site(host='::1', port=None))
    >>> parse_host(b"[::1]evil.com") is None
    True
    """
    found = _HOST.fullmatch(header.decode("latin-1"))
    if found is None:
        return None
    address, name, port = found.groups()
    if port is not None and int(port) > 65535:
        return None
    if address is not None:
        try:
            ipaddress.IPv6Address(address)
        except ValueError:
            return None
    return Site((name if address is None else address).lower(), None if port is None else int(port))


@lru_cache(maxsize=256)
def parse_origin(header: bytes) -> tuple[str, Site] | None:
    """Read an Origin header: its scheme, and its host and port; None for ``null`` and for anything else."""
    scheme, separator, rest = header.partition(b"://")
    name, site = scheme.decode("latin-1").lower(), parse_host(rest)
    if not separator or name not in _PORTS or site is None or not site.host:
        return None
    return name, Site(*site.at(name))


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Report whether a host's name or address is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _carries_token(found: Mapping[bytes, Sequence[bytes]]) -> bool:
    """Report whether a request carries a token, valid or not; a user name and a password are none."""
    if any(value.strip() for name in KEYS for value in found.get(name, ())):
        return True
    parts = (value.partition(b" ") for value in found.get(b"authorization", ()))
    return any(kind.lower() == b"bearer" and token.strip() for kind, _, token in parts)


def _public(url: str) -> tuple[str, Site]:
    found = parse_origin(url.removesuffix("/").encode())
    if found is None:
        raise InvalidArgument(
            f"public_url is {url!r} and must be a scheme, a host and an optional port, without a path",
            "give the address that browsers use, e.g. --public-url https://smidgen.example.org",
        )
    return found


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise InvalidArgument(
            f"trusted_proxies has {text!r}, which is neither an IP address nor a network: {error}",
            "give the proxy's address or network, e.g. --trusted-proxy 10.0.0.5 or --trusted-proxy 10.0.0.0/24",
        ) from error


def _bad_host(host: bytes) -> BadRequest:
    return BadRequest(
        f"the Host header is {host.decode('latin-1')!r} and must be a host name or address with an optional port",
        "send the host of the request URL, e.g. Host: 127.0.0.1:8470",
    )


def _foreign(found: Mapping[bytes, Sequence[bytes]]) -> ForeignOrigin:
    name, values = ("Sec-Fetch-Site", found[_SITE]) if _SITE in found else ("Origin", found[_ORIGIN])
    return ForeignOrigin(
        f"a page of another origin sent this ({name}: {b', '.join(values).decode('latin-1')!r}) without a token",
        "send a token; or, if a proxy serves the page from the service's own origin, start the service with"
        " --public-url and the address that browsers use",
    )


def _elsewhere(host: bytes) -> OutOfScope:
    return OutOfScope(
        f"the Host header is {host.decode('latin-1')!r} and the request has no token",
        "call 127.0.0.1 or localhost, or create a token: smidgen token create",
    )


# How many bytes of bodies the service holds at once, read or waiting for their answer: limited, like everything.

#: All bodies together, in bytes.
LIMIT = 128 << 20


class InFlightBytes:
    """The bytes that are held now, and how many there may be."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0


class InFlight:
    """Counts the bytes of bodies from their arrival until their answer; beyond the limit callers come back later.

    A limit for one body is not enough: many callers at once, or one queue behind a slow disk, add them up.
    """

    def __init__(self, app: ASGIApp, holding: InFlightBytes) -> None:
        self.app = app
        self.holding = holding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        own, holding = 0, self.holding

        async def counted() -> Message:
            nonlocal own
            message = await receive()
            size = len(message.get("body", b""))
            own += size
            holding.held += size
            if size and holding.held > holding.limit:
                raise Busy(
                    f"{holding.held} bytes of requests are waiting",
                    "send the request again after a second; nothing was lost",
                )
            return message

        try:
            await self.app(scope, counted, send)
        finally:
            holding.held -= own


# Bodies in: limited, plain JSON, no duplicate keys, nothing that is not asked for.

T = TypeVar("T")
#: How long a body may take to arrive.
PATIENCE_S = 60.0
#: Bodies of more bytes are parsed in a thread, not on the event loop.
LARGE = 64 << 10
#: Maximum number of objects and lists, and of keys, in a body: reading them costs far more than their bytes
#: say.
HOLDERS = MOST_KEYS = 500_000
_parsers = ThreadPoolExecutor(2, "smidgen parser")
_SPACE = np.frombuffer(b" \t\r\n", np.uint8)
_HOLDERS = (dict, list)
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
_NESTING = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(letter for letter in range(256) if letter not in b"[{]}")
_again = msgspec.json.Encoder().encode


async def json_body(request: Request, type: type[T]) -> T:
    """The body as a struct, or a refusal that says where it is wrong."""
    _, raw = await raw_body(request, ("application/json",))
    return decode(raw, type) if len(raw) <= LARGE else await _decode_in_thread(raw, type)


async def raw_body(request: Request, medias: tuple[str, ...]) -> tuple[str, bytes]:
    """A body as it came: its media type, one of some, and its bytes."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in medias:
        raise WrongMedia(f"Content-Type is {media or 'missing'}", f"send Content-Type: {' or '.join(medias)}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMedia("the body has a Content-Encoding", "send it uncompressed, without Content-Encoding")
    try:
        async with asyncio.timeout(PATIENCE_S):
            return media, await _limited(request, request.app.state.service.options.max_body)
    except TimeoutError as error:
        raise TooSlow(f"the body did not arrive within {PATIENCE_S} seconds", "send the whole body at once") from error


async def _decode_in_thread(raw: bytes, type: type[T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_parsers, decode, raw, type)


def decode(raw: bytes, type: type[T]) -> T:
    """A body of JSON as a struct, or a refusal that says where it is wrong."""
    if len(raw) > HOLDERS:
        _refuse_crowded(raw)
    if type not in _decoders:
        _decoders[type] = msgspec.json.Decoder(type, strict=True)
    try:
        body: T = _decoders[type].decode(raw)
    except msgspec.ValidationError as error:
        raise validation_error(error, _plain(raw), type) from error
    except UNREADABLE as error:
        raise not_json(error) from error
    _refuse_duplicates(raw, body)
    return body


def _refuse_crowded(raw: bytes) -> None:
    """A few megabytes of ``[],`` would be hundreds of objects, and a second without a pause."""
    if (holders := raw.count(b"[") + raw.count(b"{")) > HOLDERS:
        raise Impossible(f"the body has {holders} objects and arrays", f"send at most {HOLDERS} in one call")
    if (keys := raw.count(b":")) > MOST_KEYS:
        raise Impossible(f"the body has {keys} keys", f"send at most {MOST_KEYS} in one call")


def _plain(raw: bytes) -> Any:
    """The body as it is; what is no JSON at all is another fault than JSON of the wrong form."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:
        return None  # a number out of range: JSON, but not for us
    except UNREADABLE as error:
        raise not_json(error) from error


async def _limited(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge(f"the body has {declared} bytes", f"the limit is {limit} (--max-body)")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise TooLarge(f"the body has more than {limit} bytes", "the limit is set by --max-body")
        chunks.append(chunk)
    return b"".join(chunks)


def _refuse_duplicates(raw: bytes, body: Any) -> None:
    """A key that stands twice in one object would be read differently by different readers.

    Reading drops the first of two, so there are fewer keys in the result than in the text. A body that is written again
    leaves out fields that say their default, and adds none: where it has as many colons as the text, no key was
    dropped. Where it has fewer, where letters are escaped or much is nested, the keys are counted one by one.
    """
    plain = b"\\" not in raw and _adds_nothing(body.__class__) and not _may_be_deep(raw)
    if plain and _again(body).count(b":") == raw.count(b":"):
        return
    value = _plain(raw)
    if value is None:
        raise BadRequest("the body holds a number that is out of range", "send numbers that fit a 64-bit float")
    refuse_deep(raw, value, "the body")
    if _count_keys_in_text(raw) != _count_keys(value):
        raise BadRequest("an object in the body has the same key twice", "send each key once")


def _may_be_deep(raw: bytes) -> bool:
    """Check whether more may stand inside one another than can be counted; brackets in strings count too."""
    if raw.count(b"[") + raw.count(b"{") <= DEEP:
        return False
    brackets = raw.translate(_NESTING, _NO_BRACKETS)
    return int(np.frombuffer(brackets, np.int8).cumsum(dtype=np.int32).max()) > DEEP


@cache
def _adds_nothing(type: Any) -> bool:
    """Check whether a body that is written again says no more than it was read from: all structs leave out defaults."""
    seen: set[Any] = set()
    ahead: list[Any] = [inspect.type_info(type)]
    while ahead:
        each = ahead.pop()
        if isinstance(each, tuple):
            ahead += each
        elif isinstance(each, inspect.DataclassType | inspect.CustomType):
            return False
        elif isinstance(each, inspect.StructType):
            if not each.cls.__struct_config__.omit_defaults:
                return False
            if each.cls not in seen:
                seen.add(each.cls)
                ahead += each.fields
        elif isinstance(each, inspect.Type | inspect.Field):
            ahead += [getattr(each, name) for name in each.__struct_fields__]
    return True


def _count_keys_in_text(raw: bytes) -> int:
    """Count the keys of a JSON text: strings followed by a colon. One pass, whatever their length."""
    if b"\\" in raw:  # so that every quotation mark that is left opens or ends a string
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    text = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(text == ord('"'))[1::2]
    ends = ends[ends + 1 < len(text)]
    after = text[ends + 1]
    count = int((after == ord(":")).sum())
    apart = ends[np.isin(after, _SPACE)]
    if apart.size:
        solid = np.flatnonzero(~np.isin(text, _SPACE))
        following = np.searchsorted(solid, apart, side="right")
        count += int((text[solid[following[following < solid.size]]] == ord(":")).sum())
    return count


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(_count_keys(inner) for inner in value if isinstance(inner, _HOLDERS))
    return 0
