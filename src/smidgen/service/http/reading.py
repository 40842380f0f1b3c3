"""Bodies in: limited, plain JSON, no duplicate keys, nothing that is not asked for."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
import numpy as np
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
_parsers = ThreadPoolExecutor(2, "smidgen parser")
_SPACE = np.frombuffer(b" \t\r\n", np.uint8)
_HOLDERS = (dict, list, msgspec.Struct)
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}
_fields: dict[type, list[tuple[str, Any]]] = {}


async def json_body(request: Request, type: type[T], limit: int) -> T:
    """The body as a struct, or a refusal that says where it is wrong."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json":
        raise WrongMedia(f"the content type is {media or 'missing'}", "send application/json")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMedia("the body is encoded", "send it without Content-Encoding")
    try:
        async with asyncio.timeout(PATIENCE_S):
            raw = await _limited(request, limit)
    except TimeoutError as error:
        raise TooSlow(f"the body has not arrived within {PATIENCE_S} seconds", "send it in one go") from error
    return read(raw, type) if len(raw) <= LARGE else await _aside(raw, type)


async def raw_body(request: Request, medias: tuple[str, ...], limit: int) -> tuple[str, bytes]:
    """A body that is no JSON: its media type, one of some, and its bytes."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in medias:
        raise WrongMedia(f"the content type is {media or 'missing'}", f"send {' or '.join(medias)}")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise WrongMedia("the body is encoded", "send it without Content-Encoding")
    try:
        async with asyncio.timeout(PATIENCE_S):
            return media, await _limited(request, limit)
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

    Reading drops the first of two, so there are fewer keys in the result than in the text. The colons of the text are
    at least its keys, and the fields that the body holds are at most the keys of the result: where the two numbers
    agree, no key was dropped. Where they do not (a colon in a string, a field that says its default), the keys are
    counted one by one.
    """
    held = _held(body)
    if raw.count(b":") == held:
        return
    written = _written(raw)
    if written != held and written != _keys(msgspec.json.decode(raw)):
        raise BadRequest("a key stands twice in one object", "send each key once")


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


def _held(value: Any) -> int:
    """How many keys a body was surely written with; fields that say their default do not count."""
    if isinstance(value, list):
        return sum(map(_held, value)) if value and isinstance(value[0], _HOLDERS) else 0
    if isinstance(value, dict):
        return len(value) + sum(_held(inner) for inner in value.values() if isinstance(inner, _HOLDERS))
    if not isinstance(value, msgspec.Struct):
        return 0
    count = 0
    for name, default in _fields.get(type(value)) or _learn_fields(type(value)):
        held = getattr(value, name)
        if default is msgspec.NODEFAULT or held != default:
            count += 1
            if isinstance(held, _HOLDERS):
                count += _held(held)
    return count


def _learn_fields(type: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    """The fields of a struct and what they hold if they are left out."""
    found = _fields[type] = [
        (field.name, field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default)
        for field in msgspec.structs.fields(type)
    ]
    return found


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_keys(inner) for inner in value.values())
    if isinstance(value, list):
        return sum(_keys(inner) for inner in value if isinstance(inner, _HOLDERS))
    return 0
