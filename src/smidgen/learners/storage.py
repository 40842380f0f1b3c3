"""A saved learner: one file of a head, a JSON header and raw arrays under a checksum, written whole or not at all.

The head is 64 bytes: the line ``smidgen learner 2``, the number of the arithmetic, the length of the header, the length
of the file, and the SHA-256 of all else. The header says what the learner is and lists the arrays with dtype and shape;
their bytes follow in that order, little-endian, each at a multiple of 8. Nothing is compressed, so that a file never
becomes more than it is.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.decoding import UNREADABLE
from smidgen.errors import CorruptFile, NotSaveable
from smidgen.raw_arrays import DTYPES

VERSION = 2
#: The number of the arithmetic by which learners step. Raise it with every change that lets the same decisions and
#: feedback lead to other weights: states that were folded before it are not what a log leads to, and are folded again.
ARITHMETIC = 1
_MAGIC = b"smidgen learner "
_FIRST = _MAGIC + b"%d\n" % VERSION
_HEAD = struct.Struct("<18sHIQ32s")
_TO_THE_SUM = 32  # bytes of the head that come before its checksum
_STEP = 8
_MOST_AXES = 32
_LARGE = 1 << 16  # bytes of an array that is not copied on its way into the file
_HINT = "give what Learner.save wrote; if it was that, restore it from a copy"
_DTYPES = {dtype.str: dtype for dtype in DTYPES}
_NATIVE = {dtype.newbyteorder("="): name for name, dtype in _DTYPES.items()}

Count = Annotated[int, msgspec.Meta(ge=0)]
Number = Annotated[int, msgspec.Meta(ge=1)]


class Header(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What stands in a saved learner before its arrays.

    Attributes
    ----------
    kind
        The class.
    settings_version, params
        The arguments that were asked for, and the number of the defaults for all others.
    state_version, notes, arrays
        What it remembers, and the number of the form in which it does. An array is listed by name, dtype and shape.
    decided
        The number of its latest decision.
    taught
        How many examples it was taught.
    """

    kind: str
    settings_version: Number
    state_version: Number
    params: dict[str, Any]
    decided: Count
    notes: dict[str, Any]
    taught: Count = 0
    arrays: list[tuple[str, str, list[Count]]] = msgspec.field(default_factory=list)


_headers = msgspec.json.Decoder(Header)


def encode(header: Header, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Header and arrays as bytes under a checksum."""
    header.arrays, size = [], 0
    parts: list[bytes | memoryview] = []
    for name, array in arrays.items():
        known = _NATIVE.get(array.dtype)
        if known is None:
            raise NotSaveable(f"the array {name} has dtype {array.dtype}", "keep floats, ints or bools")
        header.arrays.append((name, known, list(array.shape)))
        little = array.astype(_DTYPES[known], copy=False)
        parts.append(little.tobytes() if array.nbytes < _LARGE else np.ascontiguousarray(little).data.cast("B"))
        size += array.nbytes
        if size % _STEP:
            parts.append(bytes(-size % _STEP))
            size += -size % _STEP
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % _STEP)
    head = _HEAD.pack(_FIRST, ARITHMETIC, len(text), _HEAD.size + len(text) + size, b"")[:_TO_THE_SUM]
    return b"".join([head, _sum(head, text, *parts), text, *parts])


def _sum(*parts: bytes | memoryview) -> bytes:
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return checksum.digest()


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write aside, sync, rename: a reader sees the old file or the new one, never half of one."""
    target = Path(path)
    descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def decode(content: bytes, source: str) -> tuple[Header, dict[str, NDArray[Any]]]:
    """Header and arrays of what `encode` gave, if all is right; ``source`` is its name in refusals.

    The arrays are views of the content, and finite.
    """
    if not content.startswith(_MAGIC):
        raise CorruptFile(f"{source} is not a saved learner", _HINT)
    if not content.startswith(_FIRST):
        raise _other_format(content, source)
    if len(content) < _HEAD.size:
        raise CorruptFile(f"{source} is a damaged saved learner: it ends within its head", _HINT)
    head, body = content[: _HEAD.size], memoryview(content)[_HEAD.size :]
    _, _, length, size, checksum = _HEAD.unpack(head)
    if size != len(content) or length > len(body):
        raise CorruptFile(f"{source} is a damaged saved learner: it has {len(content)} of {size} bytes", _HINT)
    if checksum != _sum(head[:_TO_THE_SUM], body):
        raise CorruptFile(f"{source} is a damaged saved learner: its checksum is wrong", _HINT)
    try:
        header = _headers.decode(body[:length])
    except UNREADABLE as error:
        raise CorruptFile(f"{source} is a damaged saved learner: its header says {error}", _HINT) from error
    return header, _arrays(header, body[length:], source)


def arithmetic_of(content: bytes) -> int | None:
    """The `ARITHMETIC` of the smidgen that wrote a saved learner; None if it is none. Checks no more than that."""
    if not content.startswith(_FIRST) or len(content) < _HEAD.size:
        return None
    return int(_HEAD.unpack(content[: _HEAD.size])[1])


def _other_format(content: bytes, source: str) -> CorruptFile:
    told = content[len(_MAGIC) :][:8].split(b"\n")[0].decode("ascii", "replace")
    if told == "1":
        return CorruptFile(f"{source} is a saved learner of format 1, which was never released", "save it anew")
    return CorruptFile(f"{source} is a saved learner of format {told!r}", "upgrade smidgen to read it")


def _arrays(header: Header, content: memoryview, source: str) -> dict[str, NDArray[Any]]:
    """The arrays that the header lists, as views; they must fill the content exactly."""
    found: dict[str, NDArray[Any]] = {}
    start = 0
    for name, told, shape in header.arrays:
        dtype = _DTYPES.get(told)
        if dtype is None or name in found or len(shape) > _MOST_AXES:
            raise CorruptFile(f"{source} is a damaged saved learner: its array {name} is a {told} of {shape}", _HINT)
        count = math.prod(shape)
        stop = start + count * dtype.itemsize
        if stop > len(content) or max(shape, default=0) >> 48:
            raise CorruptFile(f"{source} is a damaged saved learner: its array {name} does not fit into it", _HINT)
        try:
            found[name] = array = np.ndarray(shape, dtype, content, start)
        except ValueError as error:  # no elements, and yet extents beyond all counting
            raise CorruptFile(f"{source} is a damaged saved learner: {name} has shape {shape}", _HINT) from error
        if dtype.kind == "f" and not np.isfinite(array).all():
            raise CorruptFile(f"{source} is a damaged saved learner: {name} holds values that are not finite", _HINT)
        if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise CorruptFile(f"{source} is a damaged saved learner: {name} holds more than 0 and 1", _HINT)
        start = stop + -stop % _STEP
    if start != len(content):
        raise CorruptFile(f"{source} is a damaged saved learner: {len(content) - start} bytes are left over", _HINT)
    return found
