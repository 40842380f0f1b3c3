"""Values to JSON or to few bytes, and back without loss: arrays, sparse rows, tuples, structures; never pickle.

A value that JSON has no word for is written as an object with the key ``"$"``: arrays keep their dtype, their
shape and their very bytes (base64). A structure (`Ranking`, `Choice`, or one of yours) is written by its
registered name and its fields. Only registered names are ever built again, and always by their own
constructor, which checks what it is given. `encode` says the same as MessagePack, with arrays as they are.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from smidgen import raw_arrays
from smidgen.decoding import UNREADABLE
from smidgen.errors import FOREIGN, InvalidRecord, NotSaveable, SmidgenError
from smidgen.registry import all_built, built, fields_of, known, name_of, structure

TAG = "$"
#: How many lists, objects and structures may stand inside one another in a record of bytes.
DEEPEST = 64
_ARRAY, _LONG = 1, 2  # MessagePack's own numbers for what it has no word for: arrays, whole numbers beyond 64 bits
_LONGEST = 1024  # bytes of a whole number
_LEAST, _MOST = -(2**63), 2**64 - 1  # the whole numbers that MessagePack has words for
_INFINITE = {text: float(text) for text in ("inf", "-inf", "nan")}  # JSON has no words for these
_PLAIN = (str, int, float, bool, type(None))
_DTYPES = {dtype.str: dtype for dtype in raw_arrays.DTYPES}

__all__ = [
    "TAG",
    "decode",
    "decode_many",
    "digest",
    "encode",
    "fingerprint",
    "from_json",
    "pack",
    "same",
    "structure",
    "to_json",
    "unpack",
]


def pack(value: Any) -> Any:
    """Turn ``value`` into what JSON can say."""
    if isinstance(value, np.ndarray):
        if value.dtype.newbyteorder("<").str not in _DTYPES:
            raise NotSaveable(f"an array of dtype {value.dtype} cannot be written", "use floats, ints or bools")
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        data = base64.b64encode(little.tobytes()).decode("ascii")
        return {TAG: "array", "dtype": little.dtype.str, "shape": list(value.shape), "data": data}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {TAG: "float", "text": str(float(value))}
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple):
        return {TAG: "tuple", "items": [pack(item) for item in value]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) and key != TAG for key in value):
        return {key: pack(item) for key, item in value.items()}
    name = name_of(value)
    return {TAG: name} | {key: pack(item) for key, item in fields_of(name, value).items()}


def unpack(value: Any) -> Any:
    """Turn what `pack` gave back into the value."""
    return _unpack(value, DEEPEST)


def _unpack(value: Any, depth: int) -> Any:
    if isinstance(value, list):
        _refuse_deep(depth)
        return [_unpack(item, depth - 1) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(TAG)
    if tag is None:
        return _fields(value, depth)
    if tag == "array":
        return _array(value)
    if tag == "tuple":
        return tuple(_unpack(value["items"], depth))
    if tag == "float":
        return _INFINITE[value["text"]]
    return built(tag, _fields(value, depth))


def _fields(value: dict[str, Any], depth: int) -> dict[str, Any]:
    """The fields without the tag; most are plain and need no call."""
    _refuse_deep(depth)
    return {
        key: _unpack(item, depth - 1) if isinstance(item, (dict, list)) else item
        for key, item in value.items()
        if key != TAG
    }


def _refuse_deep(depth: int) -> None:
    if depth == 0:
        raise InvalidRecord(f"the record is nested more than {DEEPEST} deep", "keep it flatter")


def _array(record: dict[str, Any]) -> np.ndarray[Any, Any]:
    text, shape = record["dtype"], record["shape"]
    dtype = _DTYPES.get(text)
    if dtype is None or len(record) != 4:
        raise InvalidRecord(f"the record holds an array of dtype {text!r}", f"use one of {sorted(_DTYPES)}")
    try:
        content = msgspec.convert(record["data"], bytes)  # a third of the time of base64's own
    except msgspec.ValidationError as error:
        raise InvalidRecord(f"the record holds an array that is not base64: {error}", "give what pack gave") from error
    flat = np.frombuffer(content, dtype)
    array = flat if shape == [flat.size] else flat.reshape(shape)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))  # read-only: it views the bytes


def to_json(value: Any) -> bytes:
    """Write ``value`` as JSON bytes."""
    return msgspec.json.encode(pack(value))


def from_json(data: bytes | str) -> Any:
    """Read back what `to_json` wrote."""
    try:
        return unpack(msgspec.json.decode(data))
    except (*UNREADABLE, ValueError, TypeError, KeyError) as error:
        if isinstance(error, InvalidRecord):
            raise
        raise InvalidRecord(f"the bytes are not a record: {error}", "give the bytes that to_json wrote") from error


def encode(value: Any) -> bytes:
    """Write ``value`` as few bytes: MessagePack, with arrays as their own bytes in the least width that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from smidgen import records
    >>> content = records.encode({"docs": np.ones((10, 10)), "top": 5})
    >>> len(content), records.decode(content)["docs"].dtype
    (419, dtype('float64'))
    """
    try:
        return _encoder.encode(_lean(value, DEEPEST))
    except UnicodeEncodeError as error:
        raise NotSaveable(f"the text {error.object!r} cannot be written", "use text that UTF-8 can say") from error


def _lean(value: Any, depth: int) -> Any:
    """What MessagePack can say, as `pack` for JSON."""
    kind = type(value)
    if kind in _SAID:
        return value
    if kind is int and _LEAST <= value <= _MOST:
        return value
    if kind is np.ndarray or isinstance(value, np.ndarray):
        return msgspec.msgpack.Ext(_ARRAY, raw_arrays.write(value))
    if isinstance(value, _WORDS):
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            size = value.bit_length() // 8 + 1
            if size > _LONGEST:
                raise NotSaveable(f"a whole number of {size} bytes cannot be written", f"use at most {_LONGEST}")
            return msgspec.msgpack.Ext(_LONG, value.to_bytes(size, "little", signed=True))
        if isinstance(value, _PLAIN):
            return value
    if depth == 0:
        raise NotSaveable(f"the value is nested more than {DEEPEST} deep", "keep it flatter")
    depth -= 1
    if isinstance(value, _HOLDERS):
        if isinstance(value, tuple):
            return {TAG: "tuple", "items": [_lean(item, depth) for item in value]}
        if isinstance(value, list):
            return [item if type(item) in _SAID else _lean(item, depth) for item in value]
        if all(isinstance(key, str) and key != TAG for key in value):
            return {key: _lean(item, depth) for key, item in value.items()}
    name = name_of(value)
    lean: dict[str, Any] = {TAG: name}
    for key, item in fields_of(name, value).items():
        lean[key] = item if type(item) in _SAID else _lean(item, depth)
    return lean


def decode(content: bytes | memoryview) -> Any:
    """Read back what `encode` wrote. Every fault is an `InvalidRecord`; memory goes with the length of the bytes."""
    hint = "give the bytes that records.encode wrote"
    try:
        return _full(_decoder.decode(content), DEEPEST)
    except (InvalidRecord, NotSaveable):
        raise
    except (SmidgenError, *UNREADABLE) as error:
        raise InvalidRecord(f"the bytes are not a record: {error}", hint) from error
    except FOREIGN as error:
        raise InvalidRecord(f"the bytes are not a record: {error}", hint) from error


def decode_many(contents: Sequence[bytes]) -> list[Any]:
    """What `decode` gives of each; what is of one form is read in one pass, in a fraction of the time.

    Examples
    --------
    >>> from smidgen import records
    >>> records.decode_many([records.encode([n, "a"]) for n in range(3)])
    [[0, 'a'], [1, 'a'], [2, 'a']]
    """
    try:
        return _fulls(list(map(_words.decode, contents)), DEEPEST) if contents else []
    except (SmidgenError, *UNREADABLE, *FOREIGN):
        return list(map(decode, contents))  # the first that is at fault is refused


def _fulls(values: list[Any], depth: int) -> list[Any]:
    """The values that `_lean` was given, column by column; where their forms differ, one by one."""
    kinds = set(map(type, values))
    if kinds <= _READ:
        return values
    kind = kinds.pop()
    if kinds:
        return [_fulls([each], depth)[0] for each in values]
    if kind is msgspec.msgpack.Ext:
        if all(each.code == _ARRAY for each in values):
            return list(raw_arrays.read_many([each.data for each in values]))
        return [_extension(each.code, memoryview(each.data)) for each in values]
    if (kind is not dict and kind is not list) or depth == 0:
        raise InvalidRecord(f"the record holds a {kind.__name__}", "give the bytes that records.encode wrote")
    forms = set(map(tuple if kind is dict else len, values))
    tags = {each.get(TAG) for each in values} if kind is dict else {None}
    if len(forms) > 1 or len(tags) > 1:
        return [_fulls([each], depth)[0] for each in values]
    if kind is list:
        columns = [_fulls(list(column), depth - 1) for column in zip(*values, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)] or values
    names, tag = [name for name in values[0] if name != TAG], tags.pop()
    if not all(type(name) is str for name in names):
        raise InvalidRecord("the record has a field whose name is not text", "give the bytes that records.encode wrote")
    columns = [_fulls([each[name] for each in values], depth - 1) for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{} for _ in values]
    if tag is None:
        return rows
    return [tuple(row["items"]) for row in rows] if tag == "tuple" else all_built(tag, rows)


def _full(value: Any, depth: int) -> Any:
    """The value that `_lean` was given."""
    kind = type(value)
    if kind is not dict and kind is not list:
        if kind in _READ:
            return value
        raise InvalidRecord(f"the record holds a {kind.__name__}", "give the bytes that records.encode wrote")
    _refuse_deep(depth)
    depth -= 1
    if kind is list:
        return [item if type(item) in _READ else _full(item, depth) for item in value]
    tag = value.pop(TAG, None)
    fields = {key: item if type(item) in _READ else _full(item, depth) for key, item in value.items()}
    if not all(type(key) is str for key in fields):
        raise InvalidRecord("the record has a field whose name is not text", "give the bytes that records.encode wrote")
    if tag is None:
        return fields
    return tuple(fields["items"]) if tag == "tuple" else built(tag, fields)


def _extension(code: int, content: memoryview) -> Any:
    if code == _ARRAY:
        return raw_arrays.read(content)
    if code == _LONG and len(content) <= _LONGEST:
        return int.from_bytes(content, "little", signed=True)
    raise InvalidRecord(f"the record holds something of the kind {code}", "upgrade smidgen to read it")


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(ext_hook=_extension)
_SAID = {str, float, bool, type(None)}
_WORDS = (np.generic, int, str, float)
_HOLDERS = (tuple, list, dict)
_words = msgspec.msgpack.Decoder()  # leaves what MessagePack has no word for as it is
_READ = {str, int, float, bool, type(None), np.ndarray}


def fingerprint(value: Any) -> str:
    """A short name for a value: equal values, equal names, on every machine."""
    return digest(pack(value))


def digest(packed: Any) -> str:
    """The same for what `pack` gave."""
    return hashlib.sha256(msgspec.json.encode(packed, order="deterministic")).hexdigest()[:12]


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same, arrays bit for bit."""
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if (name := known(type(a))) is not None:
        return a is b or same(fields_of(name, a), fields_of(name, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b) or (isinstance(a, float) and math.isnan(a) and math.isnan(b))
