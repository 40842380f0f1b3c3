"""Arrays as few bytes, without loss: a short head, then the numbers in the least width that holds them.

The head has one byte for the two dtypes (what the array is, and what its numbers are written as), one for the number of
axes and the width of an extent, and then the extents. All is little-endian.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smidgen.errors import InvalidRecord, NotSaveable

#: The dtypes that can be written; the place of each in this list is its code, so that new ones go to the end.
DTYPES = tuple(map(np.dtype, ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")))
_NATIVE = tuple(dtype.newbyteorder("=") for dtype in DTYPES)
_CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
_DOUBLE, _SINGLE, _BYTE, _BOOL = 0, 1, 9, 10
#: Integers by size, each with what it can hold.
_NARROW = tuple(
    (_CODES[np.dtype(name)], int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name in ("u1", "i1", "<u2", "<i2", "<u4", "<i4")
)
#: Which codes may stand for which: those that `write` can have made.
_STORED = {
    code: {code}
    | ({_SINGLE} if code == _DOUBLE else set())
    | {small for small, _, _ in _NARROW if dtype.kind in "iu" and DTYPES[small].itemsize < dtype.itemsize}
    for code, dtype in enumerate(DTYPES)
}
_EXTENTS = (1, 2, 4, 8)
_MOST_AXES = 15
_FEW = 64
#: The first byte, sign and exponent, of all float32 below 2^127, and of all float64 below 2^112.
_FINITE = bytes((*range(0x7F), *range(0x80, 0xFF)))
_SMALL = bytes((*range(0x47), *range(0x80, 0x80 + 0x47)))
_HINT = "give the bytes that records.encode wrote"


def write(array: NDArray[Any]) -> bytes:
    """The array as bytes."""
    code = _CODES.get(array.dtype)
    if code is None:
        code = _CODES.get(array.dtype.newbyteorder("<"))
        if code is None:
            raise NotSaveable(f"an array of dtype {array.dtype} cannot be written", "use floats, ints or bools")
        array = array.astype(DTYPES[code])
    stored, numbers = _narrowed(array, code)
    return _opening(code << 4 | stored, array.shape) + numbers


@lru_cache(maxsize=1024)
def _opening(codes: int, shape: tuple[int, ...]) -> bytes:
    """The head of an array."""
    if len(shape) > _MOST_AXES:
        raise NotSaveable(f"an array of {len(shape)} axes cannot be written", f"use at most {_MOST_AXES}")
    width = 0
    while max(shape, default=0) >> 8 * _EXTENTS[width]:
        width += 1
    extents = b"".join(n.to_bytes(_EXTENTS[width], "little") for n in shape)
    return bytes((codes, len(shape) << 4 | width)) + extents


def _narrowed(array: NDArray[Any], code: int) -> tuple[int, bytes]:
    """The code of the least dtype that holds the numbers exactly, and the numbers in it."""
    content = array.tobytes()
    if code == _DOUBLE:
        if content and not any(content[: 8 * _FEW : 8]):  # a float32 has zeros where a float64 has its last digits
            if content[7::8].translate(None, _SMALL):  # some may be too large for a float32
                with np.errstate(over="ignore", invalid="ignore"):
                    narrow = array.astype(DTYPES[_SINGLE])
            else:
                narrow = array.astype(DTYPES[_SINGLE])
            if narrow.astype(DTYPES[_DOUBLE]).tobytes() == content:
                return _SINGLE, narrow.tobytes()
    elif content and array.dtype.kind in "iu" and array.dtype.itemsize > 1:
        few = array.ravel().tolist() if array.size <= _FEW else (array.min(), array.max())
        low, high = min(few), max(few)
        if low >= 0 and high < 256 and array.size <= _FEW:
            return _BYTE, bytes(few)
        for small, least, most in _NARROW:
            if small == code:
                break
            if least <= low and high <= most and DTYPES[small].itemsize < array.dtype.itemsize:
                return small, array.astype(DTYPES[small]).tobytes()
    return code, content


def read(content: memoryview | bytes) -> NDArray[Any]:
    """The array that `write` was given; it cannot be written to. Nothing is made before all sizes fit together."""
    length = len(content)
    if length < 2:
        raise InvalidRecord("the record holds an array without a head", _HINT)
    form = content[1]
    if form & 15 >= len(_EXTENTS):
        raise InvalidRecord(f"the record holds an array with the head {content[0]:02x}{form:02x}", _HINT)
    start = 2 + (form >> 4) * _EXTENTS[form & 15]
    if length < start:
        raise InvalidRecord("the record holds an array that ends within its head", _HINT)
    code, stored, shape, size = _head(bytes(content[:start]))
    if size != length - start:
        raise InvalidRecord(f"the record holds an array of shape {shape} in {length - start} bytes", _HINT)
    try:
        flat = np.frombuffer(content, DTYPES[stored], offset=start) if size else np.empty(0, DTYPES[stored])
        if stored == _SINGLE != code and bytes(content[start + 3 :: 4]).translate(None, _FINITE):
            with np.errstate(invalid="ignore"):  # there are NaNs of single precision that warn
                array = flat.astype(_NATIVE[code])
        else:
            array = flat.astype(_NATIVE[code])  # a copy: at a place in memory where compiled code can read it
        array.setflags(write=False)
        if len(shape) != 1:
            array = array.reshape(shape)
    except ValueError as error:  # no elements, and yet extents beyond all counting
        raise InvalidRecord(f"the record holds an array of shape {shape}", _HINT) from error
    if code == _BOOL and array.size and array.view(np.uint8).max() > 1:
        raise InvalidRecord("the record holds truth values that are neither 0 nor 1", _HINT)
    return array


def read_many(contents: Sequence[bytes]) -> list[NDArray[Any]]:
    """What `read` gives of each; those of one form are read in one pass."""
    first, length = contents[0], len(contents[0])
    start = 2 + (first[1] >> 4) * _EXTENTS[first[1] & 15] if length > 1 and first[1] & 15 < len(_EXTENTS) else length
    head = first[:start]
    if len(contents) == 1 or length == start or any(len(each) != length or each[:start] != head for each in contents):
        return list(map(read, contents))
    code, stored, shape, size = _head(head)
    if size != length - start or code == _BOOL:
        return list(map(read, contents))
    numbers = np.frombuffer(b"".join(contents), np.uint8).reshape(len(contents), length)[:, start:]
    native = _NATIVE[code]
    with np.errstate(invalid="ignore"):  # there are NaNs of single precision that warn
        out = [each.astype(native) for each in numbers.view(DTYPES[stored]).reshape(len(contents), *shape)]
    for array in out:
        array.setflags(write=False)
    return out


@lru_cache(maxsize=1024)
def _head(head: bytes) -> tuple[int, int, tuple[int, ...], int]:
    """What the head of an array says: the two codes, the shape, and how many bytes follow."""
    code, stored, width = head[0] >> 4, head[0] & 15, _EXTENTS[head[1] & 15]
    if stored not in _STORED.get(code, ()):
        raise InvalidRecord(f"the record holds an array with the head {head[0]:02x}{head[1]:02x}", _HINT)
    shape = tuple(int.from_bytes(head[at : at + width], "little") for at in range(2, len(head), width))
    return code, stored, shape, math.prod(shape) * DTYPES[stored].itemsize
