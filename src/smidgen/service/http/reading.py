"""Bodies in: limited, plain JSON, no duplicate keys, nothing that is not asked for."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import inspect
from starlette.requests import Request

from smidgen.service.faults import wrong_form
from smidgen.service.refusals import BadRequest, Impossible, TooLarge, TooSlow, WrongMedia

T = TypeVar("T")
#: How long a body may take to arrive.
PATIENCE_S = 60.0
#: Bodies of more bytes are read aside from the event loop.
LARGE = 64 << 10
#: How many objects and lists, and how many keys, a body may hold: reading them costs far more than their bytes say.
HOLDERS = KEYS = 500_000
#: Where so many stand inside one another, it is looked more closely.
DEEP = 200
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
    return read(raw, type) if len(raw) <= LARGE else await _aside(raw, type)


async def raw_body(request: Request, medias: tuple[str, ...]) -> tuple[str, bytes]:
    """A body as it came: its media type, one of some, and its bytes."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in medias:
        raise WrongMedia(f"the content type is {media or 'missing'}", f"send {' or '.join(medias)}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMedia("the body is encoded", "send it without Content-Encoding")
    try:
        async with asyncio.timeout(PATIENCE_S):
            return media, await _limited(request, request.app.state.service.options.max_body)
    except TimeoutError as error:
        raise TooSlow(f"the body has not arrived within {PATIENCE_S} seconds", "send it in one go") from error


async def _aside(raw: bytes, type: type[T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_parsers, read, raw, type)


def read(raw: bytes, type: type[T]) -> T:
    """A body of JSON as a struct, or a refusal that says where it is wrong."""
    if len(raw) > HOLDERS:
        _refuse_crowded(raw)
    if type not in _decoders:
        _decoders[type] = msgspec.json.Decoder(type, strict=True)
    try:
        body: T = _decoders[type].decode(raw)
    except msgspec.ValidationError as error:
        raise wrong_form(error, _plain(raw)) from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is not JSON: {error}", "mend it") from error
    try:
        _refuse_duplicates(raw, body)
    except RecursionError as error:
        raise BadRequest("the body is nested too deep", "a few levels are enough") from error
    return body


def _refuse_crowded(raw: bytes) -> None:
    """A few megabytes of ``[],`` would be hundreds of objects, and a second without a pause."""
    if (holders := raw.count(b"[") + raw.count(b"{")) > HOLDERS:
        raise Impossible(f"the body has {holders} objects and lists", f"send at most {HOLDERS} in one call")
    if (keys := raw.count(b":")) > KEYS:
        raise Impossible(f"the body has {keys} keys", f"send at most {KEYS} in one call")


def _plain(raw: bytes) -> Any:
    """The body as it is; what is no JSON at all is another fault than JSON of the wrong form."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.ValidationError:
        return None  # a number out of range: JSON, but not for us
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}", "mend it") from error


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
    plain = b"\\" not in raw and _adds_nothing(body.__class__) and not _deep(raw)
    if plain and _again(body).count(b":") == raw.count(b":"):
        return
    if _written(raw) != _keys(msgspec.json.decode(raw)):
        raise BadRequest("a key stands twice in one object", "send each key once")


def _deep(raw: bytes) -> bool:
    """Whether more may stand inside one another than can be counted; brackets in strings count too."""
    if raw.count(b"[") + raw.count(b"{") <= DEEP:
        return False
    brackets = raw.translate(_NESTING, _NO_BRACKETS)
    return int(np.frombuffer(brackets, np.int8).cumsum(dtype=np.int32).max()) > DEEP


@cache
def _adds_nothing(type: Any) -> bool:
    """Whether a body that is written again says no more than it was read from: all structs leave out defaults."""
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


def _written(raw: bytes) -> int:
    """How many keys a text of JSON has: strings that a colon follows. In one pass, however long they are."""
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


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_keys(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(_keys(inner) for inner in value if isinstance(inner, _HOLDERS))
    return 0
