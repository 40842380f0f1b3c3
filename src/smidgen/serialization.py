"""Values to JSON or to few bytes, and back without loss: arrays, sparse rows, tuples, structures; never pickle.

A value that JSON has no word for is written as an object with the key ``"$"``: arrays keep their dtype, their
shape and their very bytes (base64). A structure (`Ranking`, `Choice`, or one of yours) is written by its
registered name and its fields. Only registered names are ever built again, and always by their own
constructor, which checks what it is given. `encode` says the same as MessagePack, with arrays as they are.

Such an array is few bytes (`write_array`): a short head, then the numbers in the least width that holds them. The head
has one byte for the two dtypes (what the array is, and what its numbers are written as), one for the number of axes and
the width of an extent, and then the extents. All is little-endian.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen.errors import FOREIGN, InvalidArgument, InvalidRecord, NotSaveable, SmidgenError

#: What decoders of JSON and MessagePack raise when bytes are not what they should be, or nested too deep.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


C = TypeVar("C", bound=type)


class _Entry(NamedTuple):
    build: Callable[[dict[str, Any]], Any]
    fields: Callable[[Any], dict[str, Any]]
    type: type
    build_many: Callable[[list[dict[str, Any]]], list[Any]] | None = None


_structures: dict[str, _Entry] = {}
_names: dict[type, str] = {}
_ledger: list[str] = []


@overload
def structure(target: C) -> C: ...
@overload
def structure(target: str) -> Callable[[C], C]: ...
def structure(target: C | str) -> C | Callable[[C], C]:
    """Register a class by name, so that decisions which hold it can be written and read back.

    The class is a dataclass, or has ``to_record() -> dict`` and a class method ``from_record(dict)``. Use it
    bare (the class's own name) or with a name. Rules, spaces and learners are settings: of them only the arguments that
    differ from their defaults are written (`smidgen.settings.Versioned`).

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np, smidgen
    >>> @smidgen.structure("route")
    ... @dataclass(frozen=True)
    ... class Route:
    ...     legs: np.ndarray  # one row of features per possible route
    ...     def phi(self, y): return self.legs[y]
    ...     def argmax(self, w): return int(np.argmax(self.legs @ w))
    >>> d = smidgen.PreferencePerceptron(dim=2).decide(Route(np.eye(2)))
    >>> smidgen.Decision.from_json(d.to_json()) == d
    True
    """
    if isinstance(target, str):
        return lambda cls: _register(cls, target)
    return _register(target, target.__name__)


def _register(cls: C, name: str) -> C:
    if hasattr(cls, "to_settings") and hasattr(cls, "from_settings"):
        entry = _Entry(cls.from_settings, cls.to_settings, cls)
    elif hasattr(cls, "to_record") and hasattr(cls, "from_record"):
        owner = next(each for each in cls.__mro__ if "from_record" in vars(each))
        many: Any = getattr(cls, "from_records", None) if "from_records" in vars(owner) else None
        entry = _Entry(cls.from_record, cls.to_record, cls, many)
    elif dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
        entry = _Entry(lambda fields: cls(**fields), lambda x: {n: getattr(x, n) for n in names}, cls)
    else:
        raise InvalidArgument(
            f"{cls.__name__} is neither a dataclass nor has to_record and from_record",
            "add @dataclass(frozen=True), or the two methods",
        )
    holder = _structures.get(name)
    if holder is not None and not same_class(holder.type, cls):
        raise InvalidArgument(
            f"the name {name!r} is already used by {holder.type.__qualname__} of {holder.type.__module__}",
            "register under another name",
        )
    _structures[name] = entry
    _names[cls] = name
    note_registration(cls.__module__)
    return cls


def same_class(one: type, other: type) -> bool:
    """True if two classes have the same name and module: reloading a module creates its classes again."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def note_registration(module: str) -> None:
    """Take note that a module has registered something."""
    _ledger.append(module)


def count_registrations() -> int:
    """Number of classes and functions registered so far."""
    return len(_ledger)


def has_registered(module: str) -> bool:
    """True if a module, or one inside it, has registered anything."""
    return any(each == module or each.startswith(f"{module}.") for each in _ledger)


def name_of(value: Any) -> str:
    """The registered name of a structure's class; refused if it has none."""
    name = _names.get(type(value))
    if name is None and callable(value):
        raise NotSaveable(
            f"the function {getattr(value, '__name__', value)} has no registered name, so it cannot be written",
            'register it, e.g. @smidgen.register_kernel("mine"), and give its name instead',
        )
    if name is None:
        raise NotSaveable(
            f"a {type(value).__name__} has no registered name, so it cannot be written",
            "put @smidgen.structure on its class (a dataclass, or one with to_record and from_record)",
        )
    return name


def registered_name(cls: type) -> str | None:
    """The name of a class, if it has one."""
    return _names.get(cls)


def fields_of(name: str, value: Any) -> dict[str, Any]:
    """Record of a structure of that name."""
    return _structures[name].fields(value)


def build(name: Any, fields: dict[str, Any]) -> Any:
    """The structure of that name with these fields, by its own constructor."""
    return _entry(name).build(fields)


def build_many(name: Any, many: list[dict[str, Any]]) -> list[Any]:
    """The structures of that name with these fields, one for each: together, if ``from_records`` is there for that."""
    entry = _entry(name)
    return list(map(entry.build, many)) if entry.build_many is None else entry.build_many(many)


def _entry(name: Any) -> _Entry:
    entry = _structures.get(name) if isinstance(name, str) else None
    if entry is None:
        raise InvalidRecord(
            f"the record holds a {name!r}, which is not registered", "import the module that defines it first"
        )
    return entry


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
#: Which codes may stand for which: those that `write_array` can have made.
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
_HINT = "give the bytes that smidgen.serialization.encode wrote"


def write_array(array: NDArray[Any]) -> bytes:
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


def read_array(content: memoryview | bytes) -> NDArray[Any]:
    """The array that `write_array` was given; it is read-only. Nothing is made before all sizes fit together."""
    length = len(content)
    if length < 2:
        raise InvalidRecord("the record holds an array without a header", _HINT)
    form = content[1]
    if form & 15 >= len(_EXTENTS):
        raise InvalidRecord(f"the record holds an array with the unknown header {content[0]:02x}{form:02x}", _HINT)
    start = 2 + (form >> 4) * _EXTENTS[form & 15]
    if length < start:
        raise InvalidRecord("the record holds an array that ends within its header", _HINT)
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
        raise InvalidRecord("the record holds booleans that are neither 0 nor 1", _HINT)
    return array


def read_arrays(contents: Sequence[bytes]) -> list[NDArray[Any]]:
    """Like `read_array` for several at once; those of one form are read in one pass."""
    first, length = contents[0], len(contents[0])
    start = 2 + (first[1] >> 4) * _EXTENTS[first[1] & 15] if length > 1 and first[1] & 15 < len(_EXTENTS) else length
    head = first[:start]
    if len(contents) == 1 or length == start or any(len(each) != length or each[:start] != head for each in contents):
        return list(map(read_array, contents))
    code, stored, shape, size = _head(head)
    if size != length - start or code == _BOOL:
        return list(map(read_array, contents))
    numbers = np.frombuffer(b"".join(contents), np.uint8).reshape(len(contents), length)[:, start:]
    native = _NATIVE[code]
    with np.errstate(invalid="ignore"):  # there are NaNs of single precision that warn
        out = [each.astype(native) for each in numbers.view(DTYPES[stored]).reshape(len(contents), *shape)]
    for array in out:
        array.setflags(write=False)
    return out


@lru_cache(maxsize=1024)
def _head(head: bytes) -> tuple[int, int, tuple[int, ...], int]:
    """Header of an array: the two codes, the shape, and the number of bytes that follow."""
    code, stored, width = head[0] >> 4, head[0] & 15, _EXTENTS[head[1] & 15]
    if stored not in _STORED.get(code, ()):
        raise InvalidRecord(f"the record holds an array with the unknown header {head[0]:02x}{head[1]:02x}", _HINT)
    shape = tuple(int.from_bytes(head[at : at + width], "little") for at in range(2, len(head), width))
    return code, stored, shape, math.prod(shape) * DTYPES[stored].itemsize


TAG = "$"
#: Number of lists, objects and structures that may stand inside one another in a record of bytes.
DEEPEST = 64
_ARRAY, _LONG = 1, 2  # MessagePack's own numbers for what it has no word for: arrays, whole numbers beyond 64 bits
_LONGEST = 1024  # bytes of a whole number
_LEAST, _MOST = -(2**63), 2**64 - 1  # the whole numbers that MessagePack has words for
_INFINITE = {text: float(text) for text in ("inf", "-inf", "nan")}  # JSON has no words for these
_PLAIN = (str, int, float, bool, type(None))
_DTYPES = {dtype.str: dtype for dtype in DTYPES}


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
    return build(tag, _fields(value, depth))


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
        raise InvalidRecord(f"the record is nested more than {DEEPEST} deep", "use fewer levels")


def _array(record: dict[str, Any]) -> np.ndarray[Any, Any]:
    text, shape = record["dtype"], record["shape"]
    dtype = _DTYPES.get(text)
    if dtype is None or len(record) != 4:
        raise InvalidRecord(f"the record holds an array of dtype {text!r}", f"use one of {sorted(_DTYPES)}")
    try:
        content = msgspec.convert(record["data"], bytes)  # a third of the time of base64's own
    except msgspec.ValidationError as error:
        raise InvalidRecord(
            f"the record holds an array that is not base64: {error}", "pass the value that pack returned"
        ) from error
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
    >>> from smidgen import serialization
    >>> content = serialization.encode({"docs": np.ones((10, 10)), "top": 5})
    >>> len(content), serialization.decode(content)["docs"].dtype
    (419, dtype('float64'))
    """
    try:
        return _encoder.encode(_lean(value, DEEPEST))
    except UnicodeEncodeError as error:
        raise NotSaveable(f"the text {error.object!r} cannot be written", "use text that UTF-8 can encode") from error


def _lean(value: Any, depth: int) -> Any:
    """Convert a value to what MessagePack can represent, as `pack` does for JSON."""
    kind = type(value)
    if kind in _SAID:
        return value
    if kind is int and _LEAST <= value <= _MOST:
        return value
    if kind is np.ndarray or isinstance(value, np.ndarray):
        return msgspec.msgpack.Ext(_ARRAY, write_array(value))
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
        raise NotSaveable(f"the value is nested more than {DEEPEST} deep", "use fewer levels")
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
    hint = _HINT
    try:
        return _full(_decoder.decode(content), DEEPEST)
    except (InvalidRecord, NotSaveable):
        raise
    except (SmidgenError, *UNREADABLE) as error:
        raise InvalidRecord(f"the bytes are not a record: {error}", hint) from error
    except FOREIGN as error:
        raise InvalidRecord(f"the bytes are not a record: {error}", hint) from error


def decode_many(contents: Sequence[bytes]) -> list[Any]:
    """Like `decode` for several at once; values of one form are read in one pass, in a fraction of the time.

    Examples
    --------
    >>> from smidgen import serialization
    >>> serialization.decode_many([serialization.encode([n, "a"]) for n in range(3)])
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
            return list(read_arrays([each.data for each in values]))
        return [_extension(each.code, memoryview(each.data)) for each in values]
    if (kind is not dict and kind is not list) or depth == 0:
        raise InvalidRecord(f"the record holds a {kind.__name__}", _HINT)
    forms = set(map(tuple if kind is dict else len, values))
    tags = {each.get(TAG) for each in values} if kind is dict else {None}
    if len(forms) > 1 or len(tags) > 1:
        return [_fulls([each], depth)[0] for each in values]
    if kind is list:
        columns = [_fulls(list(column), depth - 1) for column in zip(*values, strict=True)]
        return [list(row) for row in zip(*columns, strict=True)] or values
    names, tag = [name for name in values[0] if name != TAG], tags.pop()
    if not all(type(name) is str for name in names):
        raise InvalidRecord("the record has a field whose name is not a string", _HINT)
    columns = [_fulls([each[name] for each in values], depth - 1) for name in names]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [{} for _ in values]
    if tag is None:
        return rows
    return [tuple(row["items"]) for row in rows] if tag == "tuple" else build_many(tag, rows)


def _full(value: Any, depth: int) -> Any:
    """The value that `_lean` was given."""
    kind = type(value)
    if kind is not dict and kind is not list:
        if kind in _READ:
            return value
        raise InvalidRecord(f"the record holds a {kind.__name__}", _HINT)
    _refuse_deep(depth)
    depth -= 1
    if kind is list:
        return [item if type(item) in _READ else _full(item, depth) for item in value]
    tag = value.pop(TAG, None)
    fields = {key: item if type(item) in _READ else _full(item, depth) for key, item in value.items()}
    if not all(type(key) is str for key in fields):
        raise InvalidRecord("the record has a field whose name is not a string", _HINT)
    if tag is None:
        return fields
    return tuple(fields["items"]) if tag == "tuple" else build(tag, fields)


def _extension(code: int, content: memoryview) -> Any:
    if code == _ARRAY:
        return read_array(content)
    if code == _LONG and len(content) <= _LONGEST:
        return int.from_bytes(content, "little", signed=True)
    raise InvalidRecord(f"the record holds a value of the unknown kind {code}", "upgrade smidgen to read it")


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
    """Fingerprint of a value that `pack` has converted."""
    return hashlib.sha256(msgspec.json.encode(packed, order="deterministic")).hexdigest()[:12]


def same(a: Any, b: Any) -> bool:
    """True if two values are equal, arrays bit for bit."""
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
    if (name := registered_name(type(a))) is not None:
        return a is b or same(fields_of(name, a), fields_of(name, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return bool(a == b) or (isinstance(a, float) and math.isnan(a) and math.isnan(b))
